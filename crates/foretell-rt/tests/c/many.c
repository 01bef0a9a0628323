/* More accesses than there is room for. */
#include "check.h"

long sums[64];

static void *adds(void *arg) {
    for (long i = 0; i < 1000000; i++)
        sums[i % 64] += i * 7919;
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, adds, NULL);
    pthread_join(t, NULL);
    printf("%ld\n", sums[5]);
    return 0;
}
