/* Two threads move money between shared accounts with a lock each: little work between two locks,
 * and nearly every access is to memory that both threads use. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, ACCOUNTS = 64 };

struct account {
    pthread_mutex_t lock;
    long money, moves;
};

static struct account accounts[ACCOUNTS];
static int transfers;

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void transfer(struct account *from, struct account *to, long amount) {
    /* In the order of the addresses: no deadlock. */
    pthread_mutex_lock(from < to ? &from->lock : &to->lock);
    pthread_mutex_lock(from < to ? &to->lock : &from->lock);
    if (from->money >= amount) {
        from->money -= amount;
        to->money += amount;
        from->moves++;
        to->moves++;
    }
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_unlock(&to->lock);
}

static void *work(void *number) {
    unsigned state = (unsigned)(size_t)number;
    for (int i = 0; i < transfers; i++) {
        unsigned from = next_random(&state) % ACCOUNTS, to = next_random(&state) % ACCOUNTS;
        if (from != to) transfer(&accounts[from], &accounts[to], next_random(&state) % 100);
    }
    return NULL;
}

int main(int argc, char **argv) {
    transfers = argc > 1 ? atoi(argv[1]) : 20000;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].money = 1000;
    }
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)(t + 1));
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) sum += accounts[i].money;
    printf("%ld\n", sum);
    return 0;
}
