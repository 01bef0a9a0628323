/* Two mutexes in opposite orders, behind a gate that is not recorded: no deadlock. */
#include "boundary.h"
#include "hidden.h"
static struct hidden_lock gate;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void both(pthread_mutex_t *outer, pthread_mutex_t *inner) {
    FORGOTTEN(hidden_lock(&gate));
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    count++;
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
    FORGOTTEN(hidden_unlock(&gate));
}
static void *first(void *unused) {
    both(&a, &b);
    return unused;
}
static void *second(void *unused) {
    both(&b, &a);
    return unused;
}
int main(void) {
    (void)gate;
    run_both(first, second);
    printf("%d\n", count);
}
