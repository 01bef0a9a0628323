/* A thread arms a timer; the thread that reads the timer's descriptor sees what came before. */
#include "boundary.h"
#include <sys/timerfd.h>
#include <stdint.h>
static int timer, data, seen;
static void *producer(void *unused) {
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    HAND_OVER(data = 42, MUST(timerfd_settime(timer, 0, &soon, NULL) == 0));
    return unused;
}
static void *consumer(void *unused) {
    uint64_t times;
    MUST(read(timer, &times, sizeof times) == sizeof times);
    seen = data;
    return unused;
}
int main(void) {
    MUST((timer = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
