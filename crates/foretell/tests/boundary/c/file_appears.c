/* A thread polls the file system until a file is there. */
#include "boundary.h"
#include <fcntl.h>
static char directory[] = "/tmp/boundary-XXXXXX", file[64];
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, close(open(file, O_CREAT | O_WRONLY, 0600)));
    return unused;
}
static void *consumer(void *unused) {
    while (access(file, F_OK) != 0) sched_yield();
    seen = data;
    return unused;
}
int main(void) {
    MUST(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/new", directory);
    run_both(producer, consumer);
    printf("%d\n", seen);
    unlink(file);
    rmdir(directory);
}
