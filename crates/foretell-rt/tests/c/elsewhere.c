/* A thread waits for another process, and that waits for what the other thread sends it. */
#include "check.h"

static int asked[2], answered[2];
static int shared, mine, last;

static void *first(void *unused) {
    shared = 1;
    mine = 1;
    CHECK(write(asked[1], "1", 1) == 1);
    last = 1;
    return unused;
}

static void *waiting(void *unused) {
    char c;
    CHECK(read(answered[0], &c, 1) == 1);
    shared = 2;
    return unused;
}

int main(void) {
    CHECK(pipe(asked) == 0 && pipe(answered) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char c;
        _exit(read(asked[0], &c, 1) != 1 || write(answered[1], &c, 1) != 1);
    }
    pthread_t t[2];
    CHECK(pthread_create(&t[0], NULL, first, NULL) == 0);
    CHECK(pthread_create(&t[1], NULL, waiting, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(t[i], NULL) == 0);
    return 0;
}
