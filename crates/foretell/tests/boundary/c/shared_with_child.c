/* A child process passes a flag on in shared memory. */
#include "boundary.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
static atomic_int *flags;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, atomic_store(&flags[0], 1));
    return unused;
}
static void *consumer(void *unused) {
    while (!atomic_load(&flags[16])) usleep(1000);
    seen = data;
    return unused;
}
int main(void) {
    flags = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(flags != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        while (!atomic_load(&flags[0])) usleep(1000);
        atomic_store(&flags[16], 1);
        _exit(0);
    }
    run_both(producer, consumer);
    waitpid(child, NULL, 0);
    printf("%d\n", seen);
}
