/* Two threads with a sieve each: bytes that are written repeatedly; the number of primes goes to a
 * shared total under a lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, LENGTH = 200000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds;
static long total;

static void *work(void *unused) {
    (void)unused;
    char *prime = malloc(LENGTH);
    for (int round = 0; round < rounds; round++) {
        memset(prime, 1, LENGTH);
        long count = 0;
        for (int i = 2; i < LENGTH; i++) {
            if (!prime[i]) continue;
            count++;
            for (long j = (long)i * i; j < LENGTH; j += i) prime[j] = 0;
        }
        pthread_mutex_lock(&lock);
        total += count;
        pthread_mutex_unlock(&lock);
    }
    free(prime);
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, NULL);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("%ld\n", total);
    return 0;
}
