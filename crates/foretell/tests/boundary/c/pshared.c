/* Objects that may be shared between processes, used by threads of one.
   OBJECT 1: mutex and condition, 2: semaphore, 3: rwlock, 4: barrier, 5: mutex with a child process. */
#include "boundary.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    sem_t semaphore;
    int ready;
};
static struct shared *s;
static int data, seen;
static void pass(void) {
#if OBJECT == 1
    pthread_mutex_lock(&s->mutex);
    s->ready = 1;
    pthread_cond_signal(&s->condition);
    pthread_mutex_unlock(&s->mutex);
#elif OBJECT == 2
    sem_post(&s->semaphore);
#elif OBJECT == 3
    pthread_rwlock_wrlock(&s->rwlock);
    s->ready = 1;
    pthread_rwlock_unlock(&s->rwlock);
#elif OBJECT == 4
    pthread_barrier_wait(&s->barrier);
#else
    pthread_mutex_lock(&s->mutex);
    s->ready = 1;
    pthread_mutex_unlock(&s->mutex);
#endif
}
static void take(void) {
#if OBJECT == 1
    pthread_mutex_lock(&s->mutex);
    while (!s->ready) pthread_cond_wait(&s->condition, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
#elif OBJECT == 2
    sem_wait(&s->semaphore);
#elif OBJECT == 3
    for (int ready = 0; !ready;) {
        pthread_rwlock_rdlock(&s->rwlock);
        ready = s->ready;
        pthread_rwlock_unlock(&s->rwlock);
        sched_yield();
    }
#elif OBJECT == 4
    pthread_barrier_wait(&s->barrier);
#else
    for (int ready = 0; !ready;) {
        pthread_mutex_lock(&s->mutex);
        ready = s->ready == 2;
        pthread_mutex_unlock(&s->mutex);
        usleep(1000);
    }
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
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_rwlockattr_t rwlock;
    pthread_barrierattr_t barrier;
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(s != MAP_FAILED);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->mutex, &mutex);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&s->condition, &condition);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&s->rwlock, &rwlock);
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->barrier, &barrier, 2);
    sem_init(&s->semaphore, 1, 0);
#if OBJECT == 5
    pid_t child = fork();
    if (child == 0) {
        for (int ready = 0; !ready;) {
            pthread_mutex_lock(&s->mutex);
            if (s->ready == 1) { s->ready = 2; ready = 1; }
            pthread_mutex_unlock(&s->mutex);
            usleep(1000);
        }
        _exit(0);
    }
#endif
    run_both(producer, consumer);
    printf("%d\n", seen);
#if OBJECT == 5
    waitpid(child, NULL, 0);
#endif
}
