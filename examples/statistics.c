/* A race that does no harm here: both threads write the same value. It is predicted, and the
 * replay says that the program runs to the end as before. */
#include <pthread.h>

static int used;

static void *work(void *unused)
{
    (void)unused;
    used = 1;
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
