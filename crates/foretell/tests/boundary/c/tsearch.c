/* A block is handed over through a tsearch tree under a mutex. */
#include "boundary.h"
#include <search.h>
struct item { int key, value; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;
static int sum;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *producer(void *unused) {
    struct item *item = malloc(sizeof *item);
    item->key = 7;
    HAND_OVER(item->value = 42, {
        pthread_mutex_lock(&lock);
        tsearch(item, &tree, compare);
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    int key = 7;
    struct item *item = NULL;
    while (!item) {
        pthread_mutex_lock(&lock);
        void *node = tfind(&key, &tree, compare);
        if (node) item = *(struct item **)node;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    sum = item->value;
    return unused;
}
int main(void) {
    run_both(producer, consumer);
    printf("%d\n", sum);
}
