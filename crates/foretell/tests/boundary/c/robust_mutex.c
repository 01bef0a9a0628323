/* A thread ends with a robust mutex held; the next owner gets EOWNERDEAD and what was written. */
#include "boundary.h"
#include <errno.h>
static pthread_mutex_t lock;
static int data, seen, died;
static void *owner(void *unused) {
    pthread_mutex_lock(&lock);
    data = 42;
    return unused;
}
static void *heir(void *unused) {
#ifndef BUG
    while (!died) {
        int result = pthread_mutex_lock(&lock);
        if (result == EOWNERDEAD) {
            pthread_mutex_consistent(&lock);
            died = 1;
        }
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
#endif
    seen = data;
    return unused;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attr);
    run_both(owner, heir);
    printf("%d\n", seen);
}
