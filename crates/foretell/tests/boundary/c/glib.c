/* Objects of GLib. OBJECT 1: GMutex and GCond, 2: GRWLock, 3: GAsyncQueue, 4: GHashTable under a
   mutex, 5: GThreadPool, 6: GOnce, 7: GMutex around a counter, 8: a GQueue under a GMutex. */
#include "boundary.h"
#include <glib.h>
static int data, seen;
#if OBJECT == 1
static GMutex lock;
static GCond condition;
static int ready;
static void pass(void) {
    g_mutex_lock(&lock);
    ready = 1;
    g_cond_signal(&condition);
    g_mutex_unlock(&lock);
}
static void take(void) {
    g_mutex_lock(&lock);
    while (!ready) g_cond_wait(&condition, &lock);
    g_mutex_unlock(&lock);
}
#elif OBJECT == 2
static GRWLock lock;
static int ready;
static void pass(void) {
    g_rw_lock_writer_lock(&lock);
    ready = 1;
    g_rw_lock_writer_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done;) {
        g_rw_lock_reader_lock(&lock);
        done = ready;
        g_rw_lock_reader_unlock(&lock);
        g_thread_yield();
    }
}
#elif OBJECT == 3
static GAsyncQueue *queue;
static void pass(void) { g_async_queue_push(queue, &data); }
static void take(void) { MUST(g_async_queue_pop(queue) == &data); }
#elif OBJECT == 4
static GHashTable *table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void pass(void) {
    pthread_mutex_lock(&lock);
    g_hash_table_insert(table, &table, &data);
    pthread_mutex_unlock(&lock);
}
static void take(void) {
    for (void *found = NULL; !found;) {
        pthread_mutex_lock(&lock);
        found = g_hash_table_lookup(table, &table);
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
}
#elif OBJECT == 5
static int done;
static GMutex lock;
static void work(void *item, void *unused) {
    (void)unused;
    *(int *)item = data + 1;
    FORGOTTEN(g_mutex_lock(&lock));
    done++;
    FORGOTTEN(g_mutex_unlock(&lock));
}
#elif OBJECT == 6
static GOnce once = G_ONCE_INIT;
static void *initialise(void *unused) {
    data = 42;
    return unused;
}
static void *user(void *unused) {
    FORGOTTEN(g_once(&once, initialise, NULL));
#ifdef BUG
    if (!data) initialise(NULL);
#endif
    __atomic_store_n(&seen, data, __ATOMIC_SEQ_CST);
    return unused;
}
#elif OBJECT == 7
static GMutex lock;
static void *first(void *unused) {
    for (int i = 0; i < 3; i++) {
        g_mutex_lock(&lock);
        data++;
        g_mutex_unlock(&lock);
    }
    return unused;
}
static void *second(void *unused) {
    for (int i = 0; i < 3; i++) {
        FORGOTTEN(g_mutex_lock(&lock));
        data++;
        FORGOTTEN(g_mutex_unlock(&lock));
    }
    return unused;
}
#else
static GQueue queue = G_QUEUE_INIT;
static GMutex lock;
static void pass(void) {
    g_mutex_lock(&lock);
    g_queue_push_tail(&queue, &data);
    g_mutex_unlock(&lock);
}
static void take(void) {
    for (void *found = NULL; !found;) {
        g_mutex_lock(&lock);
        found = g_queue_pop_head(&queue);
        g_mutex_unlock(&lock);
        g_usleep(100);
    }
}
#endif
#if OBJECT != 5 && OBJECT != 6 && OBJECT != 7
static void *producer(void *unused) {
    HAND_OVER(data = 42, pass());
    return unused;
}
static void *consumer(void *unused) {
    take();
    seen = data;
    return unused;
}
#endif
int main(void) {
#if OBJECT == 3
    queue = g_async_queue_new();
#elif OBJECT == 4
    table = g_hash_table_new(NULL, NULL);
#endif
#if OBJECT == 5
    int items[3];
    data = 41;
    GThreadPool *pool = g_thread_pool_new(work, NULL, 2, TRUE, NULL);
    for (int i = 0; i < 3; i++) g_thread_pool_push(pool, &items[i], NULL);
    g_thread_pool_free(pool, FALSE, TRUE);
    seen = items[0] + items[1] + items[2] + done;
#elif OBJECT == 6
    run_both(user, user);
#elif OBJECT == 7
    run_both(first, second);
    seen = data;
#else
    run_both(producer, consumer);
#endif
    printf("%d\n", seen);
}
