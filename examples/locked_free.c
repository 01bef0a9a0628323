/* Every access to the session is under the lock, and so is its end: there is no race. The order of
   the two is open all the same, and the worker may use the session after it was freed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    usleep(1000); /* long enough for the worker, mostly */
    pthread_mutex_lock(&lock);
    puts("session closed");
    free(session);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
