/* A lock of the library is taken inside of a mutex, everywhere in one order. */
#include "boundary.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *first(void *unused) {
    pthread_mutex_lock(&lock);
    flockfile(stdout);
    pthread_mutex_lock(&inner);
    count++;
    pthread_mutex_unlock(&inner);
    funlockfile(stdout);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *second(void *unused) {
#ifdef BUG
    pthread_mutex_lock(&inner);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&inner);
    return unused;
#else
    return first(unused);
#endif
}
int main(void) {
    run_both(first, second);
    printf("%d\n", count);
}
