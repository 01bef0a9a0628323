/* A table grows by realloc under a mutex. */
#include "boundary.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *table;
static size_t used;
static void add(int value) {
    table = realloc(table, (used + 1) * 64 * sizeof *table);
    table[used++] = value;
}
static void *first(void *unused) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&lock);
        add(i);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 4; i++) {
        FORGOTTEN(pthread_mutex_lock(&lock));
        if (used > 0) table[0] += 1;
        FORGOTTEN(pthread_mutex_unlock(&lock));
    }
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%zu\n", used);
    free(table);
}
