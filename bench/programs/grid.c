/* Two threads relax the halves of a shared grid in rounds that a barrier separates, then add all of
 * it up, row by row under a lock. Most accesses are to memory that both threads use. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, SIDE = 64 };

static int grid[2][SIDE][SIDE], turns;
static long sum;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void relax(int from[SIDE][SIDE], int to[SIDE][SIDE], int first, int last) {
    for (int y = first; y < last; y++)
        for (int x = 1; x < SIDE - 1; x++)
            to[y][x] = (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) / 4;
}

static void *work(void *number) {
    int me = (int)(size_t)number, rows = (SIDE - 2) / THREADS, first = 1 + me * rows;
    for (int turn = 0; turn < turns; turn++) {
        relax(grid[turn % 2], grid[(turn + 1) % 2], first, first + rows);
        pthread_barrier_wait(&barrier);
    }
    for (int y = 0; y < SIDE; y++) {
        pthread_mutex_lock(&lock);
        for (int x = 0; x < SIDE; x++) sum += grid[turns % 2][y][x];
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    turns = argc > 1 ? atoi(argv[1]) : 60;
    for (int i = 0; i < SIDE; i++) grid[0][0][i] = grid[1][0][i] = 1 << 20;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%ld\n", sum);
    return 0;
}
