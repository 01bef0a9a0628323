/* A thread blocks where the runtime does not look, and keeps the baton: a system call by hand. */
#include "check.h"

int x;

static void *sleeps(void *arg) {
    struct timespec time = {3, 0};
    long r;
    usleep(1);
    x++;
    __asm__ volatile("syscall" : "=a"(r) : "0"(35L), "D"(&time), "S"(0) : "rcx", "r11", "memory");
    CHECK(r == 0);
    return arg;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, sleeps, NULL);
    pthread_join(t, NULL);
    printf("ok\n");
    return 0;
}
