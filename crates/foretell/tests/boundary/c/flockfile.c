/* A counter is protected by the lock of a stream. */
#include "boundary.h"
static int count;
static void *first(void *unused) {
    flockfile(stdout);
    count++;
    funlockfile(stdout);
    return unused;
}
static void *second(void *unused) {
    FORGOTTEN(flockfile(stdout));
    count++;
    FORGOTTEN(funlockfile(stdout));
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%d\n", count);
}
