/* An atomic flag in memory that is mapped at two addresses: memfd (MAP 1) or System V (MAP 2). */
#include "boundary.h"
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
static atomic_int *here, *there;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, atomic_store(here, 1));
    return unused;
}
static void *consumer(void *unused) {
    while (!atomic_load(there)) sched_yield();
    seen = data;
    return unused;
}
int main(void) {
#if MAP == 1
    int file = memfd_create("boundary", 0);
    MUST(file >= 0 && ftruncate(file, 4096) == 0);
    here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    there = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
#else
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    here = shmat(id, NULL, 0);
    there = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
#endif
    MUST(here != MAP_FAILED && there != MAP_FAILED && here != there);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
