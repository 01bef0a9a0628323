/* A child process ends when a thread tells it to; a second thread waits for the child. */
#include "boundary.h"
#include <sys/wait.h>
static int ends[2], data, seen;
static pid_t child;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(write(ends[1], "x", 1) == 1));
    return unused;
}
static void *consumer(void *unused) {
    MUST(waitpid(child, NULL, 0) == child);
    seen = data;
    return unused;
}
int main(void) {
    MUST(pipe(ends) == 0);
    MUST((child = fork()) >= 0);
    if (child == 0) {
        char got;
        _exit(read(ends[0], &got, 1) != 1);
    }
    run_both(producer, consumer);
    printf("%d\n", seen);
}
