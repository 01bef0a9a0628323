/* A check that says where it failed, for every test program. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x) ((x) ? (void)0 : fail(#x, __LINE__))

static inline void fail(const char *what, int line) {
    printf("line %d: %s\n", line, what);
    exit(1);
}

/* Returns the moment `ms` milliseconds from now. */
static inline struct timespec in_ms(clockid_t clock, int ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}
