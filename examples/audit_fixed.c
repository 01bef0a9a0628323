/* audit.c with both accounts read under one lock. */
#include <assert.h>
#include <pthread.h>

#include "foretell.h"

static int savings = 60, checking = 40;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void audit(void)
{
    FORETELL_ATOMIC_BEGIN("audit");
    pthread_mutex_lock(&lock);
    int total = savings + checking;
    pthread_mutex_unlock(&lock);
    FORETELL_ATOMIC_END();
    assert(total == 100);
}

static void *transfer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    savings -= 30;
    checking += 30;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, transfer, NULL);
    audit();
    pthread_join(thread, NULL);
    return 0;
}
