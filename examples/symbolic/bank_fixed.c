/* bank.c fixed (bank-nav): a transfer reserves both accounts. No violation. */
#include <foretell.h>
#include <pthread.h>
#include <stdlib.h>

#define MOST 16

static int workers = 2;
static int balance[MOST];
static int mark[MOST];
static pthread_mutex_t money[MOST];
static int busy[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void reserve(int account)
{
    pthread_mutex_lock(&lock);
    while (busy[account])
        pthread_cond_wait(&changed, &lock);
    busy[account] = 1;
    pthread_mutex_unlock(&lock);
}

static void give_back(int account)
{
    pthread_mutex_lock(&lock);
    busy[account] = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Transfers in a ring: each account is the source of one transfer and the target of the next. */
static void *transfer(void *argument)
{
    int me = *(int *)argument;
    int from = me, to = (me + 1) % workers;
    int low = from < to ? from : to, high = from < to ? to : from;
    FORETELL_ATOMIC_BEGIN("transfer");
    reserve(low);
    reserve(high);
    mark[to] = me + 1;
    mark[from] = me + 1;
    pthread_mutex_lock(&money[low]);
    pthread_mutex_lock(&money[high]);
    balance[from] -= 10;
    balance[to] += 10;
    pthread_mutex_unlock(&money[high]);
    pthread_mutex_unlock(&money[low]);
    mark[from] = -(me + 1);
    mark[to] = -(me + 1);
    give_back(high);
    give_back(low);
    FORETELL_ATOMIC_END();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    int numbers[MOST];
    if (argc > 1)
        workers = atoi(argv[1]);
    if (workers < 2 || workers > MOST)
        return 2;
    for (int i = 0; i < workers; i++) {
        balance[i] = 100;
        pthread_mutex_init(&money[i], NULL);
    }
    for (int i = 0; i < workers; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, transfer, &numbers[i]);
    }
    int sum = 0;
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < workers; i++)
        sum += balance[i];
    return sum != 100 * workers;
}
