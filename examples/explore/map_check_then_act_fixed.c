/* A map with an operation that puts a value only if there is none, in one critical section.
 *
 *   foretell explore examples/explore/map_check_then_act_fixed.c
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

static void put_if_absent(int key, int value) {
    pthread_mutex_lock(&lock);
    int at = find(key);
    if (at == size) {
        keys[at] = key;
        values[at] = value;
        size++;
        created++;
    }
    pthread_mutex_unlock(&lock);
}

static void *use(void *value) {
    put_if_absent(7, (int)(long)value);
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
