/* A lock-free stack whose top has a version: a pop that looked at a node which was popped and
 * pushed again meanwhile tries again.
 *
 *   foretell explore examples/explore/aba_fixed.c
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

/* Nodes are numbers from 1; 0 is the end of the stack. */
static atomic_int next[4];
/* The first node, and 4 times the number of changes. */
static atomic_int top;
static atomic_int owners[4];

static void push(int node) {
    int seen;
    do {
        seen = top;
        next[node] = seen % 4;
    } while (!atomic_compare_exchange_strong(&top, &seen, (seen / 4 + 1) * 4 + node));
}

static int pop(void) {
    int seen, after;
    do {
        seen = top;
        if (seen % 4 == 0)
            return 0;
        after = next[seen % 4];
    } while (!atomic_compare_exchange_strong(&top, &seen, (seen / 4 + 1) * 4 + after));
    return seen % 4;
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
