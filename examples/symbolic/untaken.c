/* Figure 6 of the symbolic-atomicity paper. The violation makes the first thread take a branch that
 * it did not take in the recorded run: it shows in a prefix of the run. */
#include <foretell.h>
#include <pthread.h>

static int x;

static void *other(void *result)
{
    x = 3;
    *(int *)result = x;
    return NULL;
}

int main(void)
{
    pthread_t t;
    int b = 0;
    pthread_create(&t, NULL, other, &b);
    FORETELL_ATOMIC_BEGIN("set and use");
    x = 0;
    int a = x + 1;
    FORETELL_ATOMIC_END();
    if (a == 1)
        x = 2;
    pthread_join(t, NULL);
    return b > 3;
}
