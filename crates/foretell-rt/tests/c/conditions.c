/* Every operation on condition variables, pthread and C11. */
#include "check.h"
#include <threads.h>

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER, made;
mtx_t cm;
cnd_t cc;
int items, gone, done, c11;

static void *consume(void *arg) {
    pthread_mutex_lock(&m);
    for (;;) {
        while (items == 0 && !done)
            CHECK(pthread_cond_wait(&c, &m) == 0);
        if (items == 0)
            break;
        items--;
        gone++;
    }
    pthread_mutex_unlock(&m);
    return arg;
}

static int c11_waiter(void *arg) {
    mtx_lock(&cm);
    while (!c11)
        CHECK(cnd_wait(&cc, &cm) == thrd_success);
    mtx_unlock(&cm);
    return 0;
}

static void *timed_waiter(void *arg) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, 60000);
    pthread_mutex_lock(&m);
    while (!done)
        CHECK(pthread_cond_timedwait(&made, &m, &at) == 0);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    CHECK(pthread_cond_init(&made, &attr) == 0);
    CHECK(mtx_init(&cm, mtx_plain) == thrd_success && cnd_init(&cc) == thrd_success);

    pthread_mutex_lock(&m);
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    CHECK(pthread_cond_timedwait(&c, &m, &at) == ETIMEDOUT);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(pthread_cond_timedwait(&made, &m, &at) == ETIMEDOUT);
    CHECK(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    at.tv_nsec = -1;
    CHECK(pthread_cond_timedwait(&c, &m, &at) == EINVAL);
    pthread_mutex_unlock(&m);
    mtx_lock(&cm);
    at = in_ms(CLOCK_REALTIME, 5);
    CHECK(cnd_timedwait(&cc, &cm, &at) == thrd_timedout);
    mtx_unlock(&cm);

    pthread_t t[3], w;
    thrd_t u[2];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, consume, NULL);
    pthread_create(&w, NULL, timed_waiter, NULL);
    for (int i = 0; i < 2; i++)
        thrd_create(&u[i], c11_waiter, NULL);
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&m);
        items++;
        CHECK(pthread_cond_signal(&c) == 0);
        pthread_mutex_unlock(&m);
    }
    mtx_lock(&cm);
    c11 = 1;
    CHECK(cnd_signal(&cc) == thrd_success);
    CHECK(cnd_broadcast(&cc) == thrd_success);
    mtx_unlock(&cm);
    pthread_mutex_lock(&m);
    done = 1;
    CHECK(pthread_cond_broadcast(&c) == 0);
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    pthread_join(w, NULL);
    for (int i = 0; i < 2; i++)
        thrd_join(u[i], NULL);
    CHECK(gone == 30 && items == 0);
    pthread_cond_destroy(&made);
    cnd_destroy(&cc);
    printf("ok\n");
    return 0;
}
