/* A thread that is cancelled in a wait cleans up; the canceller joins it and reads. */
#include "boundary.h"
static int ends[2], cleaned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void cleanup(void *unused) {
    (void)unused;
    FORGOTTEN(pthread_mutex_lock(&lock));
    cleaned += 40;
    FORGOTTEN(pthread_mutex_unlock(&lock));
}
static void *worker(void *unused) {
    char got;
    pthread_cleanup_push(cleanup, NULL);
    while (read(ends[0], &got, 1) >= 0) { }
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    MUST(pipe(ends) == 0);
    MUST(pthread_create(&thread, NULL, worker, NULL) == 0);
    pthread_cancel(thread);
    pthread_mutex_lock(&lock);
    cleaned += 2;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    printf("%d\n", cleaned);
}
