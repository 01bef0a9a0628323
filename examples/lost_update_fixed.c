/* lost_update.c with an atomic balance. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int balance;

static void *deposit(void *unused)
{
    (void)unused;
    atomic_fetch_add(&balance, 10);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, deposit, NULL);
    pthread_create(&b, NULL, deposit, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return balance == 20 ? 0 : 1;
}
