/* relaxed_flag.c, corrected: the store of the flag releases, the load acquires, so that the message
 * is written before it is read. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int message;
static atomic_int ready;

static void *writer(void *unused) {
    message = 42;
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *reader(void *unused) {
    while (!atomic_load_explicit(&ready, memory_order_acquire)) {
    }
    printf("%d\n", message);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
