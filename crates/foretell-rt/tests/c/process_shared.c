// A synchronisation object in memory that a parent and its forked child share. The argument names
// the kind of object. The parent has a second thread, which has to run while the parent waits.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_spinlock_t spin;
    sem_t sem;
    int ready, asks, done, counter;
};
static struct shared *s;
static sem_t *named;
static char name[64];
static int turns, woken;
static pthread_cond_t own = PTHREAD_COND_INITIALIZER;

// Sleeps until `*flag` is set: without a hook that orders anything.
static void await(int *flag) {
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) usleep(1000);
}
static void set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

// Runs beside the parent's wait.
static void *worker(void *kind) {
    if (!strcmp(kind, "condition-private")) {
        // The child takes the mutex between the notification and the end of the wait.
        pthread_mutex_lock(&s->mutex);
        woken = 1;
        pthread_cond_signal(&own);
        pthread_mutex_unlock(&s->mutex);
    }
    for (int i = 0; i < 1000; i++) turns++;
    return 0;
}

static struct timespec later(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 60;
    return at;
}

// The child holds the object until the parent is about to ask for it, and a while longer.
static void hold(void) {
    set(&s->ready);
    await(&s->asks);
    usleep(100000);
    s->counter++;
}

static void child(const char *kind) {
    if (!strcmp(kind, "mutex") || !strcmp(kind, "timed-mutex")) {
        pthread_mutex_lock(&s->mutex);
        hold();
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "rwlock-read") || !strcmp(kind, "rwlock-write") ||
               !strcmp(kind, "rwlock-timed")) {
        pthread_rwlock_wrlock(&s->rwlock);
        hold();
        pthread_rwlock_unlock(&s->rwlock);
    } else if (!strcmp(kind, "rwlock-reader")) {
        pthread_rwlock_rdlock(&s->rwlock);
        hold();
        pthread_rwlock_unlock(&s->rwlock);
    } else if (!strcmp(kind, "spin") || !strcmp(kind, "spin-elsewhere")) {
        if (!strcmp(kind, "spin-elsewhere"))
            pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED);
        pthread_spin_lock(&s->spin);
        hold();
        pthread_spin_unlock(&s->spin);
    } else if (!strcmp(kind, "condition") || !strcmp(kind, "condition-timed")) {
        await(&s->ready);
        pthread_mutex_lock(&s->mutex);
        usleep(50000);
        s->counter++;
        pthread_cond_signal(&s->cond);
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "condition-private")) {
        for (int i = 0; i < 20; i++) {
            pthread_mutex_lock(&s->mutex);
            usleep(5000);
            pthread_mutex_unlock(&s->mutex);
        }
        s->counter++;
    } else if (!strcmp(kind, "condition-notify")) {
        pthread_mutex_lock(&s->mutex);
        set(&s->ready);
        while (!s->done) pthread_cond_wait(&s->cond, &s->mutex);
        s->counter++;
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "barrier")) {
        for (int i = 0; i < 3; i++) {
            usleep(20000);
            s->counter++;
            pthread_barrier_wait(&s->barrier);
        }
    } else if (!strcmp(kind, "semaphore") || !strcmp(kind, "semaphore-timed")) {
        for (int i = 0; i < 3; i++) {
            usleep(20000);
            s->counter++;
            sem_post(&s->sem);
        }
    } else if (!strcmp(kind, "semaphore-post")) {
        for (int i = 0; i < 3; i++) sem_wait(&s->sem);
        s->counter++;
    } else {
        for (int i = 0; i < 3; i++) {
            usleep(20000);
            s->counter++;
            sem_post(named);
        }
    }
}

static int parent(const char *kind) {
    struct timespec at = later();
    int r = 0;
    if (!strcmp(kind, "mutex") || !strcmp(kind, "timed-mutex")) {
        await(&s->ready);
        set(&s->asks);
        r = !strcmp(kind, "mutex") ? pthread_mutex_lock(&s->mutex)
                                   : pthread_mutex_timedlock(&s->mutex, &at);
        s->counter++;
        pthread_mutex_unlock(&s->mutex);
    } else if (!strncmp(kind, "rwlock", 6)) {
        await(&s->ready);
        set(&s->asks);
        if (!strcmp(kind, "rwlock-read")) r = pthread_rwlock_rdlock(&s->rwlock);
        else if (!strcmp(kind, "rwlock-timed")) r = pthread_rwlock_timedwrlock(&s->rwlock, &at);
        else r = pthread_rwlock_wrlock(&s->rwlock);
        printf("%d ", s->counter);
        pthread_rwlock_unlock(&s->rwlock);
    } else if (!strncmp(kind, "spin", 4)) {
        await(&s->ready);
        set(&s->asks);
        r = pthread_spin_lock(&s->spin);
        s->counter++;
        pthread_spin_unlock(&s->spin);
    } else if (!strcmp(kind, "condition") || !strcmp(kind, "condition-timed")) {
        pthread_mutex_lock(&s->mutex);
        set(&s->ready);
        while (!s->counter)
            r |= !strcmp(kind, "condition") ? pthread_cond_wait(&s->cond, &s->mutex)
                                            : pthread_cond_timedwait(&s->cond, &s->mutex, &at);
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "condition-private")) {
        pthread_mutex_lock(&s->mutex);
        while (!woken) r |= pthread_cond_wait(&own, &s->mutex);
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "condition-notify")) {
        await(&s->ready);
        pthread_mutex_lock(&s->mutex);
        s->done = 1;
        pthread_cond_broadcast(&s->cond);
        pthread_mutex_unlock(&s->mutex);
    } else if (!strcmp(kind, "barrier")) {
        for (int i = 0; i < 3; i++) {
            int w = pthread_barrier_wait(&s->barrier);
            r |= w != 0 && w != PTHREAD_BARRIER_SERIAL_THREAD;
        }
    } else if (!strcmp(kind, "semaphore-post")) {
        for (int i = 0; i < 3; i++) r |= sem_post(&s->sem);
    } else {
        sem_t *sem = !strcmp(kind, "semaphore-named") ? named : &s->sem;
        for (int i = 0; i < 3; i++)
            r |= !strcmp(kind, "semaphore-timed") ? sem_timedwait(sem, &at) : sem_wait(sem);
    }
    return r;
}

int main(int argc, char **argv) {
    const char *kind = argv[1];
    s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t ma;
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->mutex, &ma);
    pthread_condattr_t ca;
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&s->cond, &ca);
    pthread_rwlockattr_t ra;
    pthread_rwlockattr_init(&ra);
    pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&s->rwlock, &ra);
    pthread_barrierattr_t ba;
    pthread_barrierattr_init(&ba);
    pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->barrier, &ba, 2);
    if (strcmp(kind, "spin-elsewhere")) pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED);
    sem_init(&s->sem, 1, 0);
    snprintf(name, sizeof name, "/foretell-test-%d", getpid());
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    sem_unlink(name);

    pthread_t thread;
    pid_t pid = fork();
    if (pid == 0) {
        child(kind);
        _exit(0);
    }
    pthread_create(&thread, 0, worker, (void *)kind);
    int r = parent(kind), status;
    waitpid(pid, &status, 0);
    pthread_join(thread, 0);
    printf("%s: result %d, child %d, counter %d, turns %d\n", kind, r, status, s->counter, turns);
    return r;
}
