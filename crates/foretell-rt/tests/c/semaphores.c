/* Every operation on semaphores and barriers. */
#include "check.h"
#include <semaphore.h>

sem_t empty, full;
int slot, sum, before[3], serial;
pthread_barrier_t barrier;

static void *produce(void *arg) {
    for (int i = 1; i <= 10; i++) {
        CHECK(sem_wait(&empty) == 0);
        slot = i;
        CHECK(sem_post(&full) == 0);
    }
    return arg;
}

static void *meet(void *arg) {
    int id = *(int *)arg;
    for (int round = 0; round < 4; round++) {
        before[id] = round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i < 3; i++)
            CHECK(before[i] == round);
        pthread_barrier_wait(&barrier);
    }
    return arg;
}

int main(void) {
    CHECK(sem_init(&empty, 0, 1) == 0 && sem_init(&full, 0, 0) == 0);
    CHECK(sem_trywait(&full) == -1 && errno == EAGAIN);
    struct timespec at = in_ms(CLOCK_REALTIME, 5);
    CHECK(sem_timedwait(&full, &at) == -1 && errno == ETIMEDOUT);
    at = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(sem_clockwait(&full, CLOCK_MONOTONIC, &at) == -1 && errno == ETIMEDOUT);
    pthread_t p, t[3];
    pthread_create(&p, NULL, produce, NULL);
    for (int i = 1; i <= 10; i++) {
        at = in_ms(CLOCK_REALTIME, 60000);
        CHECK((i % 2 ? sem_wait(&full) : sem_timedwait(&full, &at)) == 0);
        CHECK(slot == i);
        sum += slot;
        sem_post(&empty);
    }
    pthread_join(p, NULL);
    CHECK(sum == 55 && sem_trywait(&empty) == 0);
    CHECK(sem_destroy(&empty) == 0 && sem_destroy(&full) == 0);

    int id[3] = {0, 1, 2};
    CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, meet, &id[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    CHECK(serial == 4);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
    printf("ok\n");
    return 0;
}
