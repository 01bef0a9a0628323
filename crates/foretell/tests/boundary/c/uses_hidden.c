/* Objects of hidden.c, which is not recorded. OBJECT 1: lock, 2: spin lock, 3: queue of blocks,
   4: queue of the library, 5: semaphore, 6: read of a pipe, 7: callback under the library's lock,
   8: registered callbacks, 9: threads of the library, 10: a word that the library polls,
   11: a queue whose blocks are filled again, 12: two queues as a round trip. */
#include "boundary.h"
#include "hidden.h"
static int data, seen;
#if OBJECT == 1 || OBJECT == 2
static struct hidden_lock hidden;
#if OBJECT == 1
#define LOCK() hidden_lock(&hidden)
#define UNLOCK() hidden_unlock(&hidden)
#else
#define LOCK() hidden_spin_lock()
#define UNLOCK() hidden_spin_unlock()
#endif
static void *first(void *unused) {
    for (int i = 0; i < 5; i++) {
        LOCK();
        data++;
        UNLOCK();
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 5; i++) {
        FORGOTTEN(LOCK());
        data++;
        FORGOTTEN(UNLOCK());
    }
    return unused;
}
int main(void) {
    (void)hidden;
    run_both(first, second);
    seen = data;
    printf("%d\n", seen);
}
#elif OBJECT == 3
static struct hidden_queue *queue;
static void *first(void *unused) {
    for (int i = 1; i <= 3; i++) {
        int *block = malloc(sizeof *block);
        HAND_OVER(*block = i, hidden_put(queue, block));
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 1; i <= 3; i++) {
        int *block = hidden_get(queue);
        seen += *block;
#ifndef BUG
        free(block);
#endif
    }
    return unused;
}
int main(void) {
    data = 0;
    queue = hidden_queue_new();
    run_both(first, second);
    printf("%d\n", seen + data);
}
#elif OBJECT == 7
static void add(void *amount) { data += *(int *)amount; }
static void *first(void *unused) {
    int amount = 40;
    hidden_with_lock(add, &amount);
    return unused;
}
static void *second(void *unused) {
    int amount = 2;
#ifdef BUG
    add(&amount);
#else
    hidden_with_lock(add, &amount);
#endif
    return unused;
}
int main(void) {
    run_both(first, second);
    seen = data;
    printf("%d\n", seen);
}
#elif OBJECT == 8
static void add(void *amount) { data += *(int *)amount; }
static int amounts[2] = {40, 2};
static void *first(void *unused) {
    HAND_OVER(amounts[0] = 39, hidden_register(add, &amounts[0]));
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 3; i++) {
        hidden_fire();
        sched_yield();
    }
    return unused;
}
int main(void) {
    run_both(first, second);
    seen = data;
    printf("%s\n", seen % 39 == 0 ? "whole" : "torn");
}
#elif OBJECT == 9
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *unused) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    data++;
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return unused;
}
int main(void) {
    data = 1;
    for (int i = 0; i < 3; i++) hidden_spawn(worker, NULL);
    hidden_wait_all();
    seen = data;
    printf("%d\n", seen);
}
#elif OBJECT == 11
/* Two buffers go round: full ones to the consumer, empty ones back. */
static struct hidden_queue *full, *empty;
static int buffers[2];
static void *first(void *unused) {
    for (int i = 1; i <= 4; i++) {
        int *buffer = hidden_get(empty);
        HAND_OVER(*buffer = i, hidden_put(full, buffer));
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 1; i <= 4; i++) {
        int *buffer = hidden_get(full);
        seen += *buffer;
        hidden_put(empty, buffer);
    }
    return unused;
}
int main(void) {
    data = 0;
    full = hidden_queue_new();
    empty = hidden_queue_new();
    hidden_put(empty, &buffers[0]);
    hidden_put(empty, &buffers[1]);
    run_both(first, second);
    printf("%d\n", seen + data);
}
#else
static int ends[2], word;
#if OBJECT == 12
static struct hidden_queue *there, *back;
#endif
static void pass(void) {
#if OBJECT == 4
    hidden_push(&data);
#elif OBJECT == 5
    hidden_up(3);
#elif OBJECT == 6
    MUST(write(ends[1], "x", 1) == 1);
#elif OBJECT == 10
    hidden_set(&word);
#else
    hidden_put(there, &data);
    hidden_get(back);
#endif
}
static void take(void) {
#if OBJECT == 4
    while (!hidden_pop()) sched_yield();
#elif OBJECT == 5
    hidden_down(3);
#elif OBJECT == 6
    MUST(hidden_read(ends[0]) == 'x');
#elif OBJECT == 10
    hidden_spin_until(&word);
#else
    hidden_put(back, hidden_get(there));
#endif
}
static void *producer(void *unused) {
    HAND_OVER(data = 42, pass());
    return unused;
}
static void *consumer(void *unused) {
    take();
    seen = data;
    return unused;
}
int main(void) {
    (void)word;
    MUST(pipe(ends) == 0);
#if OBJECT == 12
    there = hidden_queue_new();
    back = hidden_queue_new();
#endif
    run_both(producer, consumer);
    printf("%d\n", seen);
}
#endif
