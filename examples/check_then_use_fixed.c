/* check_then_use.c with check and use under the lock that the writer takes too. */
#include <pthread.h>
#include <stdio.h>

struct info {
    int value;
};

static struct info the_info = {42};
static struct info *shared = &the_info;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int get_info(void)
{
    int value = -1;
    pthread_mutex_lock(&lock);
    if (shared != NULL)
        value = shared->value;
    pthread_mutex_unlock(&lock);
    return value;
}

static void *closer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    shared = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, closer, NULL);
    int value = get_info();
    pthread_join(thread, NULL);
    return value == 42 || value == -1 ? 0 : 1;
}
