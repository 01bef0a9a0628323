/* Every hook of the compilers, called by hand: those that no compiler at hand emits are called too.
 * The test compares the records between the two marks with what is done here, in order. */
#include "check.h"

#define PLAIN __attribute__((no_sanitize_thread))
typedef unsigned __int128 u128;

void foretell_atomic_begin(const char *);
void foretell_atomic_end(void);

struct { long pad; unsigned char bytes[32]; } __attribute__((aligned(16))) odd;
u128 even, other;

/* Reads and writes of every size; `at` is where the next one goes. */
#define HOOK(name, at) void name(void *); name(at)
#define PC_HOOK(name, at) void name(void *, void *); name(at, (void *)0x1234)
#define SIZES(X, suffix, at) \
    X(__tsan_read1##suffix, at); X(__tsan_read2##suffix, at); X(__tsan_read4##suffix, at); \
    X(__tsan_read8##suffix, at); X(__tsan_read16##suffix, at); \
    X(__tsan_write1##suffix, at); X(__tsan_write2##suffix, at); X(__tsan_write4##suffix, at); \
    X(__tsan_write8##suffix, at); X(__tsan_write16##suffix, at)
#define UNALIGNED(what, at) \
    HOOK(__tsan_unaligned_##what##2, at); HOOK(__tsan_unaligned_##what##4, at); \
    HOOK(__tsan_unaligned_##what##8, at); HOOK(__tsan_unaligned_##what##16, at)
#define ALL(what, at) \
    HOOK(__tsan_##what##1, at); HOOK(__tsan_##what##2, at); HOOK(__tsan_##what##4, at); \
    HOOK(__tsan_##what##8, at); HOOK(__tsan_##what##16, at)

PLAIN static void accesses(void) {
    char *unaligned = (char *)odd.bytes + 1;
    SIZES(HOOK, , &even);
    SIZES(PC_HOOK, _pc, &even);
    UNALIGNED(read, unaligned);
    UNALIGNED(write, unaligned);
    ALL(read_write, &even);
    UNALIGNED(read_write, unaligned);
    ALL(volatile_read, &even);
    ALL(volatile_write, &even);
    UNALIGNED(volatile_read, unaligned);
    UNALIGNED(volatile_write, unaligned);
    HOOK(__tsan_vptr_read, &even);
    void __tsan_vptr_update(void **, void *);
    __tsan_vptr_update((void **)&even, NULL);
    void __tsan_read_range(void *, long), __tsan_write_range(void *, long);
    __tsan_read_range(&odd, 24);
    __tsan_write_range(&odd, 24);
    void __tsan_read_range_pc(void *, long, void *), __tsan_write_range_pc(void *, long, void *);
    __tsan_read_range_pc(&odd, 24, (void *)0x1234);
    __tsan_write_range_pc(&odd, 24, (void *)0x1234);
    void *__tsan_memcpy(void *, const void *, unsigned long);
    void *__tsan_memmove(void *, const void *, unsigned long);
    void *__tsan_memset(void *, int, unsigned long);
    CHECK(__tsan_memset(&even, 7, 16) == &even);
    CHECK(__tsan_memcpy(&other, &even, 16) == &other && other == even && (char)other == 7);
    CHECK(__tsan_memmove(odd.bytes + 1, odd.bytes, 8) == odd.bytes + 1);
}

/* All operations on one width, against what plain C says. */
#define ATOMICS(bits, T) \
    T __tsan_atomic##bits##_load(T *, int); \
    void __tsan_atomic##bits##_store(T *, T, int); \
    T __tsan_atomic##bits##_exchange(T *, T, int), __tsan_atomic##bits##_fetch_add(T *, T, int), \
      __tsan_atomic##bits##_fetch_sub(T *, T, int), __tsan_atomic##bits##_fetch_and(T *, T, int), \
      __tsan_atomic##bits##_fetch_or(T *, T, int), __tsan_atomic##bits##_fetch_xor(T *, T, int), \
      __tsan_atomic##bits##_fetch_nand(T *, T, int); \
    int __tsan_atomic##bits##_compare_exchange_strong(T *, T *, T, int, int), \
        __tsan_atomic##bits##_compare_exchange_weak(T *, T *, T, int, int); \
    T __tsan_atomic##bits##_compare_exchange_val(T *, T, T, int, int); \
    PLAIN static void atomics##bits(void) { \
        static T x __attribute__((aligned(16))); \
        T big = (T)-3, e = 5; /* uses all bits */ \
        __tsan_atomic##bits##_store(&x, big, 5); \
        CHECK(__tsan_atomic##bits##_load(&x, 5) == big); \
        CHECK(__tsan_atomic##bits##_exchange(&x, 5, 5) == big && x == 5); \
        CHECK(__tsan_atomic##bits##_fetch_add(&x, big, 5) == 5 && x == 2); \
        CHECK(__tsan_atomic##bits##_fetch_sub(&x, 4, 5) == 2 && x == (T)-2); \
        CHECK(__tsan_atomic##bits##_fetch_and(&x, 15, 5) == (T)-2 && x == 14); \
        CHECK(__tsan_atomic##bits##_fetch_or(&x, 1, 5) == 14 && x == 15); \
        CHECK(__tsan_atomic##bits##_fetch_xor(&x, 10, 5) == 15 && x == 5); \
        CHECK(__tsan_atomic##bits##_fetch_nand(&x, 4, 5) == 5 && x == (T)~(T)4); \
        x = 6; \
        CHECK(__tsan_atomic##bits##_compare_exchange_strong(&x, &e, 9, 5, 5) == 0 && e == 6); \
        CHECK(__tsan_atomic##bits##_compare_exchange_strong(&x, &e, big, 5, 5) == 1 && x == big); \
        CHECK(__tsan_atomic##bits##_compare_exchange_weak(&x, &e, 9, 5, 5) == 0 && e == big); \
        CHECK(__tsan_atomic##bits##_compare_exchange_val(&x, 1, 2, 5, 5) == big && x == big); \
        CHECK(__tsan_atomic##bits##_compare_exchange_val(&x, big, 2, 5, 5) == big && x == 2); \
    }
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned)
ATOMICS(64, unsigned long)
ATOMICS(128, u128)

/* The path of a program that is built for symbolic recording: three words each. */
#define NOTE(name, n) void name(long, long, long); name(n, 10 + n, -n)

PLAIN static void path(void) {
    NOTE(__foretell_enter, 0);
    NOTE(__foretell_argument, 1);
    NOTE(__foretell_block, 2);
    NOTE(__foretell_load, 3);
    NOTE(__foretell_value, 4);
    NOTE(__foretell_store, 5);
    NOTE(__foretell_call, 6);
    NOTE(__foretell_after, 7);
    NOTE(__foretell_leave, 8);
}

/* A stub as the linker's wrapper makes it, for a function that is not recorded. */
PLAIN double hidden(int n, void *at, double x) { return n + (at != 0) + x; }

struct descriptor {
    void *function;
    const char *name, *library;
    void *streams;
    unsigned class, numbers[3];
} descriptor = {hidden, "hidden", "hooks.o", 0, 1, {0, 0, 0}};

double stub(int n, void *at, double x);
__asm__(".text\nstub:\n"
        "leaq descriptor(%rip), %r11\n"
        "jmp *__foretell_hidden_call@GOTPCREL(%rip)\n");

PLAIN static void hidden_calls(void) {
    for (int i = 0; i < 3; i++) CHECK(stub(i, &even, 0.5) == i + 1.5);
}

/* Stubs of lock functions: the first acquires by way of the second, which is given the lock. */
static int lock_word;
PLAIN static void take_lock(int *lock) { *lock = 7; }
PLAIN static int try_lock(int *lock) { return *lock ? 0 : (*lock = 1); }
PLAIN static long release_lock(int *lock) { *lock = 0; return 5; }

struct lock_descriptor {
    struct descriptor function;
    void *others[2];
} lock_descriptor = {{take_lock, "take_lock", "hooks.o", 0, 1, {0, 0, 0}}, {try_lock, release_lock}},
  unlock_descriptor = {{release_lock, "release_lock", "hooks.o", 0, 4, {0, 0, 0}},
                       {try_lock, release_lock}};

long lock_stub(int *lock);
long unlock_stub(int *lock);
__asm__(".text\nlock_stub:\n"
        "leaq lock_descriptor(%rip), %r11\n"
        "jmp *__foretell_lock_call@GOTPCREL(%rip)\n"
        "unlock_stub:\n"
        "leaq unlock_descriptor(%rip), %r11\n"
        "jmp *__foretell_lock_call@GOTPCREL(%rip)\n");

PLAIN static void lock_calls(void) {
    lock_stub(&lock_word);
    CHECK(lock_word == 1 || lock_word == 7);
    CHECK(unlock_stub(&lock_word) == 5 && lock_word == 0);
}

/* Locks of Rust crates: the function performs the operation, and gives the lock back if it waits. */
_Bool __foretell_lock_operation(long number, void *lock, _Bool (*perform)(void *, _Bool), void *data);
_Bool __foretell_condition_wait(void *condition, void *lock, _Bool (*perform)(void *, _Bool),
                                void *data, unsigned long nanoseconds);
long __foretell_condition_notify(void *condition, _Bool all);
static long rust_lock;
PLAIN static _Bool take_word(void *word, _Bool gives_back) {
    if (gives_back) return *(long *)word = 0, 1;
    return *(long *)word ? 0 : (*(long *)word = 1);
}
PLAIN static _Bool clear_word(void *word, _Bool waits) { return *(long *)word = 0, !waits; }

PLAIN static void rust_locks(void) {
    static int condition;
    /* Each side of a lock, as an acquisition and a try, and its release. */
    for (long number = 0; number < 9; number += 3)
        for (int tries = 0; tries < 2; tries++) {
            CHECK(__foretell_lock_operation(number + tries, &rust_lock, take_word, &rust_lock));
            CHECK(rust_lock == 1);
            CHECK(!__foretell_lock_operation(10, &rust_lock, take_word, &rust_lock) || number == 3);
            CHECK(__foretell_lock_operation(number + 2, &rust_lock, clear_word, &rust_lock));
            CHECK(rust_lock == 0);
        }
    CHECK(__foretell_lock_operation(15, &rust_lock, take_word, &rust_lock));
    CHECK(!__foretell_condition_wait(&condition, &rust_lock, take_word, &rust_lock, 1000));
    CHECK(rust_lock == 1 && __foretell_condition_notify(&condition, 1) == 0);
    CHECK(__foretell_lock_operation(2, &rust_lock, clear_word, &rust_lock));
}

PLAIN int main(void) {
    foretell_atomic_begin("accesses");
    accesses();
    foretell_atomic_end();
    foretell_atomic_begin("atomics");
    atomics8();
    atomics16();
    atomics32();
    atomics64();
    atomics128();
    foretell_atomic_end();
    path();
    hidden_calls();
    lock_calls();
    rust_locks();
    printf("ok\n");
    return 0;
}
