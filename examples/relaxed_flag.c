/* A message is written, then a flag is set; the reader waits for the flag and reads the message.
 * The flag is atomic, so it does not race. But it is relaxed: it orders nothing else, and a machine
 * or a compiler may show the reader the flag before the message. No interleaving of the two threads
 * shows it; the standard calls it a race all the same. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static int message;
static atomic_int ready;

static void *writer(void *unused) {
    message = 42;
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed)) {
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
