/* Data handed over with signals. WAY 1: sigwait, 2: value of sigqueue, 3: handler by
 * pthread_kill, 4: handler on its own stack, 5: alarm, 6: interval timer, 7: sigsuspend, 8:
 * sigtimedwait, 9: pipe written by a handler, 10: SIGCHLD, 11: timer with a signal, 12: SIGIO
 * of a pipe, 13: pause, 14: nested handlers, 15: sigwaitinfo, 16:
 * pthread_sigqueue. */
#include "boundary.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
static int data, seen, ends[2];
static volatile sig_atomic_t arrived;
static atomic_int flag, waiting;
static pthread_t receiver;
static sigset_t set;
static void handler(int number) { (void)number; arrived = 1; atomic_store(&flag, 1); }
static void install(int number, int flags) {
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    MUST(sigaction(number, &a, NULL) == 0);
}
static void block(int number) {
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}
#if WAY == 1
static void setup(void) { block(SIGUSR1); }
static void pass(void) { MUST(kill(getpid(), SIGUSR1) == 0); }
static void take(void) { int n; MUST(sigwait(&set, &n) == 0); }
#elif WAY == 2
static void setup(void) { block(SIGRTMIN); }
static void pass(void) {
    union sigval v = {.sival_int = 7};
    MUST(sigqueue(getpid(), SIGRTMIN, v) == 0);
}
static void take(void) {
    siginfo_t i;
    MUST(sigwaitinfo(&set, &i) == SIGRTMIN && i.si_value.sival_int == 7);
}
#elif WAY == 3
static void setup(void) { install(SIGUSR1, 0); }
static void pass(void) {
    while (!atomic_load(&waiting)) sched_yield();
    pthread_kill(receiver, SIGUSR1);
}
static void take(void) {
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    while (!atomic_load(&flag)) sched_yield();
}
#elif WAY == 4
static void setup(void) { install(SIGUSR1, SA_ONSTACK); }
static void pass(void) {
    while (!atomic_load(&waiting)) sched_yield();
    pthread_kill(receiver, SIGUSR1);
}
static void take(void) {
    stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536}, off = {.ss_flags = SS_DISABLE};
    sigaltstack(&s, NULL);
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    while (!arrived) sched_yield();
    sigaltstack(&off, NULL);
    free(s.ss_sp);
}
#elif WAY == 5
static void setup(void) { install(SIGALRM, 0); }
static void pass(void) { ualarm(1000, 0); }
static void take(void) { while (!atomic_load(&flag)) sched_yield(); }
#elif WAY == 6
static void setup(void) { block(SIGALRM); }
static void pass(void) {
    struct itimerval t = {{0, 0}, {0, 1000}};
    MUST(setitimer(ITIMER_REAL, &t, NULL) == 0);
}
static void take(void) { int n; MUST(sigwait(&set, &n) == 0); }
#elif WAY == 7
static void setup(void) { install(SIGUSR2, 0); block(SIGUSR2); }
static void pass(void) {
    while (!atomic_load(&waiting)) sched_yield();
    pthread_kill(receiver, SIGUSR2);
}
static void take(void) {
    sigset_t none;
    sigemptyset(&none);
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    while (!arrived) sigsuspend(&none);
}
#elif WAY == 8
static void setup(void) { block(SIGUSR1); }
static void pass(void) { MUST(kill(getpid(), SIGUSR1) == 0); }
static void take(void) {
    struct timespec t = {5, 0};
    MUST(sigtimedwait(&set, NULL, &t) == SIGUSR1);
}
#elif WAY == 9
static void to_pipe(int number) { (void)number; if (write(ends[1], "x", 1) != 1) abort(); }
static void setup(void) {
    struct sigaction a = {.sa_handler = to_pipe, .sa_flags = SA_RESTART};
    MUST(pipe(ends) == 0 && sigaction(SIGUSR1, &a, NULL) == 0);
}
static void pass(void) { raise(SIGUSR1); }
static void take(void) { char c; MUST(read(ends[0], &c, 1) == 1); }
#elif WAY == 10
static void setup(void) { block(SIGCHLD); }
static void pass(void) { pid_t p = fork(); if (p == 0) _exit(0); }
static void take(void) { int n; MUST(sigwait(&set, &n) == 0 && wait(NULL) > 0); }
#elif WAY == 11
static timer_t timer;
static void setup(void) {
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    block(SIGUSR1);
    MUST(timer_create(CLOCK_MONOTONIC, &e, &timer) == 0);
}
static void pass(void) {
    struct itimerspec t = {{0, 0}, {0, 1000000}};
    MUST(timer_settime(timer, 0, &t, NULL) == 0);
}
static void take(void) { int n; MUST(sigwait(&set, &n) == 0); }
#elif WAY == 12
static void setup(void) {
    block(SIGIO);
    MUST(pipe(ends) == 0 && fcntl(ends[0], F_SETOWN, getpid()) == 0 && fcntl(ends[0], F_SETFL,
        O_ASYNC | O_NONBLOCK) == 0);
}
static void pass(void) { MUST(write(ends[1], "x", 1) == 1); }
static void take(void) { int n; MUST(sigwait(&set, &n) == 0); }
#elif WAY == 13
static void setup(void) { install(SIGUSR1, 0); }
static void pass(void) {
    while (!atomic_load(&waiting)) sched_yield();
    while (atomic_load(&waiting) != 2) { pthread_kill(receiver, SIGUSR1); usleep(100); }
}
static void take(void) {
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    while (!atomic_load(&flag)) pause();
    atomic_store(&waiting, 2);
}
#elif WAY == 14
static void outer(int number) { (void)number; raise(SIGUSR2); }
static void setup(void) {
    struct sigaction a = {.sa_handler = outer};
    install(SIGUSR2, 0);
    MUST(sigaction(SIGUSR1, &a, NULL) == 0);
}
static void pass(void) {
    while (!atomic_load(&waiting)) sched_yield();
    pthread_kill(receiver, SIGUSR1);
}
static void take(void) {
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    while (!atomic_load(&flag)) sched_yield();
}
#elif WAY == 15
static void setup(void) { block(SIGTERM); }
static void pass(void) { MUST(kill(getpid(), SIGTERM) == 0); }
static void take(void) { siginfo_t i; MUST(sigwaitinfo(&set, &i) == SIGTERM); }
#elif WAY == 16
static void setup(void) { block(SIGRTMIN + 1); }
static void pass(void) {
    union sigval v = {.sival_ptr = &data};
    while (!atomic_load(&waiting)) sched_yield();
    MUST(pthread_sigqueue(receiver, SIGRTMIN + 1, v) == 0);
}
static void take(void) {
    siginfo_t i;
    receiver = pthread_self();
    atomic_store(&waiting, 1);
    MUST(sigwaitinfo(&set, &i) == SIGRTMIN + 1);
    *(int *)i.si_value.sival_ptr += 0;
}
#endif
static void *producer(void *unused) {
    HAND_OVER(data = 42, pass());
    return unused;
}
static void *consumer(void *unused) {
    take();
    seen = data;
    return unused;
}
int main(void) {
    (void)install, (void)block, (void)ends, (void)receiver, (void)waiting;
    setup();
    run_both(producer, consumer);
    printf("%d\n", seen);
}
