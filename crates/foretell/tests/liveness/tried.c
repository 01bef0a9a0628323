/* A permit that is only tried for, and a thread that is only looked at, hold nothing up. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
static sem_t permits;
static void *worker(void *unused)
{
    if (sem_trywait(&permits) == 0 && sem_trywait(&permits) == 0)
        sem_post(&permits);
    return unused;
}
int main(void)
{
    pthread_t a, b;
    sem_init(&permits, 0, 2);
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    if (pthread_tryjoin_np(a, NULL) != 0)
        pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
