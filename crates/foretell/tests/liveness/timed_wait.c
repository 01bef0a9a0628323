/* The signal may be lost, but the wait has a time limit. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int ready;
static void *producer(void *unused)
{
    atomic_store(&ready, 1);
    pthread_cond_signal(&changed);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    pthread_mutex_lock(&lock);
    while (!atomic_load(&ready)) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_sec += 1;
        pthread_cond_timedwait(&changed, &lock, &at);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
