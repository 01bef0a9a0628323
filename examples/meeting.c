/* main meets each of two workers at a barrier of two parties. The workers may meet each other
   instead, and main waits for ever. */
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t meeting;

static void *worker(void *unused)
{
    pthread_barrier_wait(&meeting);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&first, NULL, worker, NULL);
    pthread_create(&second, NULL, worker, NULL);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    puts("met");
    return 0;
}
