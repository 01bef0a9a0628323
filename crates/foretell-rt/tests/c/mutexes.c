/* Every operation on mutexes and spin locks, pthread and C11. */
#include "check.h"
#include <threads.h>

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking;
pthread_spinlock_t spin;
mtx_t c11, timed;
int shared;

static void *contend(void *arg) {
    CHECK(pthread_mutex_trylock(&plain) == EBUSY);
    CHECK(pthread_mutex_trylock(&recursive) == EBUSY);
    CHECK(pthread_spin_trylock(&spin) == EBUSY);
    CHECK(mtx_trylock(&c11) == thrd_busy);
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    CHECK(pthread_mutex_timedlock(&plain, &at) == ETIMEDOUT);
    CHECK(mtx_timedlock(&timed, &at) == thrd_timedout);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    return arg;
}

static void *count(void *arg) {
    for (int i = 0; i < 50; i++) {
        CHECK(pthread_mutex_lock(&plain) == 0);
        shared++;
        CHECK(pthread_mutex_unlock(&plain) == 0);
        CHECK(pthread_spin_lock(&spin) == 0);
        shared++;
        CHECK(pthread_spin_unlock(&spin) == 0);
        CHECK(mtx_lock(&c11) == thrd_success);
        shared++;
        CHECK(mtx_unlock(&c11) == thrd_success);
    }
    return arg;
}

static void lock_all(void) {
    CHECK(pthread_mutex_lock(&plain) == 0);
    CHECK(pthread_mutex_lock(&recursive) == 0);
    CHECK(pthread_mutex_lock(&recursive) == 0);
    CHECK(pthread_mutex_trylock(&recursive) == 0);
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(mtx_lock(&c11) == thrd_success);
    CHECK(mtx_lock(&timed) == thrd_success);
}

static void unlock_all(void) {
    mtx_unlock(&timed);
    mtx_unlock(&c11);
    pthread_spin_unlock(&spin);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_mutex_unlock(&recursive) == 0);
    pthread_mutex_unlock(&plain);
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &attr);
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CHECK(mtx_init(&c11, mtx_plain) == thrd_success);
    CHECK(mtx_init(&timed, mtx_timed) == thrd_success);

    CHECK(pthread_mutex_lock(&checking) == 0);
    CHECK(pthread_mutex_lock(&checking) == EDEADLK);
    CHECK(pthread_mutex_unlock(&checking) == 0);
    CHECK(pthread_mutex_unlock(&checking) == EPERM);
    struct timespec at = in_ms(CLOCK_REALTIME, 1000);
    CHECK(pthread_mutex_timedlock(&plain, &at) == 0);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    at = in_ms(CLOCK_MONOTONIC, 1000);
    CHECK(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &at) == 0);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(pthread_mutex_trylock(&plain) == 0);
    CHECK(pthread_mutex_unlock(&plain) == 0);
    CHECK(pthread_spin_trylock(&spin) == 0);
    CHECK(pthread_spin_unlock(&spin) == 0);

    pthread_t t[3];
    lock_all();
    pthread_create(&t[0], NULL, contend, NULL);
    pthread_join(t[0], NULL);
    unlock_all();
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, count, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_destroy(&recursive);
    pthread_mutex_destroy(&checking);
    pthread_spin_destroy(&spin);
    mtx_destroy(&c11);
    mtx_destroy(&timed);
    printf("ok\n");
    return 0;
}
