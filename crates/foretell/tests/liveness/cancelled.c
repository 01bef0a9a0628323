/* A wait that nothing may signal ends by a cancellation. */
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static void unlock(void *m) { pthread_mutex_unlock(m); }
static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    pthread_cond_wait(&go, &lock);
    pthread_cleanup_pop(1);
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&go);
    pthread_mutex_unlock(&lock);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
