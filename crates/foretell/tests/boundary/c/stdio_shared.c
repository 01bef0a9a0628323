/* One thread writes a temporary stream, a second one reads it, both under a mutex. */
#include "boundary.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, {
        pthread_mutex_lock(&lock);
        fseek(file, 0, SEEK_END);
        fputs("ready\n", file);
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    char line[16];
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        rewind(file);
        done = fgets(line, sizeof line, file) != NULL;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    seen = data;
    return unused;
}
int main(void) {
    MUST((file = tmpfile()));
    run_both(producer, consumer);
    printf("%d\n", seen);
}
