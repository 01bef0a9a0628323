/* Peterson's algorithm with sequentially consistent atomics: complete, and the counter is 2.
 *
 *   foretell explore examples/explore/peterson_fixed.c
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int wants[2], turn;
static int counter;

static void *enter(void *number) {
    int own = (int)(long)number;
    atomic_store(&wants[own], 1);
    atomic_store(&turn, 1 - own);
    while (atomic_load(&wants[1 - own]) && atomic_load(&turn) == 1 - own)
        ;
    counter = counter + 1;
    atomic_store(&wants[own], 0);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, enter, (void *)0);
    pthread_create(&b, 0, enter, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(counter == 2);
    return 0;
}
