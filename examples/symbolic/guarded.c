/* Figure 1 (a) of the symbolic-atomicity paper. The other thread writes only if it reads more than
 * 0, which it can only after the block has written: the block is serializable. */
#include <foretell.h>
#include <pthread.h>

static int x;

static void *other(void *unused)
{
    (void)unused;
    int b = x;
    if (b > 0)
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
