/* A helper may miss the signal and wait until the program ends, which does not wait for it. */
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static void *helper(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&go, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *quick(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&go);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, helper, NULL);
    pthread_detach(a);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(b, NULL);
    exit(0);
}
