/* A pool whose workers wait for work for ever; main returns when all jobs are done. */
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
static int jobs, done;
static void *worker(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (jobs == 0)
            pthread_cond_wait(&work, &lock);
        jobs--;
        done++;
        pthread_cond_signal(&idle);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread, NULL, worker, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        jobs++;
        pthread_cond_signal(&work);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    while (done < 3)
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
