/* A flag that is set and polled in inline assembly; BUSY: the poll does not yield. */
#include "boundary.h"
static int flag, data, seen;
static void set(void) { __asm__ volatile("movl $1, %0" : "=m"(flag) : : "memory"); }
static int get(void) {
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(flag) : "memory");
    return value;
}
static void *producer(void *unused) {
    HAND_OVER(data = 42, set());
    return unused;
}
static void *consumer(void *unused) {
#ifdef BUSY
    while (!get()) __asm__ volatile("pause");
#else
    while (!get()) sched_yield();
#endif
    seen = data;
    return unused;
}
int main(void) {
    pthread_t a, b;
    MUST(pthread_create(&b, NULL, consumer, NULL) == 0);
    MUST(pthread_create(&a, NULL, producer, NULL) == 0);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", seen);
}
