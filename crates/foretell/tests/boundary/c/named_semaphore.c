/* A named semaphore. */
#include "boundary.h"
#include <fcntl.h>
#include <semaphore.h>
static sem_t *semaphore;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, sem_post(semaphore));
    return unused;
}
static void *consumer(void *unused) {
    sem_wait(semaphore);
    seen = data;
    return unused;
}
int main(void) {
    char name[32];
    snprintf(name, sizeof name, "/boundary-%d", (int)getpid());
    MUST((semaphore = sem_open(name, O_CREAT, 0600, 0)) != SEM_FAILED);
    sem_unlink(name);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
