/* Two deposits at the same time: one of them is lost, and the exit status says so. */
#include <pthread.h>

static int balance;

static void *deposit(void *unused)
{
    (void)unused;
    balance = balance + 10;
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
