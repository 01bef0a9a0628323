/* The threads of C11. */
#include "boundary.h"
#include <threads.h>
static mtx_t lock;
static cnd_t condition;
static int ready, data, seen;
static int producer(void *unused) {
    (void)unused;
    HAND_OVER(data = 42, {
        mtx_lock(&lock);
        ready = 1;
        cnd_signal(&condition);
        mtx_unlock(&lock);
    });
    return 0;
}
static int consumer(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    while (!ready) cnd_wait(&condition, &lock);
    mtx_unlock(&lock);
    seen = data;
    return 0;
}
int main(void) {
    thrd_t a, b;
    mtx_init(&lock, mtx_plain);
    cnd_init(&condition);
    thrd_create(&a, producer, NULL);
    thrd_create(&b, consumer, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    printf("%d\n", seen);
}
