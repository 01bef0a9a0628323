/* A signal that comes once, as a thread begins to wait, is handled: the wait may not end before. */
#include "check.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { ROUNDS = 1000 };

static pthread_t receiver;
static atomic_int handled;
static int ends[2];

static void handle(int n) {
    handled = 1;
    CHECK(write(ends[1], "x", 1) == 1);
}

static void *send(void *unused) {
    CHECK(pthread_kill(receiver, SIGUSR1) == 0);
    return unused;
}

static void *send_and_wait(void *unused) {
    send(unused);
    while (!handled)
        sched_yield();
    return unused;
}

int main(void) {
    struct sigaction sa = {.sa_handler = handle, .sa_flags = SA_RESTART};
    pthread_t t;
    char c;
    receiver = pthread_self();
    CHECK(pipe(ends) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
    /* Ends a program that hangs. */
    alarm(60);
    for (int i = 0; i < ROUNDS; i++) {
        handled = 0;
        CHECK(pthread_create(&t, NULL, send_and_wait, NULL) == 0);
        CHECK(pthread_join(t, NULL) == 0);
        CHECK(read(ends[0], &c, 1) == 1);
    }
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(pthread_create(&t, NULL, send, NULL) == 0);
        CHECK(read(ends[0], &c, 1) == 1);
        CHECK(pthread_join(t, NULL) == 0);
    }
    puts("ok");
}
