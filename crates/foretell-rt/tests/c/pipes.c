/* Two threads send each other numbers through pipes. */
#include "check.h"

int there[2], back[2], last;

static void *answers(void *arg) {
    for (int i = 0; i < 3; i++) {
        int n;
        CHECK(read(there[0], &n, sizeof n) == sizeof n);
        last = n * 2;
        CHECK(write(back[1], &last, sizeof last) == sizeof last);
    }
    return arg;
}

int main(void) {
    pthread_t t;
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    pthread_create(&t, NULL, answers, NULL);
    for (int i = 0; i < 3; i++) {
        int n = i;
        CHECK(write(there[1], &n, sizeof n) == sizeof n);
        CHECK(read(back[0], &n, sizeof n) == sizeof n && n == i * 2);
    }
    pthread_join(t, NULL);
    printf("%d\n", last);
    return 0;
}
