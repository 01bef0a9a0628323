/* Whether the buffer is there is looked up in one section of the lock, and the buffer freed in
   another: both threads may find it and free it twice. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;

static void *release(void *unused)
{
    pthread_mutex_lock(&lock);
    char *mine = buffer;
    pthread_mutex_unlock(&lock);
    if (mine == NULL)
        return unused;
    pthread_mutex_lock(&lock);
    free(mine);
    buffer = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    buffer = malloc(64);
    pthread_create(&first, NULL, release, NULL);
    pthread_create(&second, NULL, release, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
