/* Blocks go through a slot to a thread that frees them; the allocator uses their memory again. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
static sem_t full, empty;
static int *slot;
static void *consumer(void *unused)
{
    for (int i = 0; i < 4; i++) {
        sem_wait(&full);
        int *mine = slot;
        sem_post(&empty);
        if (*mine != i)
            abort();
        free(mine);
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_create(&thread, NULL, consumer, NULL);
    for (int i = 0; i < 4; i++) {
        int *block = malloc(sizeof *block);
        *block = i;
        sem_wait(&empty);
        slot = block;
        sem_post(&full);
    }
    pthread_join(thread, NULL);
    return 0;
}
