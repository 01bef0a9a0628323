/* Objects whose code is not recorded. */
#define _GNU_SOURCE
#include "hidden.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_while(int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}
static void wake(int *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0); }

void hidden_lock(struct hidden_lock *lock) {
    while (__atomic_exchange_n(&lock->word, 1, __ATOMIC_ACQUIRE)) wait_while(&lock->word, 1);
}
void hidden_unlock(struct hidden_lock *lock) {
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
    wake(&lock->word);
}

static int spin;
void hidden_spin_lock(void) {
    while (__atomic_exchange_n(&spin, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
void hidden_spin_unlock(void) { __atomic_store_n(&spin, 0, __ATOMIC_RELEASE); }

struct node { struct node *next; void *item; };
struct hidden_queue { struct hidden_lock lock; int items; struct node *first, **end; };
struct hidden_queue *hidden_queue_new(void) {
    struct hidden_queue *queue = calloc(1, sizeof *queue);
    queue->end = &queue->first;
    return queue;
}
void hidden_put(struct hidden_queue *queue, void *item) {
    struct node *node = malloc(sizeof *node);
    node->next = NULL;
    node->item = item;
    hidden_lock(&queue->lock);
    *queue->end = node;
    queue->end = &node->next;
    __atomic_fetch_add(&queue->items, 1, __ATOMIC_SEQ_CST);
    hidden_unlock(&queue->lock);
    wake(&queue->items);
}
static void *try_get(struct hidden_queue *queue) {
    void *item = NULL;
    hidden_lock(&queue->lock);
    struct node *node = queue->first;
    if (node) {
        item = node->item;
        queue->first = node->next;
        if (!queue->first) queue->end = &queue->first;
        __atomic_fetch_sub(&queue->items, 1, __ATOMIC_SEQ_CST);
        free(node);
    }
    hidden_unlock(&queue->lock);
    return item;
}
void *hidden_get(struct hidden_queue *queue) {
    for (;;) {
        void *item = try_get(queue);
        if (item) return item;
        wait_while(&queue->items, 0);
    }
}

static struct hidden_queue own = {{0}, 0, NULL, &own.first};
void hidden_push(void *item) { hidden_put(&own, item); }
void *hidden_pop(void) { return try_get(&own); }

static int counts[16];
void hidden_up(int number) {
    __atomic_fetch_add(&counts[number], 1, __ATOMIC_SEQ_CST);
    wake(&counts[number]);
}
void hidden_down(int number) {
    for (;;) {
        int count = __atomic_load_n(&counts[number], __ATOMIC_SEQ_CST);
        if (count == 0) wait_while(&counts[number], 0);
        else if (__atomic_compare_exchange_n(&counts[number], &count, count - 1, 0,
                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
    }
}

int hidden_read(int descriptor) {
    char byte;
    return syscall(SYS_read, descriptor, &byte, 1) == 1 ? byte : -1;
}

static struct hidden_lock common;
void hidden_with_lock(void (*function)(void *), void *argument) {
    hidden_lock(&common);
    function(argument);
    hidden_unlock(&common);
}

static struct { void (*function)(void *); void *argument; } registered[8];
static int count;
void hidden_register(void (*function)(void *), void *argument) {
    hidden_lock(&common);
    registered[count].function = function;
    registered[count++].argument = argument;
    hidden_unlock(&common);
}
void hidden_fire(void) {
    hidden_lock(&common);
    for (int i = 0; i < count; i++) registered[i].function(registered[i].argument);
    hidden_unlock(&common);
}

static pthread_t threads[16];
static int spawned;
void hidden_spawn(void *(*function)(void *), void *argument) {
    pthread_create(&threads[spawned++], NULL, function, argument);
}
void hidden_wait_all(void) {
    while (spawned) pthread_join(threads[--spawned], NULL);
}

void hidden_spin_until(int *word) {
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
void hidden_set(int *word) { __atomic_store_n(word, 1, __ATOMIC_RELEASE); }
