/* The bank of the symbolic-atomicity paper (bank-av). A transfer marks its two accounts, moves
 * money and marks them again; a second transfer can mark an account in between: 4 violations for
 * each worker. The argument is the number of workers. */
#include <foretell.h>
#include <pthread.h>
#include <stdlib.h>

#define MOST 16

static int workers = 2;
static int balance[MOST];
static int mark[MOST];
static pthread_mutex_t money[MOST];

/* Transfers in a ring: each account is the source of one transfer and the target of the next. */
static void *transfer(void *argument)
{
    int me = *(int *)argument;
    int from = me, to = (me + 1) % workers;
    int low = from < to ? from : to, high = from < to ? to : from;
    FORETELL_ATOMIC_BEGIN("transfer");
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
