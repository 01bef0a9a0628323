/* main leaves with pthread_exit; the other threads go on, meet and end. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
static sem_t go;
static pthread_barrier_t meeting;
static void *worker(void *unused)
{
    sem_wait(&go);
    pthread_barrier_wait(&meeting);
    return unused;
}
int main(void)
{
    pthread_t thread;
    sem_init(&go, 0, 0);
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_create(&thread, NULL, worker, NULL);
    sem_post(&go);
    sem_post(&go);
    pthread_exit(NULL);
}
