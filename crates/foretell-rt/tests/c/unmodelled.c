/* Waits that the runtime does not model. The argument names the kind of wait; without one, a few
 * waits for a futex after the locks of a stream. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

#define HIDDEN __attribute__((no_sanitize_thread, noinline)) static

static int word, data, rounds;
static long total;

static long system_call(long n, long a, long b, long c) {
    long r;
    register long d __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(d)
                     : "rcx", "r11", "memory");
    return r;
}

HIDDEN void set_word(int value) {
    *(volatile int *)&word = value;
    system_call(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1 << 20);
}

HIDDEN void sleep_until(int value) {
    int seen;
    while ((seen = *(volatile int *)&word) != value)
        system_call(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, seen);
}

HIDDEN void spin_until(int value) {
    while (*(volatile int *)&word != value)
        ;
}

/* Sleeps for a short time again and again. No sleep is interrupted. */
HIDDEN void nap_until(int value) {
    while (*(volatile int *)&word != value) {
        struct timespec time = { 0, 100000 };
        if (system_call(SYS_nanosleep, (long)&time, 0, 0) != 0)
            abort();
    }
}

/* Hooks of function calls only. */
static int exchange(int *at, int value) {
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
    return value;
}
static void lock_word(void) {
    while (exchange(&word, 1))
        ;
}
static void unlock_word(void) {
    exchange(&word, 0);
}

static void (*wait_until)(int);

static void *ping(void *a) {
    for (int i = 0; i < rounds; i++) {
        wait_until(2 * i);
        data = i;
        set_word(2 * i + 1);
    }
    return a;
}

static void *pong(void *a) {
    for (int i = 0; i < rounds; i++) {
        wait_until(2 * i + 1);
        total += data;
        set_word(2 * i + 2);
    }
    return a;
}

static void *count_locked(void *a) {
    for (int i = 0; i < rounds; i++) {
        lock_word();
        for (int k = 0; k < 20; k++)
            total++;
        unlock_word();
    }
    return a;
}

static void run(void *(*f)(void *), void *(*g)(void *)) {
    pthread_t a, b;
    pthread_create(&a, NULL, f, NULL);
    pthread_create(&b, NULL, g, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%ld\n", total);
}

static volatile sig_atomic_t handled;

static void on_signal(int n) {
    handled = n;
    set_word(1);
}

static void *sleeper(void *a) {
    sleep_until(1);
    printf("woken, handled %d\n", handled == SIGUSR1);
    return a;
}

static sem_t done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_timer(union sigval v) {
    pthread_mutex_lock(&mutex);
    total += v.sival_int;
    pthread_mutex_unlock(&mutex);
    sem_post(&done);
}

static void on_last_timer(union sigval v) {
    printf("timer %d\n", v.sival_int);
    exit(7);
}

static void start_timer(void (*f)(union sigval), int value) {
    struct sigevent event = { 0 };
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = f;
    event.sigev_value.sival_int = value;
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    struct itimerspec at = { { 0, 0 }, { 0, 10000000 * value } };
    CHECK(timer_settime(timer, 0, &at, NULL) == 0);
}

static pthread_mutex_t robust;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *die_with_mutex(void *a) {
    pthread_mutex_lock(&robust);
    data = 42;
    return a;
}

/* Waits for the condition; the thread that signals it ends with the mutex. */
static void *signal_and_die(void *a) {
    pthread_mutex_lock(&robust);
    data = 43;
    pthread_cond_signal(&condition);
    return a;
}

static void robust_mutex(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    pthread_t t;
    pthread_create(&t, NULL, die_with_mutex, NULL);
    int r;
    while ((r = pthread_mutex_lock(&robust)) == 0) {
        pthread_mutex_unlock(&robust);
        sched_yield();
    }
    CHECK(r == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&robust) == 0);
    printf("%d\n", data);
    pthread_mutex_unlock(&robust);
    pthread_join(t, NULL);

    pthread_mutex_lock(&robust);
    pthread_create(&t, NULL, signal_and_die, NULL);
    CHECK(pthread_cond_wait(&condition, &robust) == EOWNERDEAD);
    printf("%d\n", data);
    /* Not made consistent: no thread gets it any more. */
    pthread_mutex_unlock(&robust);
    CHECK(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    pthread_join(t, NULL);
}

static void *write_lines(void *a) {
    for (int i = 0; i < rounds; i++) {
        flockfile(stdout);
        total++;
        flockfile(stdout);
        printf("line ");
        printf("%ld\n", total);
        funlockfile(stdout);
        funlockfile(stdout);
    }
    return a;
}

static void *try_lock(void *a) {
    CHECK(ftrylockfile(stdout) != 0);
    return a;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    rounds = argc > 1 ? 100 : 5;
    wait_until = sleep_until;
    if (strcmp(kind, "futex") == 0) {
        run(ping, pong);
    } else if (strcmp(kind, "spin") == 0) {
        rounds = 10;
        wait_until = spin_until;
        run(ping, pong);
    } else if (strcmp(kind, "naps") == 0) {
        rounds = 5;
        wait_until = nap_until;
        run(ping, pong);
    } else if (strcmp(kind, "calls") == 0) {
        run(count_locked, count_locked);
    } else if (strcmp(kind, "signal") == 0) {
        struct sigaction action = { 0 };
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, NULL);
        pthread_t t;
        pthread_create(&t, NULL, sleeper, NULL);
        usleep(30000);
        pthread_kill(t, SIGUSR1);
        pthread_join(t, NULL);
    } else if (strcmp(kind, "timers") == 0) {
        sem_init(&done, 0, 0);
        for (int i = 1; i <= 3; i++)
            start_timer(on_timer, i);
        for (int i = 0; i < 3; i++)
            sem_wait(&done);
        pthread_mutex_lock(&mutex);
        printf("%ld\n", total);
        pthread_mutex_unlock(&mutex);
    } else if (strcmp(kind, "last") == 0) {
        start_timer(on_last_timer, 1);
        pthread_exit(NULL);
    } else if (strcmp(kind, "robust") == 0) {
        robust_mutex();
    } else {
        flockfile(stdout);
        CHECK(ftrylockfile(stdout) == 0);
        funlockfile(stdout);
        pthread_t t;
        pthread_create(&t, NULL, try_lock, NULL);
        pthread_join(t, NULL);
        funlockfile(stdout);
        run(write_lines, write_lines);
        if (argc == 1)
            run(ping, pong);
    }
    return 0;
}
