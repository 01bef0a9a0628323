/* A spin lock in inline assembly; BUSY: it spins without a call that yields. */
#include "boundary.h"
static int word, count;
static void lock(void) {
    for (;;) {
        int taken = 1;
        __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
        if (!taken) return;
#ifdef BUSY
        __asm__ volatile("pause");
#else
        sched_yield();
#endif
    }
}
static void unlock(void) { __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory"); }
static void *first(void *unused) {
    for (int i = 0; i < 700; i++) {
        lock();
        count++;
        unlock();
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 700; i++) {
        FORGOTTEN(lock());
        count++;
        FORGOTTEN(unlock());
    }
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%d\n", count);
}
