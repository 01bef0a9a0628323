/* Two threads sort one array under a mutex; the comparison is called from the library. */
#include "boundary.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int array[6] = {6, 2, 5, 1, 4, 3};
static int calls;
static int ascending(const void *a, const void *b) {
    calls++;
    return *(const int *)a - *(const int *)b;
}
static void *first(void *unused) {
    pthread_mutex_lock(&lock);
    qsort(array, 6, sizeof *array, ascending);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *second(void *unused) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    qsort(array, 6, sizeof *array, ascending);
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return unused;
}
int main(void) {
    run_both(first, second);
    for (int i = 0; i < 6; i++) printf("%d ", array[i]);
    printf("%s\n", calls > 0 ? "sorted" : "not sorted");
}
