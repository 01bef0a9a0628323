/* signal.c without the signal (below figure 2): the other thread may write between the write and
 * the read of the block. */
#include <foretell.h>
#include <pthread.h>

static int x;

static void *other(void *unused)
{
    (void)unused;
    x = 3;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    FORETELL_ATOMIC_BEGIN("set and use");
    x = 1;
    int a = x;
    FORETELL_ATOMIC_END();
    pthread_join(t, NULL);
    return a > 3;
}
