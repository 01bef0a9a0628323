/* Figure 1 (b) of the symbolic-atomicity paper. The other thread writes after a signal that comes
 * after the block: the block is serializable. */
#include <foretell.h>
#include <pthread.h>
#include <semaphore.h>

static int x;
static sem_t waits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void *other(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    sem_post(&waits);
    pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    x = 3;
    return NULL;
}

int main(void)
{
    pthread_t t;
    sem_init(&waits, 0, 0);
    pthread_create(&t, NULL, other, NULL);
    sem_wait(&waits);
    FORETELL_ATOMIC_BEGIN("set and use");
    x = 1;
    int a = x;
    FORETELL_ATOMIC_END();
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
    pthread_join(t, NULL);
    return a > 3;
}
