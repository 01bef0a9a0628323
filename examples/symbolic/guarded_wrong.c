/* guarded.c with `>=` (below figure 2): the other thread may write between the read and the write
 * of the block. The values are those of guarded.c; only the condition tells the two apart. */
#include <foretell.h>
#include <pthread.h>

static int x;

static void *other(void *unused)
{
    (void)unused;
    int b = x;
    if (b >= 0)
        x = 5;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    FORETELL_ATOMIC_BEGIN("add one");
    int a = x;
    x = a + 1;
    FORETELL_ATOMIC_END();
    pthread_join(t, NULL);
    return 0;
}
