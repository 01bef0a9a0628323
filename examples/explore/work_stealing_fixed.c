/* A work-stealing queue whose owner takes the lock as well.
 *
 *   foretell explore examples/explore/work_stealing_fixed.c
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
    int element = -1;
    pthread_mutex_lock(&lock);
    int at = tail - 1;
    if (head <= at) {
        tail = at;
        element = elements[at % 8];
    }
    pthread_mutex_unlock(&lock);
    return element;
}

static int steal(void) {
    int element = -1;
    pthread_mutex_lock(&lock);
    int at = head;
    if (at < tail) {
        head = at + 1;
        element = elements[at % 8];
    }
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
