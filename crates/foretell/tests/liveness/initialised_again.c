/* A mutex is destroyed and initialised again, by a call and by an assignment, between two phases. */
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    n++;
    pthread_mutex_unlock(&lock);
    return unused;
}
static void phase(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, worker, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_mutex_destroy(&lock);
}
int main(void)
{
    phase();
    pthread_mutex_init(&lock, NULL);
    phase();
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    phase();
    return n == 6 ? 0 : 1;
}
