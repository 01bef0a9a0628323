/* Check-then-act on a map: each operation is locked, the pair of them is not. Both threads may find
 * the key missing, and the second one replaces the value of the first.
 *
 *   foretell explore --first examples/explore/map_check_then_act.c
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keys[4], values[4], size;
static int created;

/* Returns the place of a key, or `size`. */
static int find(int key) {
    int at = 0;
    while (at < size && keys[at] != key)
        at++;
    return at;
}

static int get(int key) {
    pthread_mutex_lock(&lock);
    int at = find(key);
    int value = at < size ? values[at] : 0;
    pthread_mutex_unlock(&lock);
    return value;
}

static void put(int key, int value) {
    pthread_mutex_lock(&lock);
    int at = find(key);
    keys[at] = key;
    values[at] = value;
    if (at == size)
        size++;
    created++;
    pthread_mutex_unlock(&lock);
}

static void *use(void *value) {
    if (get(7) == 0)
        put(7, (int)(long)value);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, use, (void *)1);
    pthread_create(&b, 0, use, (void *)2);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(created == 1);
    return 0;
}
