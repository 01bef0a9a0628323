/* main and both workers meet at a barrier of three parties. */
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
    pthread_barrier_init(&meeting, NULL, 3);
    pthread_create(&first, NULL, worker, NULL);
    pthread_create(&second, NULL, worker, NULL);
    pthread_barrier_wait(&meeting);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    puts("met");
    return 0;
}
