/* Two threads take jobs from a queue: fill an array, sort it, count its values in lists, add some
 * of the counts to a shared table. Nearly all work is thread-private and fits the caches. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, BUCKETS = 64, LENGTH = 256 };

struct node {
    unsigned key, count;
    struct node *next;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_job, jobs;
static unsigned long histogram[BUCKETS];

static unsigned step(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(unsigned *values, int n, unsigned seed) {
    for (int i = 0; i < n; i++) values[i] = step(&seed) % 10007;
}

static void sort(unsigned *values, int n) {
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++) {
            unsigned v = values[i];
            int j = i;
            for (; j >= gap && values[j - gap] > v; j -= gap) values[j] = values[j - gap];
            values[j] = v;
        }
}

static struct node *count(const unsigned *values, int n, struct node **heads) {
    memset(heads, 0, BUCKETS * sizeof *heads);
    struct node *last = NULL;
    for (int i = 0; i < n; i++) {
        struct node **at = &heads[values[i] % BUCKETS];
        while (*at && (*at)->key != values[i]) at = &(*at)->next;
        if (!*at) {
            *at = calloc(1, sizeof **at);
            (*at)->key = values[i];
        }
        (*at)->count++;
        last = *at;
    }
    return last;
}

static void drop(struct node **heads) {
    for (int b = 0; b < BUCKETS; b++)
        while (heads[b]) {
            struct node *node = heads[b];
            heads[b] = node->next;
            free(node);
        }
}

static void *work(void *unused) {
    (void)unused;
    unsigned *values = malloc(LENGTH * sizeof *values);
    struct node *heads[BUCKETS];
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        int job = next_job < jobs ? next_job++ : -1;
        pthread_mutex_unlock(&queue_lock);
        if (job < 0) break;
        fill(values, LENGTH, job);
        sort(values, LENGTH);
        count(values, LENGTH, heads);
        pthread_mutex_lock(&table_lock);
        for (int b = 0; b < BUCKETS; b += 8)
            for (struct node *node = heads[b]; node; node = node->next)
                histogram[b] += node->count;
        pthread_mutex_unlock(&table_lock);
        drop(heads);
    }
    free(values);
    return NULL;
}

int main(int argc, char **argv) {
    jobs = argc > 1 ? atoi(argv[1]) : 2000;
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, NULL);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    unsigned long sum = 0;
    for (int b = 0; b < BUCKETS; b++) sum = sum * 31 + histogram[b];
    printf("%lu\n", sum);
    return 0;
}
