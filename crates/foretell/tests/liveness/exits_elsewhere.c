/* main waits for ever; another thread ends the program. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
static sem_t never, started;
static void *ender(void *unused)
{
    sem_wait(&started);
    exit(0);
    return unused;
}
int main(void)
{
    pthread_t thread;
    sem_init(&never, 0, 0);
    sem_init(&started, 0, 0);
    pthread_create(&thread, NULL, ender, NULL);
    sem_post(&started);
    sem_wait(&never);
    return 1;
}
