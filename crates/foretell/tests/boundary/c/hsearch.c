/* A number is handed over through the library's hash table under a mutex. */
#include "boundary.h"
#include <search.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, seen;
static char name[] = "answer";
static void *producer(void *unused) {
    ENTRY entry = {name, &data};
    HAND_OVER(data = 42, {
        pthread_mutex_lock(&lock);
        hsearch(entry, ENTER);
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    ENTRY entry = {name, NULL}, *found = NULL;
    while (!found) {
        pthread_mutex_lock(&lock);
        found = hsearch(entry, FIND);
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    seen = *(int *)found->data;
    return unused;
}
int main(void) {
    MUST(hcreate(16));
    run_both(producer, consumer);
    printf("%d\n", seen);
    hdestroy();
}
