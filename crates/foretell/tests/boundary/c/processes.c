/* Data handed over with the help of other processes and of what processes share. WAY 1:
 * posix_spawn, 2: vfork, 3: pipes to and from a child, 4: waitid, 5: system, 6: pclose, 7:
 * shm_open, 8: shmget, 9: semaphore in shared memory, 10: System V semaphore, 11: POSIX queue,
 * 12: named semaphore, 13: condition in shared memory, 14: robust shared mutex, 15: rwlock in
 * shared memory, 16: child that stops, 17: timed queue. */
#include "boundary.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
static int data, seen;
static char name[64];
static struct shared {
    atomic_int flag;
    sem_t semaphore;
    pthread_mutex_t lock;
    pthread_cond_t condition;
    pthread_rwlock_t rw;
    int ready;
} *shared;
static atomic_int started;
static pid_t child;
static void wait_for_child(void) { while (!atomic_load(&started)) sched_yield(); }
static void share(void) {
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    pthread_rwlockattr_t r;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared->semaphore, 1, 0);
    pthread_mutexattr_init(&m), pthread_condattr_init(&c), pthread_rwlockattr_init(&r);
    pthread_mutexattr_setpshared(&m, 1), pthread_condattr_setpshared(&c, 1),
        pthread_rwlockattr_setpshared(&r, 1);
#if WAY == 14
    pthread_mutexattr_setrobust(&m, PTHREAD_MUTEX_ROBUST);
#endif
    pthread_mutex_init(&shared->lock, &m), pthread_cond_init(&shared->condition, &c),
        pthread_rwlock_init(&shared->rw, &r);
}
#if WAY == 1
static void setup(void) {}
static void pass(void) {
    char *arguments[] = {"true", NULL};
    MUST(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
    atomic_store(&started, 1);
}
static void take(void) { int s; wait_for_child(); MUST(waitpid(child, &s, 0) == child && s == 0); }
#elif WAY == 2
static void setup(void) {}
static void pass(void) { child = vfork(); if (child == 0) _exit(3); atomic_store(&started, 1); }
static void take(void) { int s; wait_for_child(); MUST(wait(&s) == child && WEXITSTATUS(s) == 3); }
#elif WAY == 3
static int to[2], from[2];
static void setup(void) {
    MUST(pipe(to) == 0 && pipe(from) == 0);
    if ((child = fork()) == 0) {
        char c;
        while (read(to[0], &c, 1) == 1) if (write(from[1], &c, 1) != 1) _exit(1);
        else _exit(0);
    }
}
static void pass(void) { MUST(write(to[1], "x", 1) == 1); }
static void take(void) {
    char c;
    MUST(read(from[0], &c, 1) == 1 && waitpid(child, NULL, 0) == child);
}
#elif WAY == 4
static void setup(void) {}
static void pass(void) { child = fork(); if (child == 0) _exit(0); }
static void take(void) { siginfo_t i; while (waitid(P_ALL, 0, &i, WEXITED) != 0) sched_yield(); }
#elif WAY == 5
static void setup(void) { snprintf(name, sizeof name, "/tmp/boundary-%d", getpid()); }
static void pass(void) {
    char command[100];
    snprintf(command, sizeof command, ": > %s", name);
    MUST(system(command) == 0);
}
static void take(void) { while (access(name, F_OK)) usleep(100); unlink(name); }
#elif WAY == 6
static FILE *p;
static void setup(void) { p = popen("cat > /dev/null", "w"); }
static void pass(void) { fputs("x\n", p); atomic_store(&started, 1); }
static void take(void) { wait_for_child(); MUST(pclose(p) == 0); }
#elif WAY == 7
static void setup(void) {
    snprintf(name, sizeof name, "/boundary-%d", getpid());
    int f = shm_open(name, O_CREAT | O_RDWR, 0600);
    MUST(ftruncate(f, 4096) == 0);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
}
static void pass(void) { atomic_store(&shared->flag, 1); }
static void take(void) {
    int f = shm_open(name, O_RDWR, 0600);
    struct shared *other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
    while (!atomic_load(&other->flag)) sched_yield();
    shm_unlink(name);
}
#elif WAY == 8
static int id;
static void setup(void) { id = shmget(IPC_PRIVATE, 4096, 0600); shared = shmat(id, NULL, 0); }
static void pass(void) { atomic_store(&shared->flag, 1); }
static void take(void) {
    struct shared *other = shmat(id, NULL, 0);
    while (!atomic_load(&other->flag)) sched_yield();
    shmctl(id, IPC_RMID, NULL);
}
#elif WAY == 9
static void setup(void) { share(); }
static void pass(void) {
    child = fork();
    if (child == 0) { sem_post(&shared->semaphore); _exit(0); }
}
static void take(void) {
    MUST(sem_wait(&shared->semaphore) == 0);
    while (wait(NULL) < 0) sched_yield();
}
#elif WAY == 10
static int id;
static void setup(void) { id = semget(IPC_PRIVATE, 1, 0600); }
static void pass(void) { struct sembuf up = {0, 1, 0}; MUST(semop(id, &up, 1) == 0); }
static void take(void) {
    struct sembuf down = {0, -1, 0};
    MUST(semop(id, &down, 1) == 0 && semctl(id, 0, IPC_RMID) == 0);
}
#elif WAY == 11 || WAY == 17
static mqd_t q;
static void setup(void) {
    struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/boundary-%d", getpid());
    MUST((q = mq_open(name, O_CREAT | O_RDWR, 0600, &a)) >= 0);
    mq_unlink(name);
}
static void pass(void) { MUST(mq_send(q, "x", 1, 0) == 0); }
static void take(void) {
    char c[8];
#if WAY == 11
    MUST(mq_receive(q, c, 8, NULL) == 1);
#else
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 20;
    MUST(mq_timedreceive(q, c, 8, NULL, &t) == 1);
#endif
}
#elif WAY == 12
static sem_t *s;
static void setup(void) {
    snprintf(name, sizeof name, "/boundary-%d", getpid());
    s = sem_open(name, O_CREAT, 0600, 0);
}
static void pass(void) { sem_t *mine = sem_open(name, 0); sem_post(mine); sem_close(mine); }
static void take(void) { sem_wait(s); sem_unlink(name); }
#elif WAY == 13
static void setup(void) { share(); }
static void pass(void) {
    pthread_mutex_lock(&shared->lock);
    shared->ready = 1;
    pthread_cond_signal(&shared->condition);
    pthread_mutex_unlock(&shared->lock);
}
static void take(void) {
    pthread_mutex_lock(&shared->lock);
    while (!shared->ready) pthread_cond_wait(&shared->condition, &shared->lock);
    pthread_mutex_unlock(&shared->lock);
}
#elif WAY == 14
static void setup(void) { share(); }
static void pass(void) {
    child = fork();
    if (child == 0) { pthread_mutex_lock(&shared->lock); shared->ready = 1; _exit(0); }
    MUST(waitpid(child, NULL, 0) == child);
}
static void take(void) {
    for (int done = 0; !done; sched_yield()) {
        if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
            pthread_mutex_consistent(&shared->lock);
        done = shared->ready;
        pthread_mutex_unlock(&shared->lock);
    }
}
#elif WAY == 15
static void setup(void) { share(); }
static void pass(void) {
    pthread_rwlock_wrlock(&shared->rw);
    shared->ready = 1;
    pthread_rwlock_unlock(&shared->rw);
}
static void take(void) {
    for (int done = 0; !done; sched_yield()) {
        pthread_rwlock_rdlock(&shared->rw);
        done = shared->ready;
        pthread_rwlock_unlock(&shared->rw);
    }
}
#elif WAY == 16
static void setup(void) { child = fork(); if (child == 0) for (;;) pause(); }
static void pass(void) { kill(child, SIGKILL); }
static void take(void) { int s; MUST(waitpid(child, &s, 0) == child && WTERMSIG(s) == SIGKILL); }
#endif
static void *producer(void *unused) { HAND_OVER(data = 42, pass()); return unused; }
static void *consumer(void *unused) { take(); seen = data; return unused; }
int main(void) {
    (void)share, (void)wait_for_child, (void)name, (void)child;
    setup();
    run_both(producer, consumer);
    printf("%d\n", seen);
    if (WAY == 4 || WAY == 9) while (wait(NULL) > 0) { }
}
