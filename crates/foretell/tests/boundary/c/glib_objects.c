/* GLib. OBJECT 1: main loop with an idle source, 2: recursive mutex, 3: bit lock, 4: array of
 * pointers, 5: timeout source, 6: timed pop, 7: private data, 8: string, 9: list under a lock,
 * 10: condition with a deadline, 11: once_init, 12: tree, 13: unlock by cleanup, 14: source
 * attached to the main context, 15: thread join value, 16: atomic reference box. */
#include "boundary.h"
#include <glib.h>
static int data, seen;
static GMutex lock;
static GCond changed;
static void setup(void) {}
#if OBJECT == 1 || OBJECT == 5 || OBJECT == 14
static GMainLoop *loop;
static gboolean quit(gpointer unused) {
    (void)unused;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}
#define setup real_setup
static void setup(void) { loop = g_main_loop_new(NULL, FALSE); }
static void pass(void) {
#if OBJECT == 1
    g_idle_add(quit, NULL);
#elif OBJECT == 5
    g_timeout_add(2, quit, NULL);
#else
    GSource *s = g_idle_source_new();
    g_source_set_callback(s, quit, NULL, NULL);
    g_source_attach(s, NULL);
    g_source_unref(s);
#endif
}
static gboolean never(gpointer unused) { (void)unused; return TRUE; }
static void take(void) { g_main_loop_run(loop); (void)never; }
#elif OBJECT == 2
static GRecMutex rec;
static int ready;
static void pass(void) {
    g_rec_mutex_lock(&rec);
    g_rec_mutex_lock(&rec);
    ready = 1;
    g_rec_mutex_unlock(&rec);
    g_rec_mutex_unlock(&rec);
}
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_rec_mutex_lock(&rec);
        done = ready;
        g_rec_mutex_unlock(&rec);
    }
}
#elif OBJECT == 3
static gint word;
static int ready;
static void pass(void) { g_bit_lock(&word, 3); ready = 1; g_bit_unlock(&word, 3); }
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_bit_lock(&word, 3);
        done = ready;
        g_bit_unlock(&word, 3);
    }
}
#elif OBJECT == 4
static GPtrArray *array;
#define setup real_setup
static void setup(void) { array = g_ptr_array_new_with_free_func(g_free); }
static void pass(void) {
    g_mutex_lock(&lock);
    g_ptr_array_add(array, g_strdup("x"));
    g_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_mutex_lock(&lock);
        done = array->len > 0;
        if (done) g_ptr_array_remove_index(array, 0);
        g_mutex_unlock(&lock);
    }
}
#elif OBJECT == 6
static GAsyncQueue *queue;
#define setup real_setup
static void setup(void) { queue = g_async_queue_new(); }
static void pass(void) { g_async_queue_push(queue, g_strdup("x")); }
static void take(void) {
    gpointer p;
    while (!(p = g_async_queue_timeout_pop(queue, 1000000))) { }
    g_free(p);
}
#elif OBJECT == 7
static GAsyncQueue *queue;
static void last(gpointer p) { g_async_queue_push(queue, p); }
static GPrivate private = G_PRIVATE_INIT(last);
#define setup real_setup
static void setup(void) { queue = g_async_queue_new(); }
static gpointer user(gpointer p) { g_private_set(&private, p); return NULL; }
static void pass(void) { g_thread_join(g_thread_new("user", user, &data)); }
static void take(void) { MUST(g_async_queue_pop(queue) == &data); }
#elif OBJECT == 8
static GString *text;
#define setup real_setup
static void setup(void) { text = g_string_new(""); }
static void pass(void) {
    g_mutex_lock(&lock);
    g_string_append_printf(text, "%d", 42);
    g_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_mutex_lock(&lock);
        done = text->len == 2;
        g_mutex_unlock(&lock);
    }
}
#elif OBJECT == 9
static GSList *list;
static void pass(void) {
    g_mutex_lock(&lock);
    list = g_slist_append(list, g_new0(int, 4));
    g_cond_signal(&changed);
    g_mutex_unlock(&lock);
}
static void take(void) {
    g_mutex_lock(&lock);
    while (!list) g_cond_wait(&changed, &lock);
    g_free(list->data);
    list = g_slist_delete_link(list, list);
    g_mutex_unlock(&lock);
}
#elif OBJECT == 10
static int ready;
static void pass(void) {
    g_mutex_lock(&lock);
    ready = 1;
    g_cond_broadcast(&changed);
    g_mutex_unlock(&lock);
}
static void take(void) {
    g_mutex_lock(&lock);
    gint64 end = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
    while (!ready) MUST(g_cond_wait_until(&changed, &lock, end));
    g_mutex_unlock(&lock);
}
#elif OBJECT == 11
static gsize once;
static int *made;
static int *get(void) {
    if (g_once_init_enter(&once)) { made = g_new0(int, 1); *made = 7; g_once_init_leave(&once, 1); }
    return made;
}
static GAsyncQueue *queue;
#define setup real_setup
static void setup(void) { queue = g_async_queue_new(); }
static void pass(void) { get(); g_async_queue_push(queue, &data); }
static void take(void) { MUST(*get() == 7); g_async_queue_pop(queue); }
#elif OBJECT == 12
static GTree *tree;
static gint order(gconstpointer a, gconstpointer b) {
    return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b);
}
#define setup real_setup
static void setup(void) { tree = g_tree_new(order); }
static void pass(void) {
    g_mutex_lock(&lock);
    g_tree_insert(tree, GINT_TO_POINTER(3), &data);
    g_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_mutex_lock(&lock);
        done = g_tree_lookup(tree, GINT_TO_POINTER(3)) != NULL;
        g_mutex_unlock(&lock);
    }
}
#elif OBJECT == 13
static int ready;
static void pass(void) {
    g_autoptr(GMutexLocker) l = g_mutex_locker_new(&lock);
    ready = 1;
    (void)l;
}
static void take(void) {
    for (int done = 0; !done; g_thread_yield()) {
        g_autoptr(GMutexLocker) l = g_mutex_locker_new(&lock);
        done = ready;
        (void)l;
    }
}
#elif OBJECT == 15
static GThread *thread;
static gint made;
static gpointer user(gpointer p) { return p; }
static void pass(void) { thread = g_thread_new("t", user, &data); g_atomic_int_set(&made, 1); }
static void take(void) {
    while (!g_atomic_int_get(&made)) g_thread_yield();
    MUST(g_thread_join(thread) == &data);
}
#elif OBJECT == 16
static int *box;
static gint flag;
#define setup real_setup
static void setup(void) { box = g_atomic_rc_box_new0(int); g_atomic_rc_box_acquire(box); }
static void gone(gpointer p) { (void)p; g_atomic_int_set(&flag, 1); }
static void pass(void) { g_atomic_rc_box_release_full(box, gone); }
static void take(void) {
    g_atomic_rc_box_release_full(box, gone);
    while (!g_atomic_int_get(&flag)) g_thread_yield();
}
#endif
static void *producer(void *unused) { HAND_OVER(data = 42, pass()); return unused; }
static void *consumer(void *unused) { take(); seen = data; return unused; }
int main(void) {
    (void)lock, (void)changed;
    setup();
    run_both(producer, consumer);
    printf("%d\n", seen);
}
