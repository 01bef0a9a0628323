/* Blocks handed over without locks. WAY 1: Treiber stack, 2: ring of one producer and one
 * consumer, 3: Lamport's queue, 4: release and consume, 5: seqlock, 6: double-checked locking,
 * 7: reference count with fence, 8: hazard pointer, 9: queue of Michael and Scott, 10: mailbox
 * by exchange, 11: generation counter, 12: fences on relaxed flags, 13: epochs, 14: wide
 * compare and exchange. */
#include "boundary.h"
#include <stdatomic.h>
struct block { struct block *next; _Atomic(struct block *) link; int value; };
static int seen;
#if WAY == 1
static _Atomic(struct block *) top;
static void pass(struct block *b) {
    b->next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &b->next, b)) { }
}
static struct block *take(void) {
    struct block *b = atomic_load(&top);
    while (!b || !atomic_compare_exchange_weak(&top, &b, b->next)) {
        if (!b) { sched_yield(); b = atomic_load(&top); }
    }
    return b;
}
#elif WAY == 2
static struct block *ring[4];
static atomic_uint head, tail;
static void pass(struct block *b) {
    unsigned h = atomic_load_explicit(&head, memory_order_relaxed);
    while (h - atomic_load_explicit(&tail, memory_order_acquire) == 4) sched_yield();
    ring[h % 4] = b;
    atomic_store_explicit(&head, h + 1, memory_order_release);
}
static struct block *take(void) {
    unsigned t = atomic_load_explicit(&tail, memory_order_relaxed);
    while (atomic_load_explicit(&head, memory_order_acquire) == t) sched_yield();
    struct block *b = ring[t % 4];
    atomic_store_explicit(&tail, t + 1, memory_order_release);
    return b;
}
#elif WAY == 3
static _Atomic(struct block *) slots[2];
static unsigned in, out;
static void pass(struct block *b) {
    while (atomic_load(&slots[in % 2])) sched_yield();
    atomic_store(&slots[in++ % 2], b);
}
static struct block *take(void) {
    struct block *b;
    while (!(b = atomic_load(&slots[out % 2]))) sched_yield();
    atomic_store(&slots[out++ % 2], NULL);
    return b;
}
#elif WAY == 4
static _Atomic(struct block *) published;
static void pass(struct block *b) {
    while (atomic_load_explicit(&published, memory_order_relaxed)) sched_yield();
    atomic_store_explicit(&published, b, memory_order_release);
}
static struct block *take(void) {
    struct block *b;
    while (!(b = atomic_load_explicit(&published, memory_order_consume))) sched_yield();
    atomic_store_explicit(&published, NULL, memory_order_release);
    return b;
}
#elif WAY == 9
static struct block dummy;
static _Atomic(struct block *) head = &dummy, tail = &dummy;
static void pass(struct block *b) {
    atomic_store(&b->link, NULL);
    for (;;) {
        struct block *t = atomic_load(&tail), *n = atomic_load(&t->link);
        if (n) { atomic_compare_exchange_strong(&tail, &t, n); continue; }
        if (atomic_compare_exchange_strong(&t->link, &n, b)) {
            atomic_compare_exchange_strong(&tail, &t, b);
            return;
        }
    }
}
static struct block *take(void) {
    for (;;) {
        struct block *h = atomic_load(&head), *n = atomic_load(&h->link);
        if (!n) { sched_yield(); continue; }
        if (atomic_compare_exchange_strong(&head, &h, n)) return n;
    }
}
#define KEEPS 1
#elif WAY == 10
static _Atomic(struct block *) box;
static void pass(struct block *b) {
    struct block *none = NULL;
    while (!atomic_compare_exchange_weak(&box, &none, b)) { none = NULL; sched_yield(); }
}
static struct block *take(void) {
    struct block *b;
    while (!(b = atomic_exchange(&box, NULL))) sched_yield();
    return b;
}
#elif WAY == 11
static struct block *slot;
static atomic_long generation;
static void pass(struct block *b) {
    while (atomic_load(&generation) % 2) sched_yield();
    slot = b;
    atomic_fetch_add(&generation, 1);
}
static struct block *take(void) {
    while (atomic_load(&generation) % 2 == 0) sched_yield();
    struct block *b = slot;
    atomic_fetch_add(&generation, 1);
    return b;
}
#elif WAY == 12
static struct block *slot;
static atomic_int full;
static void pass(struct block *b) {
    while (atomic_load_explicit(&full, memory_order_relaxed)) sched_yield();
    atomic_thread_fence(memory_order_acquire);
    slot = b;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&full, 1, memory_order_relaxed);
}
static struct block *take(void) {
    while (!atomic_load_explicit(&full, memory_order_relaxed)) sched_yield();
    atomic_thread_fence(memory_order_acquire);
    struct block *b = slot;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&full, 0, memory_order_relaxed);
    return b;
}
#elif WAY == 14
static _Atomic __int128 pair;
static void pass(struct block *b) {
    __int128 old = pair, new;
    do {
        while ((old = pair) >> 64) sched_yield();
        new = ((__int128)1 << 64) | (unsigned __int128)(unsigned long)b;
    } while (!atomic_compare_exchange_strong(&pair, &old, new));
}
static struct block *take(void) {
    __int128 old;
    do {
        while (!((old = pair) >> 64)) sched_yield();
    } while (!atomic_compare_exchange_strong(&pair, &old, 0));
    return (struct block *)(unsigned long)old;
}
#endif
#if WAY == 5
static atomic_uint version;
static atomic_int left, right;
static void *writer(void *unused) {
    for (int i = 1; i <= 3; i++) {
        atomic_fetch_add(&version, 1);
        atomic_store_explicit(&left, i, memory_order_relaxed);
        atomic_store_explicit(&right, i, memory_order_relaxed);
        FORGOTTEN(atomic_fetch_add(&version, 1));
    }
    return unused;
}
static int plain;
static void *reader(void *unused) {
    for (int done = 0; done < 3;) {
        unsigned v = atomic_load(&version);
        int a = atomic_load_explicit(&left, memory_order_relaxed),
            b = atomic_load_explicit(&right, memory_order_relaxed);
        if (v % 2 == 0 && atomic_load(&version) == v) {
            if (a != b) abort();
            done = a;
        } else sched_yield();
#ifdef BUG
        done = 3;
#endif
    }
    seen = 6 + plain;
    return unused;
}
int main(void) { run_both(writer, reader); printf("%d\n", seen); }
#elif WAY == 6
static _Atomic(struct block *) only;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum[2];
static struct block *get(void) {
    struct block *b = atomic_load_explicit(&only, memory_order_acquire);
    if (b) return b;
    pthread_mutex_lock(&lock);
    if (!(b = atomic_load_explicit(&only, memory_order_relaxed))) {
        b = malloc(sizeof *b);
        HAND_OVER(b->value = 3, atomic_store_explicit(&only, b, memory_order_release));
    }
    pthread_mutex_unlock(&lock);
    return b;
}
static void *one(void *u) { sum[0] = get()->value; return u; }
static void *two(void *u) { sum[1] = get()->value; return u; }
int main(void) { run_both(one, two); printf("%d\n", sum[0] + sum[1]); free(only); }
#elif WAY == 7
struct counted { atomic_int references; int values[2]; };
static struct counted *object;
static void drop(int i) {
    object->values[i] = i;
#ifdef BUG
    if (atomic_load(&object->references) == 2) { atomic_fetch_sub(&object->references, 1); return; }
    free(object);
#else
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_release) == 1) {
        atomic_thread_fence(memory_order_acquire);
        seen = object->values[0] + object->values[1];
        free(object);
    }
#endif
}
static void *one(void *u) { drop(0); return u; }
static void *two(void *u) { drop(1); return u; }
int main(void) {
    object = calloc(1, sizeof *object);
    atomic_init(&object->references, 2);
    run_both(one, two);
    printf("%d\n", seen);
}
#elif WAY == 8
static _Atomic(struct block *) shared, hazard;
static void *reader(void *unused) {
    struct block *b;
    do {
        b = atomic_load(&shared);
        FORGOTTEN(atomic_store(&hazard, b));
    } while (b != atomic_load(&shared));
    seen = b->value > 0;
    atomic_store(&hazard, NULL);
    return unused;
}
static void *writer(void *unused) {
    struct block *fresh = calloc(1, sizeof *fresh);
    fresh->value = 2;
    struct block *old = atomic_exchange(&shared, fresh);
    while (atomic_load(&hazard) == old) sched_yield();
    free(old);
    return unused;
}
int main(void) {
    struct block *first = calloc(1, sizeof *first);
    first->value = 1;
    atomic_init(&shared, first);
    run_both(reader, writer);
    printf("%d\n", seen);
    free(atomic_load(&shared));
}
#elif WAY == 13
static _Atomic(struct block *) shared;
static atomic_int epoch = 1, active;
static void *reader(void *unused) {
    FORGOTTEN(atomic_store(&active, atomic_load(&epoch)));
    seen = atomic_load(&shared)->value > 0;
    atomic_store(&active, 0);
    return unused;
}
static void *writer(void *unused) {
    struct block *fresh = calloc(1, sizeof *fresh);
    fresh->value = 2;
    struct block *old = atomic_exchange(&shared, fresh);
    int now = atomic_fetch_add(&epoch, 1);
    for (int a; (a = atomic_load(&active)) && a <= now;) sched_yield();
    free(old);
    return unused;
}
int main(void) {
    struct block *first = calloc(1, sizeof *first);
    first->value = 1;
    atomic_init(&shared, first);
    run_both(reader, writer);
    printf("%d\n", seen);
    free(atomic_load(&shared));
}
#else
static void *producer(void *unused) {
    for (int i = 1; i <= 3; i++) {
        struct block *b = calloc(1, sizeof *b);
        HAND_OVER(b->value = i, pass(b));
    }
    return unused;
}
static void *consumer(void *unused) {
    for (int i = 1; i <= 3; i++) {
        struct block *b = take();
        seen += b->value;
#ifndef KEEPS
        free(b);
#endif
    }
    return unused;
}
int main(void) { run_both(producer, consumer); printf("%d\n", seen); }
#endif
