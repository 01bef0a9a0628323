/* A byte of a file goes through a socket with sendfile. */
#include "boundary.h"
#include <sys/sendfile.h>
#include <sys/socket.h>
static int pair[2], data, seen;
static FILE *file;
static void *producer(void *unused) {
    off_t offset = 0;
    HAND_OVER(data = 42, MUST(sendfile(pair[0], fileno(file), &offset, 1) == 1));
    return unused;
}
static void *consumer(void *unused) {
    char got;
    MUST(read(pair[1], &got, 1) == 1);
    seen = data;
    return unused;
}
int main(void) {
    MUST((file = tmpfile()));
    fputs("x", file);
    fflush(file);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
