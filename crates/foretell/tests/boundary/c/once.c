/* pthread_once, and a second thread that relies on it. */
#include "boundary.h"
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int *table;
static int first_sum, second_sum;
static void initialise(void) {
    table = malloc(2 * sizeof *table);
    table[0] = 20;
    table[1] = 22;
}
static void *first(void *unused) {
    pthread_once(&once, initialise);
    first_sum = table[0] + table[1];
    return unused;
}
static void *second(void *unused) {
    FORGOTTEN(pthread_once(&once, initialise));
#ifdef BUG
    if (!table) pthread_once(&once, initialise);
#endif
    second_sum = table[0] + table[1];
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%d %d\n", first_sum, second_sum);
}
