/* ABA: a lock-free stack whose nodes are pushed again while a pop looks at them.
 *
 *   foretell explore --first examples/explore/aba.c
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* Nodes are numbers from 1; 0 is the end of the stack. */
static int next[4];
static atomic_int top;
static atomic_int owners[4];

static void push(int node) {
    int seen;
    do {
        seen = top;
        next[node] = seen;
    } while (!atomic_compare_exchange_strong(&top, &seen, node));
}

static int pop(void) {
    int seen, after;
    do {
        seen = top;
        if (seen == 0)
            return 0;
        after = next[seen];
    } while (!atomic_compare_exchange_strong(&top, &seen, after));
    return seen;
}

static int take(void) {
    int node = pop();
    if (node)
        assert(atomic_fetch_add(&owners[node], 1) == 0);
    return node;
}

static void *once(void *unused) {
    take();
    return unused;
}

static void *twice_and_back(void *unused) {
    int first = take();
    take();
    if (first) {
        atomic_fetch_sub(&owners[first], 1);
        push(first);
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    push(1);
    push(2);
    push(3);
    pthread_create(&a, 0, once, 0);
    pthread_create(&b, 0, twice_and_back, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    while (take())
        ;
    return 0;
}
