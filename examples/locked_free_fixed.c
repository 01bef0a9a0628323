/* The session is freed after the worker has ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
    int requests;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *argument)
{
    struct session *session = argument;
    pthread_mutex_lock(&lock);
    session->requests++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    struct session *session = calloc(1, sizeof *session);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, session);
    pthread_join(thread, NULL);
    puts("session closed");
    free(session);
    return 0;
}
