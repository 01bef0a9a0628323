/* Text grows in a memory stream under a mutex; the library stores its size. */
#include "boundary.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *stream;
static char *text;
static size_t size;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, {
        pthread_mutex_lock(&lock);
        fputc('x', stream);
        pthread_mutex_unlock(&lock);
    });
    return unused;
}
static void *consumer(void *unused) {
    for (int done = 0; !done;) {
        pthread_mutex_lock(&lock);
        fflush(stream);
        done = size > 0;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    seen = data;
    return unused;
}
int main(void) {
    MUST((stream = open_memstream(&text, &size)));
    run_both(producer, consumer);
    printf("%d %zu\n", seen, size);
    fclose(stream);
    free(text);
}
