/* The same without the violations (atom002a): a variable says that the log is being opened, and the writer asks it. */
#include <foretell.h>
#include <pthread.h>

#define ENTRIES 33

static int length;
static int flushing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes to the log as long as it may. */
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

/* Opens the log anew and says how much is in it. */
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
