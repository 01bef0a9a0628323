/* Two jobs need two connections each and take them one by one: each may get one and wait for ever
   for its second. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t connections;

static void *copy(void *unused)
{
    sem_wait(&connections); /* to read from */
    sem_wait(&connections); /* to write to */
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
