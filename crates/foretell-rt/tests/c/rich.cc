// Code that makes compilers emit as many kinds of hooks as they know: every size, aligned and not,
// atomic and volatile, virtual calls, copies, exceptions. It checks its own results.
#include "check.h"
#include <atomic>
#include <initializer_list>
#include <memory>
#include <new>

typedef unsigned __int128 u128;

struct Packed { char c; short s; int i; long l; u128 w; } __attribute__((packed));
struct Large { long words[20]; };
struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Derived : Base { int f() override { return 2; } };

static char b1; static short b2; static int b4; static long b8; static u128 b16;
static volatile char v1; static volatile short v2; static volatile int v4; static volatile long v8;
static volatile u128 v16;
static Packed packed, other;
static volatile Packed restless;
static Large large, copy;
static double real;
static long double longer;
static __attribute__((vector_size(16))) int vector;

template <typename T> static void atomics(std::atomic<T> &x) {
    for (auto order : {std::memory_order_relaxed, std::memory_order_seq_cst}) {
        x.store(5, order);
        T e = 7;
        CHECK(x.load(order) == 5 && x.exchange(6, order) == 5);
        CHECK(!x.compare_exchange_strong(e, 9, order) && e == 6);
        while (!x.compare_exchange_weak(e, 12, order)) {}
        CHECK(x.fetch_add(3, order) == 12 && x.fetch_sub(1, order) == 15);
        CHECK(x.fetch_and(7, order) == 14 && x.fetch_or(8, order) == 6);
        CHECK(x.fetch_xor(3, order) == 14 && x == 13);
    }
}

template <typename T> static void nand(T *x) {
    *x = 6;
    CHECK(__atomic_fetch_nand(x, 3, __ATOMIC_SEQ_CST) == 6 && *x == (T)~(T)2);
}

/* gcc calls a library for these. */
static void atomics_of_16_bytes() {
#ifdef __clang__
    static u128 x __attribute__((aligned(16)));
    u128 big = (u128)5 << 100, e = 1;
    __atomic_store_n(&x, big, __ATOMIC_SEQ_CST);
    CHECK(__atomic_fetch_add(&x, big, __ATOMIC_SEQ_CST) == big);
    CHECK(__atomic_exchange_n(&x, 7, __ATOMIC_SEQ_CST) == big + big);
    CHECK(!__atomic_compare_exchange_n(&x, &e, 8, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) && e == 7);
    CHECK(__atomic_load_n(&x, __ATOMIC_SEQ_CST) == 7);
#endif
}

static std::atomic<unsigned char> a1; static std::atomic<unsigned short> a2;
static std::atomic<unsigned> a4; static std::atomic<unsigned long> a8;
static unsigned char n1; static unsigned short n2; static unsigned n4; static unsigned long n8;

static void plain() {
    b1++, b2++, b4++, b8++, b16++, real += 1, longer += 1;
    packed.c++, packed.s++, packed.i++, packed.l++, packed.w++;
    other = packed;
    CHECK(other.c + other.s + other.i + other.l + (int)other.w == 5);
    CHECK(b1 + b2 + b4 + b8 + (int)b16 == 5 && real == 1 && longer == 1);
    large.words[7] = 7;
    copy = large;
    vector += 1;
    CHECK(copy.words[7] == 7 && vector[3] == 1);
    memset(&large, 0, sizeof large);
    memmove(&copy.words[1], &copy.words[0], 15 * sizeof(long));
    memcpy(&large, &copy, sizeof large);
    CHECK(large.words[8] == 7);
}

static void restlessly() {
    v1 = v1 + 1, v2 = v2 + 1, v4 = v4 + 1, v8 = v8 + 1, v16 = v16 + 1;
    restless.s = restless.s + 1, restless.i = restless.i + 1, restless.l = restless.l + 1;
    restless.w = restless.w + 1;
    CHECK(v1 + v2 + v4 + v8 + (int)v16 == 5 && restless.s + restless.i + restless.l == 3);
}

static int thrower(Base *b) { if (b->f() == 2) throw b->f(); return 0; }

static void objects() {
    std::unique_ptr<Base> b(new Derived);
    int caught = 0;
    try { thrower(b.get()); } catch (int x) { caught = x; }
    CHECK(caught == 2);
    static int once = b->f();
    CHECK(once == 2);
}

static void *work(void *arg) {
    for (int i = 0; i < 100; i++) {
        a4.fetch_add(1);
        std::atomic_thread_fence(std::memory_order_acq_rel);
        std::atomic_signal_fence(std::memory_order_acq_rel);
    }
    return arg;
}

int main() {
    atomics(a1), atomics(a2), atomics(a4), atomics(a8);
    nand(&n1), nand(&n2), nand(&n4), nand(&n8);
    atomics_of_16_bytes();
    plain();
    restlessly();
    objects();
    a4 = 0;
    pthread_t t[2];
    for (auto &x : t) pthread_create(&x, NULL, work, NULL);
    for (auto &x : t) pthread_join(x, NULL);
    CHECK(a4 == 200);
    printf("ok\n");
    return 0;
}
