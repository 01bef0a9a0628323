/* Two polite people at a door: each raises a hand and goes first if the other's hand is
 * down.  Every access is under the lock; raising and looking is meant to be atomic. The
 * two blocks together are a transaction cycle, and neither person goes: exit status 1.
 * */
#include <pthread.h>

#include "foretell.h"

static int hand[2], gone[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void raise_hand(int who)
{
    pthread_mutex_lock(&lock);
    hand[who] = 1;
    pthread_mutex_unlock(&lock);
}

static int is_raised(int who)
{
    pthread_mutex_lock(&lock);
    int raised = hand[who];
    pthread_mutex_unlock(&lock);
    return raised;
}

static void pass(int who)
{
    FORETELL_ATOMIC_BEGIN("pass");
    raise_hand(who);
    int other = is_raised(1 - who);
    FORETELL_ATOMIC_END();
    gone[who] = !other;
}

static void *second(void *unused)
{
    (void)unused;
    pass(1);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, second, NULL);
    pass(0);
    pthread_join(thread, NULL);
    return gone[0] || gone[1] ? 0 : 1;
}
