/* Locks of GLib and OpenMP, known by the table of lock functions. LOCK 1: two GMutexes, in opposite
   orders in the twin, 2: GRecMutex, taken twice, 3: GRWLock, whose reader side the twin takes to
   write, 4: check and use in one section of a GMutex, in two in the twin, 5: g_mutex_trylock,
   6: omp_lock_t, 7: omp_nest_lock_t, 8: GCond with a time, 9: a GMutex that one thread waits for. */
#include "../../../../../include/foretell.h"
#include "boundary.h"
#if LOCK == 6 || LOCK == 7
#include <omp.h>
#else
#include <glib.h>
#endif
static int count, room = 1;
#if LOCK == 1
static GMutex a, b;
static void both(GMutex *outer, GMutex *inner) {
    g_mutex_lock(outer);
    g_mutex_lock(inner);
    count++;
    g_mutex_unlock(inner);
    g_mutex_unlock(outer);
}
static void first(void) { both(&a, &b); }
#ifdef BUG
static void second(void) { both(&b, &a); }
#else
static void second(void) { both(&a, &b); }
#endif
#elif LOCK == 2
static GRecMutex lock;
static void add(void) {
    g_rec_mutex_lock(&lock);
    count++;
    g_rec_mutex_unlock(&lock);
}
static void first(void) {
    g_rec_mutex_lock(&lock);
    add();
    count++;
    g_rec_mutex_unlock(&lock);
}
static void second(void) {
    FORGOTTEN(g_rec_mutex_lock(&lock));
    count++;
    add();
    FORGOTTEN(g_rec_mutex_unlock(&lock));
}
#elif LOCK == 3
static GRWLock lock;
static void first(void) {
    g_rw_lock_reader_lock(&lock);
    room = count >= 0;
    g_rw_lock_reader_unlock(&lock);
}
static void second(void) {
#ifdef BUG
    g_rw_lock_reader_lock(&lock);
    count++;
    g_rw_lock_reader_unlock(&lock);
#else
    g_rw_lock_writer_lock(&lock);
    count++;
    g_rw_lock_writer_unlock(&lock);
#endif
}
#elif LOCK == 4
static GMutex lock;
static void take(void) {
    FORETELL_ATOMIC_BEGIN("take");
    g_mutex_lock(&lock);
    int is_room = room > 0;
#ifdef BUG
    g_mutex_unlock(&lock);
    g_mutex_lock(&lock);
#endif
    if (is_room) room--;
    g_mutex_unlock(&lock);
    FORETELL_ATOMIC_END();
}
#define first take
static void second(void) {
    g_mutex_lock(&lock);
    room = 0;
    g_mutex_unlock(&lock);
}
#elif LOCK == 5
static GMutex lock;
static void first(void) {
    if (g_mutex_trylock(&lock)) {
        count++;
        g_mutex_unlock(&lock);
    }
}
static void second(void) {
    FORGOTTEN(g_mutex_lock(&lock));
    count++;
    FORGOTTEN(g_mutex_unlock(&lock));
}
#elif LOCK == 6
static omp_lock_t lock;
static void first(void) {
    omp_set_lock(&lock);
    count++;
    omp_unset_lock(&lock);
}
static void second(void) {
    FORGOTTEN(omp_set_lock(&lock));
    count++;
    FORGOTTEN(omp_unset_lock(&lock));
}
#elif LOCK == 7
static omp_nest_lock_t lock;
static void first(void) {
    omp_set_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    count++;
    omp_unset_nest_lock(&lock);
    count++;
    omp_unset_nest_lock(&lock);
}
static void second(void) {
    FORGOTTEN(omp_set_nest_lock(&lock));
    count++;
    omp_set_nest_lock(&lock);
    count++;
    omp_unset_nest_lock(&lock);
    FORGOTTEN(omp_unset_nest_lock(&lock));
}
#elif LOCK == 8
static GMutex lock;
static GCond condition;
static int data;
static void first(void) {
    HAND_OVER(data = 42, {
        g_mutex_lock(&lock);
        room = 0;
        g_cond_broadcast(&condition);
        g_mutex_unlock(&lock);
    });
}
static void second(void) {
    g_mutex_lock(&lock);
    while (room) g_cond_wait_until(&condition, &lock, g_get_monotonic_time() + 50000);
    g_mutex_unlock(&lock);
    count = data;
}
#else
static GMutex lock;
static void add(void) {
    for (int i = 0; i < 12; i++) {
        g_mutex_lock(&lock);
        for (int k = 0; k < 5; k++) room = room * 7 + k;
        count++;
        g_mutex_unlock(&lock);
    }
}
static void first(void) { add(); }
static void second(void) {
    FORGOTTEN(g_mutex_lock(&lock));
    count++;
    FORGOTTEN(g_mutex_unlock(&lock));
    add();
}
#endif
static void *run_first(void *unused) {
    first();
    return unused;
}
static void *run_second(void *unused) {
    second();
    return unused;
}
int main(void) {
#if LOCK == 6
    omp_init_lock(&lock);
#elif LOCK == 7
    omp_init_nest_lock(&lock);
#endif
    run_both(run_first, run_second);
#if LOCK == 5
    printf("%d\n", count > 0);
#else
    printf("%d\n", count);
#endif
}
