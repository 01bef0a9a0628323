/* Objects of the random programs, built without recording: futexes and spinning. */
#define _GNU_SOURCE
#include "objects.h"
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#define OBJECTS 8
#define ROOM 64

static void sleep_on(int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}
static void wake(int *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0); }
static void take(int *word) {
    while (__atomic_exchange_n(word, 1, __ATOMIC_SEQ_CST)) sleep_on(word, 1);
}
static void give(int *word) {
    __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
    wake(word);
}

static int locks[OBJECTS];
void lock(int number) { take(&locks[number]); }
void unlock(int number) { give(&locks[number]); }

static struct { int word, count, first; int *blocks[ROOM]; } queues[OBJECTS], stacks[OBJECTS];
void put(int number, int *block) {
    take(&queues[number].word);
    queues[number].blocks[queues[number].first + queues[number].count] = block;
    __atomic_fetch_add(&queues[number].count, 1, __ATOMIC_SEQ_CST);
    give(&queues[number].word);
    wake(&queues[number].count);
}
int *get(int number) {
    for (;;) {
        int *block = NULL;
        take(&queues[number].word);
        if (queues[number].count > 0) {
            block = queues[number].blocks[queues[number].first++];
            __atomic_fetch_sub(&queues[number].count, 1, __ATOMIC_SEQ_CST);
        }
        give(&queues[number].word);
        if (block) return block;
        sleep_on(&queues[number].count, 0);
    }
}
void push(int number, int *block) {
    take(&stacks[number].word);
    stacks[number].blocks[stacks[number].count++] = block;
    give(&stacks[number].word);
}
int *pop(int number) {
    int *block = NULL;
    take(&stacks[number].word);
    if (stacks[number].count > 0) block = stacks[number].blocks[--stacks[number].count];
    give(&stacks[number].word);
    return block;
}

static int flags[OBJECTS], counts[OBJECTS], counters[OBJECTS];
void set(int number) {
    __atomic_store_n(&flags[number], 1, __ATOMIC_SEQ_CST);
    wake(&flags[number]);
}
void await(int number) {
    while (!__atomic_load_n(&flags[number], __ATOMIC_SEQ_CST)) sleep_on(&flags[number], 0);
}
int is_set(int number) { return __atomic_load_n(&flags[number], __ATOMIC_SEQ_CST); }
void up(int number) {
    __atomic_fetch_add(&counts[number], 1, __ATOMIC_SEQ_CST);
    wake(&counts[number]);
}
void down(int number) {
    for (;;) {
        int count = __atomic_load_n(&counts[number], __ATOMIC_SEQ_CST);
        if (count == 0) {
            sleep_on(&counts[number], 0);
        } else if (__atomic_compare_exchange_n(&counts[number], &count, count - 1, 0,
                                               __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return;
        }
    }
}
void add(int number) { __atomic_fetch_add(&counters[number], 1, __ATOMIC_SEQ_CST); }
void reached(int number, int value) {
    while (__atomic_load_n(&counters[number], __ATOMIC_SEQ_CST) < value) __builtin_ia32_pause();
}
