/* A timer whose expiry runs a function in a thread of the library (SIGEV_THREAD). */
#include "boundary.h"
#include <semaphore.h>
#include <signal.h>
#include <time.h>
static sem_t fired;
static int data, seen;
static void expire(union sigval value) {
    HAND_OVER(data = value.sival_int, sem_post(&fired));
}
int main(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD};
    event.sigev_notify_function = expire;
    event.sigev_value.sival_int = 42;
    struct itimerspec soon = {{0, 0}, {0, 2000000}};
    sem_init(&fired, 0, 0);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    MUST(timer_settime(timer, 0, &soon, NULL) == 0);
    sem_wait(&fired);
    seen = data;
    printf("%d\n", seen);
    timer_delete(timer);
}
