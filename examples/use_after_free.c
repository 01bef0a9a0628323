/* The main thread frees a job that the worker still uses. `free` writes the whole block, so this is
 * a race; the replay shows where the block was used, allocated and freed. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct job {
    int size, sum;
};

static sem_t done;

static void *worker(void *argument)
{
    struct job *job = argument;
    int sum = 0;
    for (int i = 1; i <= job->size; i++)
        sum += i;
    sem_post(&done);
    job->sum = sum;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct job *job = malloc(sizeof *job);
    job->size = 4;
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, worker, job);
    sem_wait(&done);
    free(job);
    pthread_join(thread, NULL);
    return 0;
}
