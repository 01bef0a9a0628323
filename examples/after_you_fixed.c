/* after_you.c with raising and looking under one lock. */
#include <pthread.h>

#include "foretell.h"

static int hand[2], gone[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pass(int who)
{
    FORETELL_ATOMIC_BEGIN("pass");
    pthread_mutex_lock(&lock);
    hand[who] = 1;
    int other = hand[1 - who];
    pthread_mutex_unlock(&lock);
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
