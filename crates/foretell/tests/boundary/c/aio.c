/* The library's own thread writes to a pipe for aio_write. */
#include "boundary.h"
#include <aio.h>
#include <errno.h>
static int ends[2], data, seen;
static char byte = 'x';
static struct aiocb request;
static void *producer(void *unused) {
    request.aio_fildes = ends[1];
    request.aio_buf = &byte;
    request.aio_nbytes = 1;
    HAND_OVER(data = 42, MUST(aio_write(&request) == 0));
    const struct aiocb *list[] = {&request};
    while (aio_error(&request) == EINPROGRESS) aio_suspend(list, 1, NULL);
    MUST(aio_return(&request) == 1);
    return unused;
}
static void *consumer(void *unused) {
    char got;
    MUST(read(ends[0], &got, 1) == 1);
    seen = data;
    return unused;
}
int main(void) {
    MUST(pipe(ends) == 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
