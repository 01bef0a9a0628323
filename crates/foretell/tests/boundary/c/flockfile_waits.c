/* A thread holds a stream's lock and waits for a semaphore; a second thread wants the stream. */
#include "boundary.h"
#include <semaphore.h>
static sem_t go, held;
static int count;
static void *first(void *unused) {
    flockfile(stdout);
    sem_post(&held);
    sem_wait(&go);
    count++;
    funlockfile(stdout);
    return unused;
}
static void *second(void *unused) {
    sem_wait(&held);
    sem_post(&go);
    FORGOTTEN(flockfile(stdout));
    count++;
    FORGOTTEN(funlockfile(stdout));
    return unused;
}
int main(void) {
    sem_init(&go, 0, 0);
    sem_init(&held, 0, 0);
    run_both(first, second);
    printf("%d\n", count);
}
