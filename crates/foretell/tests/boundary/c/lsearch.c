/* lsearch adds to a table, lfind looks into it, both under a mutex. */
#include "boundary.h"
#include <search.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[8], data, seen;
static size_t count;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *producer(void *unused) {
    int key = 5;
    HAND_OVER(data = 42, {
        pthread_mutex_lock(&lock);
        lsearch(&key, table, &count, sizeof *table, compare);
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    int key = 5, found = 0;
    while (!found) {
        pthread_mutex_lock(&lock);
        found = lfind(&key, table, &count, sizeof *table, compare) != NULL;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    seen = data;
    return unused;
}
int main(void) {
    run_both(producer, consumer);
    printf("%d\n", seen);
}
