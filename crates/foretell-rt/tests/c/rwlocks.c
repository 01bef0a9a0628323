/* Every operation on reader-writer locks. */
#include "check.h"

/* The locks of Rust's standard library, which only the runtime has. */
int __foretell_rwlock_read(pthread_rwlock_t *) __attribute__((weak));
int __foretell_rwlock_write(pthread_rwlock_t *) __attribute__((weak));
int __foretell_rwlock_downgrade(pthread_rwlock_t *) __attribute__((weak));

pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER, made;
int value, readers;

static void *while_written(void *arg) {
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    CHECK(pthread_rwlock_tryrdlock(&l) == EBUSY);
    CHECK(pthread_rwlock_trywrlock(&l) == EBUSY);
    CHECK(pthread_rwlock_timedrdlock(&l, &at) == ETIMEDOUT);
    CHECK(pthread_rwlock_timedwrlock(&l, &at) == ETIMEDOUT);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    CHECK(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &at) == ETIMEDOUT);
    return arg;
}

static void *while_read(void *arg) {
    CHECK(pthread_rwlock_tryrdlock(&l) == 0);
    CHECK(pthread_rwlock_unlock(&l) == 0);
    CHECK(pthread_rwlock_trywrlock(&l) == EBUSY);
    return arg;
}

static void *work(void *arg) {
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 0) {
            CHECK(pthread_rwlock_wrlock(&l) == 0);
            value++;
            value++;
        } else {
            CHECK(pthread_rwlock_rdlock(&l) == 0);
            CHECK(value % 2 == 0);
        }
        CHECK(pthread_rwlock_unlock(&l) == 0);
    }
    return arg;
}

static void alone(void *(*f)(void *)) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    pthread_join(t, NULL);
}

int main(void) {
    CHECK(pthread_rwlock_init(&made, NULL) == 0);
    CHECK(pthread_rwlock_wrlock(&l) == 0);
    CHECK(pthread_rwlock_rdlock(&l) == EDEADLK);
    alone(while_written);
    CHECK(pthread_rwlock_unlock(&l) == 0);
    CHECK(pthread_rwlock_rdlock(&l) == 0);
    alone(while_read);
    CHECK(pthread_rwlock_unlock(&l) == 0);
    struct timespec at = in_ms(CLOCK_REALTIME, 1000), mono = in_ms(CLOCK_MONOTONIC, 1000);
    CHECK(pthread_rwlock_timedrdlock(&made, &at) == 0);
    CHECK(pthread_rwlock_clockrdlock(&made, CLOCK_MONOTONIC, &mono) == 0);
    CHECK(pthread_rwlock_unlock(&made) == 0);
    CHECK(pthread_rwlock_unlock(&made) == 0);
    CHECK(pthread_rwlock_timedwrlock(&made, &at) == 0);
    CHECK(pthread_rwlock_unlock(&made) == 0);
    CHECK(pthread_rwlock_clockwrlock(&made, CLOCK_MONOTONIC, &mono) == 0);
    CHECK(pthread_rwlock_unlock(&made) == 0);
    CHECK(pthread_rwlock_trywrlock(&made) == 0);
    CHECK(pthread_rwlock_unlock(&made) == 0);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    CHECK(value == 40);
    if (__foretell_rwlock_write) {
        CHECK(__foretell_rwlock_write(&l) == 0);
        alone(while_written);
        CHECK(__foretell_rwlock_downgrade(&l) == 0);
        alone(while_read);
        CHECK(__foretell_rwlock_read(&l) == 0);
        CHECK(pthread_rwlock_unlock(&l) == 0);
        CHECK(pthread_rwlock_unlock(&l) == 0);
        CHECK(pthread_rwlock_trywrlock(&l) == 0);
        CHECK(pthread_rwlock_unlock(&l) == 0);
    }
    CHECK(pthread_rwlock_destroy(&made) == 0);
    printf("ok\n");
    return 0;
}
