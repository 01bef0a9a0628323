/* Threads with unusual control flow. WAY 1: longjmp out of a section, 2: coroutines, 3:
 * coroutine that another thread resumes, 4: cleanup handler, 5: cancelled wait, 6: destructors
 * of keys, 7: serial thread of a barrier, 8: nested once, 9: C11 condition, 10: tss destructor,
 * 11: detached thread, 12: pthread_exit of main, 13: recursive mutex, 14: error-checking mutex,
 * 15: priority inheritance, 16: trylock loop, 17: timed join, 18: tryjoin, 19: rwlock by tries,
 * 20: spin lock, 21: adaptive mutex, 22: timed lock, 23: thread attributes and a
 * stack of its own, 24: chain of creation, 25: exit handlers, 26: locks in both orders by try,
 * 27: atfork. */
#include "boundary.h"
#include <errno.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
static int data, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static struct timespec later(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 30;
    return t;
}
static int ready;
static void setup(void) {}
#if WAY == 1
static void pass(void) {
    jmp_buf out;
    if (setjmp(out) == 0) {
        pthread_mutex_lock(&lock);
        ready = 1;
        longjmp(out, 1);
    }
    pthread_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        done = ready;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
}
#elif WAY == 2
static ucontext_t back, co;
static atomic_int flag;
static void body(void) { atomic_store(&flag, 1); swapcontext(&co, &back); atomic_store(&flag, 2); }
static void pass(void) {
    char *stack = malloc(65536);
    getcontext(&co);
    co.uc_stack.ss_sp = stack, co.uc_stack.ss_size = 65536, co.uc_link = &back;
    makecontext(&co, body, 0);
    swapcontext(&back, &co);
    swapcontext(&back, &co);
    free(stack);
}
static void take(void) { while (atomic_load(&flag) != 2) sched_yield(); }
#elif WAY == 3
static ucontext_t from, co;
static atomic_int stage;
static void body(void) { data += 0; swapcontext(&co, &from); data += 0; atomic_store(&stage, 2); }
static char stack[65536];
static void pass(void) {
    getcontext(&co);
    co.uc_stack.ss_sp = stack, co.uc_stack.ss_size = sizeof stack, co.uc_link = &from;
    makecontext(&co, body, 0);
    swapcontext(&from, &co);
    atomic_store(&stage, 1);
}
static void take(void) {
    while (atomic_load(&stage) != 1) sched_yield();
    swapcontext(&from, &co);
}
#elif WAY == 4
static void unlock(void *m) { pthread_mutex_unlock(m); }
static void pass(void) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_cleanup_pop(1);
}
static void take(void) {
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
}
#elif WAY == 5
static void unlock(void *m) { ready = 2; pthread_mutex_unlock(m); }
static void *sleeper(void *u) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cleanup_push(unlock, &lock);
    for (;;) pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(0);
    return u;
}
static atomic_int done;
static void pass(void) {
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, sleeper, NULL);
    pthread_cancel(t);
    pthread_join(t, &result);
    MUST(result == PTHREAD_CANCELED);
    atomic_store(&done, 1);
}
static void take(void) { while (!atomic_load(&done)) sched_yield(); }
#elif WAY == 6
static pthread_key_t key;
static atomic_int done;
static void destroy(void *p) { *(int *)p += 1; free(p); atomic_store(&done, 1); }
static void *user(void *u) {
    int *p = calloc(1, sizeof *p);
    pthread_setspecific(key, p);
    *p = data;
    return u;
}
static void pass(void) {
    pthread_t t;
    pthread_key_create(&key, destroy);
    pthread_create(&t, NULL, user, NULL);
    pthread_detach(t);
}
static void take(void) { while (!atomic_load(&done)) sched_yield(); }
#elif WAY == 7
static pthread_barrier_t barrier;
static int serials;
#define setup real_setup
static void setup(void) { pthread_barrier_init(&barrier, NULL, 2); }
static void meet(void) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serials++;
    pthread_barrier_wait(&barrier);
}
static void pass(void) { meet(); }
static void take(void) { meet(); MUST(serials == 1); }
#elif WAY == 8
static pthread_once_t a = PTHREAD_ONCE_INIT, b = PTHREAD_ONCE_INIT;
static atomic_int done;
static void second(void) { ready = 1; }
static void first(void) { pthread_once(&b, second); ready++; }
static void pass(void) { pthread_once(&a, first); atomic_store(&done, 1); }
static void take(void) {
    while (!atomic_load(&done)) sched_yield();
    pthread_once(&a, first);
    MUST(ready == 2);
}
#elif WAY == 9
static mtx_t m;
static cnd_t c;
#define setup real_setup
static void setup(void) { mtx_init(&m, mtx_timed | mtx_recursive); cnd_init(&c); }
static void pass(void) {
    mtx_lock(&m);
    mtx_lock(&m);
    ready = 1;
    mtx_unlock(&m);
    cnd_broadcast(&c);
    mtx_unlock(&m);
}
static void take(void) {
    struct timespec t = later();
    MUST(mtx_timedlock(&m, &t) == thrd_success);
    while (!ready) MUST(cnd_timedwait(&c, &m, &t) == thrd_success);
    mtx_unlock(&m);
}
#elif WAY == 10
static tss_t key;
static atomic_int done;
static void destroy(void *p) { *(int *)p = 1; atomic_store(&done, 1); }
static int user(void *p) { tss_set(key, p); return 7; }
static void pass(void) {
    thrd_t t;
    int r;
    tss_create(&key, destroy);
    thrd_create(&t, user, &ready);
    thrd_join(t, &r);
    MUST(r == 7);
}
static void take(void) { while (!atomic_load(&done)) thrd_yield(); MUST(ready == 1); }
#elif WAY == 11
static void *detached(void *u) {
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&lock);
    return u;
}
static void pass(void) {
    pthread_attr_t a;
    pthread_t t;
    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_create(&t, &a, detached, NULL);
    pthread_attr_destroy(&a);
}
static void take(void) {
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
}
#elif WAY == 13 || WAY == 14 || WAY == 15 || WAY == 21
static pthread_mutex_t m;
#define setup real_setup
static void setup(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
#if WAY == 13
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
#elif WAY == 14
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
#elif WAY == 15
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
#else
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    MUST(pthread_mutex_init(&m, &a) == 0);
}
static void take_it(void) {
    pthread_mutex_lock(&m);
#if WAY == 13
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
#elif WAY == 14
    MUST(pthread_mutex_lock(&m) == EDEADLK);
#endif
}
static void pass(void) { take_it(); ready = 1; pthread_mutex_unlock(&m); }
static void take(void) {
    for (int done = 0; !done; sched_yield()) { take_it(); done = ready; pthread_mutex_unlock(&m); }
}
#elif WAY == 16
static void pass(void) {
    while (pthread_mutex_trylock(&lock) != 0) sched_yield();
    ready = 1;
    pthread_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done; sched_yield()) if (pthread_mutex_trylock(&lock) == 0) {
        done = ready;
        pthread_mutex_unlock(&lock);
    }
}
#elif WAY == 17 || WAY == 18
static pthread_t helper;
static atomic_int started;
static void *help(void *u) { ready = 1; return u; }
static void pass(void) { pthread_create(&helper, NULL, help, NULL); atomic_store(&started, 1); }
static void take(void) {
    while (!atomic_load(&started)) sched_yield();
#if WAY == 17
    struct timespec t = later();
    MUST(pthread_timedjoin_np(helper, NULL, &t) == 0);
#else
    while (pthread_tryjoin_np(helper, NULL) == EBUSY) sched_yield();
#endif
    MUST(ready == 1);
}
#elif WAY == 19
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static void pass(void) {
    while (pthread_rwlock_trywrlock(&rw)) sched_yield();
    ready = 1;
    pthread_rwlock_unlock(&rw);
}
static void take(void) {
    for (int done = 0; !done; sched_yield()) {
        struct timespec t = later();
        if (pthread_rwlock_tryrdlock(&rw) && pthread_rwlock_timedrdlock(&rw, &t)) continue;
        done = ready;
        pthread_rwlock_unlock(&rw);
    }
}
#elif WAY == 20
static pthread_spinlock_t spin;
#define setup real_setup
static void setup(void) { pthread_spin_init(&spin, 0); }
static void pass(void) { pthread_spin_lock(&spin); ready = 1; pthread_spin_unlock(&spin); }
static void take(void) {
    for (int done = 0; !done; sched_yield()) if (pthread_spin_trylock(&spin) == 0) {
        done = ready;
        pthread_spin_unlock(&spin);
    }
}
#elif WAY == 22
static void pass(void) {
    struct timespec t = later();
    MUST(pthread_mutex_timedlock(&lock, &t) == 0);
    ready = 1;
    pthread_mutex_unlock(&lock);
}
static void take(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += 30;
    for (int done = 0; !done; sched_yield()) {
        MUST(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &t) == 0);
        done = ready;
        pthread_mutex_unlock(&lock);
    }
}
#elif WAY == 23
static _Alignas(4096) char stack[1 << 18];
static void *own(void *p) { int local = *(int *)p; *(int *)p = local + 1; return NULL; }
static atomic_int done;
static void pass(void) {
    pthread_attr_t a;
    pthread_t t;
    int local = 0;
    pthread_attr_init(&a);
    MUST(pthread_attr_setstack(&a, stack, sizeof stack) == 0 && pthread_create(&t, &a, own,
        &local) == 0);
    pthread_join(t, NULL);
    MUST(pthread_create(&t, &a, own, &local) == 0);
    pthread_join(t, NULL);
    atomic_store(&done, local);
}
static void take(void) { while (atomic_load(&done) != 2) sched_yield(); }
#elif WAY == 24
static atomic_int done;
static void *link_of(void *p) {
    long depth = (long)p;
    pthread_t t;
    if (depth) { pthread_create(&t, NULL, link_of, (void *)(depth - 1)); pthread_join(t, NULL); }
    ready++;
    return NULL;
}
static void pass(void) { link_of((void *)5L); atomic_store(&done, 1); }
static void take(void) { while (!atomic_load(&done)) sched_yield(); MUST(ready == 6); }
#elif WAY == 26
/* Both orders, but the second lock by a try that gives up. */
static atomic_int finished;
static void both(pthread_mutex_t *a, pthread_mutex_t *b) {
    for (;;) {
        pthread_mutex_lock(a);
        if (pthread_mutex_trylock(b) == 0) break;
        pthread_mutex_unlock(a);
        sched_yield();
    }
    ready++;
    pthread_mutex_unlock(b);
    pthread_mutex_unlock(a);
}
static void pass(void) { both(&lock, &inner); }
static void take(void) {
    for (int done = 0; !done;) {
        both(&inner, &lock);
        pthread_mutex_lock(&lock);
        done = ready > 1;
        pthread_mutex_unlock(&lock);
        sched_yield();
        if (data == 42) break;
    }
}
#elif WAY == 27
static int before, after;
static void prepare(void) { pthread_mutex_lock(&lock); before++; }
static void parent(void) { after++; pthread_mutex_unlock(&lock); }
static void child(void) { pthread_mutex_unlock(&lock); }
#define setup real_setup
static void setup(void) { pthread_atfork(prepare, parent, child); }
static void pass(void) {
    pid_t p = fork();
    if (p == 0) { pthread_mutex_lock(&lock); _exit(before == 1 ? 0 : 1); }
    int status;
    MUST(waitpid(p, &status, 0) == p && status == 0);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
}
static void take(void) {
    for (int done = 0; !done; usleep(1000)) {
        pthread_mutex_lock(&lock);
        done = ready;
        pthread_mutex_unlock(&lock);
    }
}
#endif
#if WAY == 12
static pthread_t first;
static void *last(void *u) {
    pthread_join(first, NULL);
    printf("%d\n", data);
    fflush(stdout);
    exit(0);
    return u;
}
int main(void) {
    pthread_t t;
    first = pthread_self();
    HAND_OVER(data = 42, pthread_create(&t, NULL, last, NULL));
    pthread_exit(NULL);
}
#elif WAY == 25
static void at_exit(void) {
    pthread_mutex_lock(&lock);
    printf("%d\n", data);
    pthread_mutex_unlock(&lock);
}
static void *worker(void *u) {
    pthread_mutex_lock(&lock);
    data = 42;
    pthread_mutex_unlock(&lock);
    return u;
}
int main(void) {
    pthread_t t;
    atexit(at_exit);
    pthread_create(&t, NULL, worker, NULL);
    FORGOTTEN(pthread_join(t, NULL));
    return 0;
}
#else
static void *producer(void *unused) { HAND_OVER(data = 42, pass()); return unused; }
#if WAY == 26
static void *consumer(void *unused) {
    for (int i = 0; i < 3; i++) both(&inner, &lock);
    return unused;
}
static void *producer2(void *unused) {
    for (int i = 0; i < 3; i++)
#ifdef BUG
    {
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&inner);
        ready++;
        pthread_mutex_unlock(&inner);
        pthread_mutex_unlock(&lock);
    }
#else
        both(&lock, &inner);
#endif
    return unused;
}
int main(void) { (void)producer; run_both(producer2, consumer); printf("%d\n", ready); }
#else
static void *consumer(void *unused) { take(); seen = data; return unused; }
int main(void) {
    (void)later, (void)inner, (void)condition, (void)lock, (void)ready;
    setup();
    run_both(producer, consumer);
    printf("%d\n", seen);
}
#endif
#endif
