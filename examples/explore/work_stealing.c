/* A work-stealing queue whose owner takes the last element without the lock: an element may be
 * taken twice, or never.
 *
 *   foretell explore --first examples/explore/work_stealing.c
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int head, tail;
static int elements[8];
static atomic_int taken[2];

static void push(int element) {
    int at = tail;
    elements[at % 8] = element;
    tail = at + 1;
}

static int pop(void) {
    int at = tail - 1;
    tail = at;
    if (head <= at)
        return elements[at % 8];
    tail = at + 1;
    return -1;
}

static int steal(void) {
    int element = -1;
    pthread_mutex_lock(&lock);
    int at = head;
    head = at + 1;
    if (at < tail)
        element = elements[at % 8];
    else
        head = at;
    pthread_mutex_unlock(&lock);
    return element;
}

static void count(int element) {
    if (element >= 0)
        taken[element]++;
}

static void *thief(void *unused) {
    count(steal());
    return unused;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, thief, 0);
    push(0);
    push(1);
    count(pop());
    count(pop());
    pthread_join(a, 0);
    assert(taken[0] == 1 && taken[1] == 1);
    return 0;
}
