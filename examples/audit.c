/* An audit that reads two accounts one after the other, each under the lock: a transfer in between
 * moves money that is then counted twice.
 *
 * There is no data race. The marked block is not serializable; the replay ends in the
 * failed assertion. */
#include <assert.h>
#include <pthread.h>

#include "foretell.h"

static int savings = 60, checking = 40;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int balance(const int *account)
{
    pthread_mutex_lock(&lock);
    int amount = *account;
    pthread_mutex_unlock(&lock);
    return amount;
}

static void audit(void)
{
    FORETELL_ATOMIC_BEGIN("audit");
    int total = balance(&savings) + balance(&checking);
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
