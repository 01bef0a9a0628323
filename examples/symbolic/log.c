/* After a second bug of the Apache web server (atom002 in the symbolic-atomicity paper): a thread
 * reopens a log; each of the 33 entries of another thread can come between. 33 violations. */
#include <foretell.h>
#include <pthread.h>

#define ENTRIES 33

static int length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes to the log while it is allowed to. */
static void *writer(void *unused)
{
    (void)unused;
    for (int entry = 1; entry <= ENTRIES; entry++) {
        pthread_mutex_lock(&lock);
        length = entry;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Reopens the log and reports how much is in it. */
static int flush(void)
{
    FORETELL_ATOMIC_BEGIN("flush");
    length = 0;
    int written = length;
    FORETELL_ATOMIC_END();
    return written;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    int written = flush();
    pthread_join(t, NULL);
    return written > ENTRIES;
}
