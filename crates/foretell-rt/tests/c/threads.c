/* Creation, end, joining, names, cancellation, thread-local destructors; a thousand threads. */
#include "check.h"
#include <threads.h>

/* Only the runtime has it. */
unsigned long __foretell_thread_id(void) __attribute__((weak));

pthread_key_t key;
int destroyed, cleaned, ran, thousand;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void destroy(void *p) {
    *(int *)p = 1;
    destroyed++;
}

static void clean(void *p) { cleaned++; pthread_mutex_unlock(p); }

static void *exits(void *arg) {
    CHECK(pthread_setname_np(pthread_self(), "leaver") == 0);
    pthread_setspecific(key, arg);
    pthread_exit((void *)7);
}

static void *waits_for_ever(void *arg) {
    pthread_mutex_lock(&m);
    pthread_cleanup_push(clean, &m);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
    return arg;
}

static void *sleeps_for_ever(void *arg) {
    for (;;)
        sleep(1000);
    return arg;
}

static void *reads_for_ever(void *arg) {
    char x;
    read(*(int *)arg, &x, 1);
    return arg;
}

static void *adds(void *arg) {
    pthread_mutex_lock(&m);
    thousand++;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *slow(void *arg) {
    pthread_mutex_lock(&m);
    ran = 1;
    pthread_mutex_unlock(&m);
    return arg;
}

static int c11(void *arg) { return *(int *)arg; }
static int c11_exit(void *arg) { thrd_exit(9); }

static void cancel(void *(*f)(void *), void *arg) {
    pthread_t t;
    void *r;
    pthread_create(&t, NULL, f, arg);
    usleep(1000);
    CHECK(pthread_cancel(t) == 0);
    CHECK(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);
}

int main(void) {
    if (__foretell_thread_id)
        CHECK(__foretell_thread_id() != __foretell_thread_id());
    pthread_t t;
    void *r;
    int flag = 0, fds[2];
    pthread_key_create(&key, destroy);
    pthread_create(&t, NULL, exits, &flag);
    CHECK(pthread_join(t, &r) == 0 && r == (void *)7 && flag == 1 && destroyed == 1);

    cancel(waits_for_ever, NULL);
    CHECK(cleaned == 1);
    cancel(sleeps_for_ever, NULL);
    CHECK(pipe(fds) == 0);
    cancel(reads_for_ever, &fds[0]);

    pthread_mutex_lock(&m);
    pthread_create(&t, NULL, slow, NULL);
    CHECK(pthread_tryjoin_np(t, NULL) == EBUSY);
    pthread_mutex_unlock(&m);
    struct timespec at = in_ms(CLOCK_REALTIME, 60000);
    CHECK(pthread_timedjoin_np(t, NULL, &at) == 0 && ran == 1);
    pthread_create(&t, NULL, sleeps_for_ever, NULL);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    CHECK(pthread_detach(t) == 0);

    thrd_t u;
    int n = 5, got = 0;
    CHECK(thrd_create(&u, c11, &n) == thrd_success);
    CHECK(thrd_join(u, &got) == thrd_success && got == 5);
    CHECK(thrd_create(&u, c11_exit, NULL) == thrd_success);
    CHECK(thrd_join(u, &got) == thrd_success && got == 9);
    CHECK(thrd_create(&u, c11, &n) == thrd_success && thrd_detach(u) == thrd_success);

    for (int i = 0; i < 100; i++) {
        pthread_t many[10];
        for (int k = 0; k < 10; k++)
            CHECK(pthread_create(&many[k], NULL, adds, NULL) == 0);
        for (int k = 0; k < 10; k++)
            CHECK(pthread_join(many[k], NULL) == 0);
    }
    CHECK(thousand == 1000);
    printf("ok\n");
    return 0;
}
