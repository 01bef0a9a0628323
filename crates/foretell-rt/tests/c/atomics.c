/* Accesses of every size, atomic operations of every kind and size, volatile, markers. */
#include "check.h"
#include <stdatomic.h>

void foretell_atomic_begin(const char *) __attribute__((weak));
void foretell_atomic_end(void) __attribute__((weak));

_Atomic unsigned char u8;
_Atomic unsigned short u16;
_Atomic unsigned int u32;
_Atomic unsigned long u64;
unsigned __int128 u128 __attribute__((aligned(16)));
struct packed { char c; short s; int i; long l; __int128 w; } __attribute__((packed)) packed;
volatile char v8; volatile short v16; volatile int v32; volatile long v64;

#define ALL(x, T) do { T e = 5; \
    atomic_store(&x, 5); CHECK(atomic_load(&x) == 5); CHECK(atomic_exchange(&x, 6) == 5); \
    CHECK(!atomic_compare_exchange_strong(&x, &e, 9) && e == 6); \
    CHECK(atomic_compare_exchange_strong(&x, &e, 9)); \
    e = 9; while (!atomic_compare_exchange_weak(&x, &e, 12)) {} \
    CHECK(atomic_fetch_add(&x, 3) == 12); CHECK(atomic_fetch_sub(&x, 1) == 15); \
    CHECK(atomic_fetch_and(&x, 7) == 14); CHECK(atomic_fetch_or(&x, 8) == 6); \
    CHECK(atomic_fetch_xor(&x, 3) == 14); CHECK(atomic_load(&x) == 13); } while (0)

static void *work(void *arg) {
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(&u32, 1);
        __atomic_fetch_nand((unsigned *)&u64, 0, __ATOMIC_RELAXED);
    }
    return arg;
}

int main(void) {
    ALL(u8, unsigned char);
    ALL(u16, unsigned short);
    ALL(u32, unsigned);
    ALL(u64, unsigned long);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_signal_fence(memory_order_seq_cst);
    packed.c = 1, packed.s = 2, packed.i = 3, packed.l = 4, packed.w = 5;
    CHECK(packed.c + packed.s + packed.i + packed.l + (int)packed.w == 15);
    v8 = 1, v16 = 2, v32 = 3, v64 = 4;
    CHECK(v8 + v16 + v32 + v64 == 10);
    u128 = ((unsigned __int128)7 << 64) | 9;
    CHECK((unsigned long)(u128 >> 64) == 7);
    if (foretell_atomic_begin)
        foretell_atomic_begin("count");
    atomic_store(&u32, 0);
    if (foretell_atomic_end)
        foretell_atomic_end();
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    CHECK(atomic_load(&u32) == 200);
    printf("ok\n");
    return 0;
}
