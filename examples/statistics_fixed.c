/* statistics.c with a flag that is meant to be written by several threads. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int used;

static void *work(void *unused)
{
    (void)unused;
    atomic_store(&used, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return used == 1 ? 0 : 1;
}
