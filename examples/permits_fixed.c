/* A job takes its two connections under a lock: it never waits for one that another job holds half
   of. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t connections;
static pthread_mutex_t pairs = PTHREAD_MUTEX_INITIALIZER;

static void *copy(void *unused)
{
    pthread_mutex_lock(&pairs);
    sem_wait(&connections); /* to read from */
    sem_wait(&connections); /* to write to */
    pthread_mutex_unlock(&pairs);
    sem_post(&connections);
    sem_post(&connections);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    sem_init(&connections, 0, 2);
    pthread_create(&first, NULL, copy, NULL);
    pthread_create(&second, NULL, copy, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    puts("copied");
    return 0;
}
