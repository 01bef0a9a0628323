/* The destructor of a key runs in the ending thread; join orders it before the reader. */
#include "boundary.h"
static pthread_key_t key;
static int total, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void destroy(void *value) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    total += *(int *)value;
    FORGOTTEN(pthread_mutex_unlock(&lock));
    free(value);
}
static void *worker(void *unused) {
    int *value = malloc(sizeof *value);
    *value = 21;
    pthread_setspecific(key, value);
    return unused;
}
int main(void) {
    pthread_key_create(&key, destroy);
    run_both(worker, worker);
    seen = total;
    printf("%d\n", seen);
}
