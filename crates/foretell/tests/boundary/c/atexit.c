/* A function that atexit runs uses what a detached thread wrote before it told main. */
#include "boundary.h"
#include <semaphore.h>
static sem_t done;
static int data;
static void at_end(void) { printf("%d\n", data); }
static void *worker(void *unused) {
    HAND_OVER(data = 42, sem_post(&done));
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    atexit(at_end);
    MUST(pthread_create(&thread, NULL, worker, NULL) == 0);
    pthread_detach(thread);
    sem_wait(&done);
}
