/* Two waiters on one condition, woken one at a time, and a wait that times out. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
int waiting, tokens, order[2], woken;

static void *waiter(void *arg) {
    pthread_mutex_lock(&m);
    waiting++;
    while (tokens == 0)
        pthread_cond_wait(&c, &m);
    tokens--;
    order[woken++] = *(int *)arg;
    pthread_mutex_unlock(&m);
    return arg;
}

static int both_wait(void) {
    pthread_mutex_lock(&m);
    int n = waiting;
    pthread_mutex_unlock(&m);
    return n == 2;
}

int main(void) {
    pthread_t t[2];
    int id[2] = {1, 2};
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, waiter, &id[i]);
    while (!both_wait())
        sched_yield();
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        tokens++;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 1000000;
    if (at.tv_nsec >= 1000000000)
        at.tv_sec++, at.tv_nsec -= 1000000000;
    pthread_mutex_lock(&m);
    int r = pthread_cond_timedwait(&never, &m, &at);
    pthread_mutex_unlock(&m);
    printf("%d %d\n", order[0] + order[1], r);
    return 0;
}
