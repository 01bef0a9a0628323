/* buffer.c without the violation (atom001a): the writer asks a flag that the buffer is in use. */
#include <foretell.h>
#include <pthread.h>

#define ENTRIES 1

static int length;
static int flushing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes to the log while it is allowed to. */
static void *writer(void *unused)
{
    (void)unused;
    for (int entry = 1; entry <= ENTRIES; entry++) {
        pthread_mutex_lock(&lock);
        if (!flushing)
            length = entry;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Resets the buffer and reports how much of it was written. */
static int flush(void)
{
    pthread_mutex_lock(&lock);
    flushing = 1;
    pthread_mutex_unlock(&lock);
    FORETELL_ATOMIC_BEGIN("flush");
    length = 0;
    int written = length;
    FORETELL_ATOMIC_END();
    pthread_mutex_lock(&lock);
    flushing = 0;
    pthread_mutex_unlock(&lock);
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
