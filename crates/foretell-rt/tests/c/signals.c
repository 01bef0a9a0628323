/* Handlers run: at hooks, in blocking calls, while waiting; and what is asked is told. */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <setjmp.h>

volatile sig_atomic_t ticks, got, faults;
atomic_int interrupted;
sem_t posted;
sigjmp_buf back;
int x;

static void tick(int n) { ticks++; }
static void post(int n) { got = n; sem_post(&posted); }
static void fault(int n, siginfo_t *info, void *context) {
    faults++;
    CHECK(info->si_addr == (void *)8);
    siglongjmp(back, 1);
}

/* Again and again: the first may come before the call that it is to interrupt. */
static void *sends(void *arg) {
    do {
        usleep(2000);
        pthread_kill(*(pthread_t *)arg, SIGUSR1);
    } while (!interrupted);
    return arg;
}

int main(void) {
    pthread_t me = pthread_self(), t;
    struct sigaction old, sa = {0};
    CHECK(signal(SIGALRM, tick) == SIG_DFL);
    CHECK(sigaction(SIGALRM, NULL, &old) == 0 && old.sa_handler == tick);
    CHECK(sigaction(SIGSEGV, NULL, &old) == 0 && old.sa_handler == SIG_DFL);

    struct itimerval every = {{0, 500}, {0, 500}}, stop = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    while (ticks < 5)
        x++;
    setitimer(ITIMER_REAL, &stop, NULL);

    sa.sa_handler = post;
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    sem_init(&posted, 0, 0);
    pthread_create(&t, NULL, sends, &me);
    while (sem_wait(&posted) != 0)
        CHECK(errno == EINTR);
    interrupted = 1;
    CHECK(got == SIGUSR1);
    pthread_join(t, NULL);

    got = interrupted = 0;
    pthread_create(&t, NULL, sends, &me);
    CHECK(pause() == -1 && errno == EINTR && got == SIGUSR1);
    interrupted = 1;
    pthread_join(t, NULL);

    got = interrupted = 0;
    pthread_create(&t, NULL, sends, &me);
    CHECK(sleep(1000) > 0 && got == SIGUSR1);
    interrupted = 1;
    pthread_join(t, NULL);

    got = 0;
    raise(SIGUSR1);
    CHECK(got == SIGUSR1);

    typedef void (*handler)(int);
    handler bsd_signal(int, handler), sysv_signal(int, handler), __sysv_signal(int, handler);
    CHECK(ssignal(SIGUSR2, post) == SIG_DFL && bsd_signal(SIGUSR2, post) == post);
    raise(SIGUSR2);
    CHECK(got == SIGUSR2 && sysv_signal(SIGUSR2, tick) == post);
    CHECK(__sysv_signal(SIGUSR2, post) == tick);
    got = 0;
    raise(SIGUSR2);
    CHECK(got == SIGUSR2 && signal(SIGUSR2, SIG_IGN) == SIG_DFL); /* it was for one time */

    sa.sa_sigaction = fault;
    sa.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)8 = 1;
    CHECK(faults == 1);
    x++;
    printf("ok\n");
    return 0;
}
