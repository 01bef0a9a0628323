/* A child process holds a record lock until a thread tells it to let go. */
#include "boundary.h"
#include <fcntl.h>
#include <sys/wait.h>
static char name[] = "/tmp/boundary-XXXXXX";
static int file, ends[2], ready[2], data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(write(ends[1], "x", 1) == 1));
    return unused;
}
static void *consumer(void *unused) {
    MUST(lockf(file, F_LOCK, 0) == 0);
    seen = data;
    return unused;
}
int main(void) {
    char got;
    MUST((file = mkstemp(name)) >= 0 && pipe(ends) == 0 && pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        MUST(lockf(file, F_LOCK, 0) == 0);
        MUST(write(ready[1], "x", 1) == 1);
        _exit(read(ends[0], &got, 1) != 1);
    }
    MUST(read(ready[0], &got, 1) == 1);
    run_both(producer, consumer);
    waitpid(child, NULL, 0);
    printf("%d\n", seen);
    unlink(name);
}
