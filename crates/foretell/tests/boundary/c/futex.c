/* Raw futexes by syscall(): the word is an atomic (ASM 0) or set in inline assembly (ASM 1). */
#include "boundary.h"
#include <linux/futex.h>
#include <sys/syscall.h>
static int word, data, seen;
static void set(void) {
#if ASM
    __asm__ volatile("movl $1, %0" : "=m"(word) : : "memory");
#else
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
#endif
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
static int get(void) {
#if ASM
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(word) : "memory");
    return value;
#else
    return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
#endif
}
static void *producer(void *unused) {
    HAND_OVER(data = 42, set());
    return unused;
}
static void *consumer(void *unused) {
    while (!get()) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    seen = data;
    return unused;
}
int main(void) {
    run_both(producer, consumer);
    printf("%d\n", seen);
}
