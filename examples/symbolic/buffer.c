/* After a bug of the Apache web server (atom001 in the symbolic-atomicity paper): a block resets
 * the length of a buffer and uses it; the entry of another thread comes between. One violation. */
#include <foretell.h>
#include <pthread.h>

#define ENTRIES 1

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

/* Resets the buffer and reports how much of it was written. */
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
