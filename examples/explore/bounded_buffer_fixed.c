/* The consumers test again after the wait.
 *
 *   foretell explore examples/explore/bounded_buffer_fixed.c
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int count;

static void *consume(void *unused) {
    pthread_mutex_lock(&lock);
    while (count == 0)
        pthread_cond_wait(&filled, &lock);
    assert(count > 0);
    count--;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *produce(void *unused) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, 0, consume, 0);
    pthread_create(&b, 0, consume, 0);
    pthread_create(&c, 0, produce, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    return 0;
}
