/* Locks that a program makes itself. LOCK 1: ticket lock, 2: MCS, 3: CLH, 4: Peterson, 5:
 * Dekker, 6: test and set with fences, 7: futex mutex, 8: Lamport's bakery, 9: bit lock with
 * fetch_or, 10: __sync builtins, 11: futex mutex with a count of waiters, 12: array
 * lock, 13: turn taking, 14: a lock of two bytes, 15: spin then yield with relaxed loads. */
#include "boundary.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
static int count;
#ifdef BUG
#define LOCK_IT(me) (void)(me)
#define UNLOCK_IT(me) (void)(me)
#else
#define LOCK_IT(me) lock_it(me)
#define UNLOCK_IT(me) unlock_it(me)
#endif
#if LOCK == 1
static atomic_uint next_ticket, serving;
static void lock_it(int me) {
    (void)me;
    unsigned mine = atomic_fetch_add(&next_ticket, 1);
    while (atomic_load(&serving) != mine) sched_yield();
}
static void unlock_it(int me) { (void)me; atomic_fetch_add(&serving, 1); }
#elif LOCK == 2
struct node { _Atomic(struct node *) next; atomic_int locked; };
static _Atomic(struct node *) tail;
static struct node nodes[2];
static void lock_it(int me) {
    struct node *n = &nodes[me];
    atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&n->locked, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, n, memory_order_acq_rel);
    if (!before) return;
    atomic_store_explicit(&before->next, n, memory_order_release);
    while (atomic_load_explicit(&n->locked, memory_order_acquire)) sched_yield();
}
static void unlock_it(int me) {
    struct node *n = &nodes[me], *expected = n;
    if (!atomic_load_explicit(&n->next, memory_order_acquire)) {
        if (atomic_compare_exchange_strong(&tail, &expected, NULL)) return;
        while (!atomic_load_explicit(&n->next, memory_order_acquire)) sched_yield();
    }
    atomic_store_explicit(&atomic_load(&n->next)->locked, 0, memory_order_release);
}
#elif LOCK == 3
struct cell { atomic_int busy; };
static struct cell cells[3];
static _Atomic(struct cell *) tail = &cells[2];
static struct cell *own[2] = {&cells[0], &cells[1]}, *before[2];
static void lock_it(int me) {
    atomic_store(&own[me]->busy, 1);
    before[me] = atomic_exchange(&tail, own[me]);
    while (atomic_load(&before[me]->busy)) sched_yield();
}
static void unlock_it(int me) {
    atomic_store(&own[me]->busy, 0);
    own[me] = before[me];
}
#elif LOCK == 4
static atomic_int wants[2], turn;
static void lock_it(int me) {
    atomic_store(&wants[me], 1);
    atomic_store(&turn, 1 - me);
    while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me) sched_yield();
}
static void unlock_it(int me) { atomic_store(&wants[me], 0); }
#elif LOCK == 5
static atomic_int wants[2], turn;
static void lock_it(int me) {
    atomic_store(&wants[me], 1);
    while (atomic_load(&wants[1 - me])) {
        if (atomic_load(&turn) == me) continue;
        atomic_store(&wants[me], 0);
        while (atomic_load(&turn) != me) sched_yield();
        atomic_store(&wants[me], 1);
    }
}
static void unlock_it(int me) {
    atomic_store(&turn, 1 - me);
    atomic_store(&wants[me], 0);
}
#elif LOCK == 6
static atomic_flag busy = ATOMIC_FLAG_INIT;
static void lock_it(int me) {
    (void)me;
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_relaxed)) sched_yield();
    atomic_thread_fence(memory_order_acquire);
}
static void unlock_it(int me) {
    (void)me;
    atomic_thread_fence(memory_order_release);
    atomic_flag_clear_explicit(&busy, memory_order_relaxed);
}
#elif LOCK == 7
static atomic_int word;
static void lock_it(int me) {
    (void)me;
    int c = 0;
    if (atomic_compare_exchange_strong(&word, &c, 1)) return;
    if (c != 2) c = atomic_exchange(&word, 2);
    while (c != 0) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        c = atomic_exchange(&word, 2);
    }
}
static void unlock_it(int me) {
    (void)me;
    if (atomic_fetch_sub(&word, 1) != 1) {
        atomic_store(&word, 0);
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
#elif LOCK == 8
static atomic_int entering[2], number[2];
static void lock_it(int me) {
    atomic_store(&entering[me], 1);
    int other = atomic_load(&number[1 - me]), mine = other + 1;
    atomic_store(&number[me], mine);
    atomic_store(&entering[me], 0);
    while (atomic_load(&entering[1 - me])) sched_yield();
    for (;;) {
        int theirs = atomic_load(&number[1 - me]);
        if (theirs == 0 || mine < theirs || (mine == theirs && me == 0)) break;
        sched_yield();
    }
}
static void unlock_it(int me) { atomic_store(&number[me], 0); }
#elif LOCK == 9
static atomic_uint bits;
static void lock_it(int me) {
    (void)me;
    while (atomic_fetch_or(&bits, 4) & 4) sched_yield();
}
static void unlock_it(int me) { (void)me; atomic_fetch_and(&bits, ~4u); }
#elif LOCK == 10
static int word;
static void lock_it(int me) {
    (void)me;
    while (__sync_lock_test_and_set(&word, 1)) sched_yield();
}
static void unlock_it(int me) { (void)me; __sync_lock_release(&word); }
#elif LOCK == 11
static atomic_int word, waiters;
static void lock_it(int me) {
    (void)me;
    while (atomic_exchange(&word, 1)) {
        atomic_fetch_add(&waiters, 1);
        syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
        atomic_fetch_sub(&waiters, 1);
    }
}
static void unlock_it(int me) {
    (void)me;
    atomic_store(&word, 0);
    if (atomic_load(&waiters)) syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
#elif LOCK == 12
static atomic_int slots[2] = {1, 0};
static atomic_uint next_slot;
static unsigned mine[2];
static void lock_it(int me) {
    mine[me] = atomic_fetch_add(&next_slot, 1) % 2;
    while (!atomic_load(&slots[mine[me]])) sched_yield();
    atomic_store(&slots[mine[me]], 0);
}
static void unlock_it(int me) { atomic_store(&slots[(mine[me] + 1) % 2], 1); }
#elif LOCK == 13
static atomic_int turn;
static void lock_it(int me) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != me) sched_yield();
}
static void unlock_it(int me) { atomic_store_explicit(&turn, 1 - me, memory_order_release); }
#elif LOCK == 14
static _Alignas(2) unsigned char bytes[2];
static void lock_it(int me) {
    (void)me;
    unsigned short none = 0;
    while (!__atomic_compare_exchange_n((unsigned short *)bytes, &none, 0x0101, 0,
        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        {
        none = 0;
        sched_yield();
    }
}
static void unlock_it(int me) {
    (void)me;
    __atomic_store_n((unsigned short *)bytes, 0, __ATOMIC_RELEASE);
}
#elif LOCK == 15
static atomic_int word;
static void lock_it(int me) {
    (void)me;
    for (;;) {
        while (atomic_load_explicit(&word, memory_order_relaxed)) sched_yield();
        int none = 0;
        if (atomic_compare_exchange_weak_explicit(&word, &none, 1, memory_order_acquire,
            memory_order_relaxed))
            return;
    }
}
static void unlock_it(int me) { (void)me; atomic_store_explicit(&word, 0, memory_order_release); }
#endif
static void *work(void *number) {
    int me = (int)(long)number;
    for (int i = 0; i < 3; i++) {
        LOCK_IT(me);
        count++;
        UNLOCK_IT(me);
    }
    return NULL;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, (void *)0L);
    pthread_create(&b, NULL, work, (void *)1L);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", count);
}
