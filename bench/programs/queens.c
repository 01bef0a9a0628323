/* Two threads count the solutions of the queens puzzle by recursion: small functions, many calls, a
 * board per thread. A thread takes its next first move from a shared counter under a lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, MOST = 16 };

struct board {
    int size, row[MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_move, size;
static long solutions;

static int attacks(const struct board *b, int a, int c) {
    int far = b->row[a] - b->row[c];
    return far == 0 || far == a - c || far == c - a;
}

static int is_safe(const struct board *b, int column) {
    for (int c = 0; c < column; c++)
        if (attacks(b, c, column)) return 0;
    return 1;
}

static long place(struct board *b, int column) {
    if (column == b->size) return 1;
    long count = 0;
    for (int r = 0; r < b->size; r++) {
        b->row[column] = r;
        if (is_safe(b, column)) count += place(b, column + 1);
    }
    return count;
}

static void *work(void *unused) {
    (void)unused;
    struct board board = { .size = size };
    for (;;) {
        pthread_mutex_lock(&lock);
        int move = next_move < size ? next_move++ : -1;
        pthread_mutex_unlock(&lock);
        if (move < 0) return NULL;
        board.row[0] = move;
        long count = place(&board, 1);
        pthread_mutex_lock(&lock);
        solutions += count;
        pthread_mutex_unlock(&lock);
    }
}

int main(int argc, char **argv) {
    size = argc > 1 ? atoi(argv[1]) : 9;
    if (size < 1 || size > MOST) return 2;
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, NULL);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%ld\n", solutions);
    return 0;
}
