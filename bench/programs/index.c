/* Two threads with an index each over random keys: a search tree in an array of tens of megabytes,
 * more than the caches hold. A thread inserts and looks up keys, and adds its counts to shared ones
 * under a lock every few thousand operations. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, BATCH = 4096 };

struct node {
    unsigned key, count, left, right;
};

struct index {
    struct node *nodes;
    unsigned used, state;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long found, added;
static unsigned size;

static unsigned next_random(struct index *x) {
    x->state = x->state * 1664525u + 1013904223u;
    return x->state >> 4;
}

/* Returns the node with this key; inserts it if there is none. */
static struct node *find(struct index *x, unsigned key) {
    unsigned at = 1, *from = NULL;
    while (at && x->nodes[at].key != key) {
        from = key < x->nodes[at].key ? &x->nodes[at].left : &x->nodes[at].right;
        at = *from;
    }
    if (!at) {
        at = *from = ++x->used;
        x->nodes[at].key = key;
    }
    return &x->nodes[at];
}

static void *work(void *number) {
    struct index x = { .state = (unsigned)(size_t)number * 77 };
    x.nodes = calloc(size + 2, sizeof *x.nodes);
    x.nodes[1].key = 1u << 27;
    x.used = 1;
    while (x.used < size) {
        unsigned long before = x.used, hits = 0;
        for (int i = 0; i < BATCH && x.used < size; i++) hits += find(&x, next_random(&x))->count++ > 0;
        pthread_mutex_lock(&lock);
        added += x.used - before;
        found += hits;
        pthread_mutex_unlock(&lock);
    }
    free(x.nodes);
    return NULL;
}

int main(int argc, char **argv) {
    size = argc > 1 ? atoi(argv[1]) : 500000;
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)(t + 1));
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%lu %lu\n", added, found);
    return 0;
}
