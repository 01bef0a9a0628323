/* The same with `>=` (the paper, below figure 2). Now the other thread may write between the block's read and its write. The
 * recorded values are those of guarded.c; only who knows the condition can tell the two programs apart. */
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
