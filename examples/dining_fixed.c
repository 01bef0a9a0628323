/* dining.c with one order of the locks for both threads. */
#include <pthread.h>

static pthread_mutex_t fork_a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_b = PTHREAD_MUTEX_INITIALIZER;
static int meals;

static void eat(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    meals++;
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *left(void *unused)
{
    (void)unused;
    eat(&fork_a, &fork_b);
    return NULL;
}

static void *right(void *unused)
{
    (void)unused;
    eat(&fork_a, &fork_b);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return meals == 2 ? 0 : 1;
}
