/* main joins the worker while it holds the lock that the worker needs to finish. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    usleep(1000); /* long enough for the worker, mostly */
    pthread_mutex_lock(&lock);
    pthread_join(thread, NULL);
    printf("%d done\n", done);
    pthread_mutex_unlock(&lock);
    return 0;
}
