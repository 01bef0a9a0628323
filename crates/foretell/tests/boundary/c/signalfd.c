/* A blocked signal is read from a signalfd. */
#include "boundary.h"
#include <signal.h>
#include <sys/signalfd.h>
static int descriptor, data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(kill(getpid(), SIGUSR1) == 0));
    return unused;
}
static void *consumer(void *unused) {
    struct signalfd_siginfo info;
    MUST(read(descriptor, &info, sizeof info) == sizeof info);
    seen = data;
    return unused;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    MUST((descriptor = signalfd(-1, &set, 0)) >= 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
