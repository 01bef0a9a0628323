/* main destroys the mutex when the worker has ended. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t reported;
static int jobs;

static void *worker(void *unused)
{
    sem_post(&reported);
    if (pthread_mutex_lock(&lock) == 0) {
        jobs++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&reported, 0, 0);
    pthread_create(&thread, NULL, worker, NULL);
    sem_wait(&reported);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
    printf("%d jobs\n", jobs);
    return 0;
}
