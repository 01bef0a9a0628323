/* Two threads scan a half of an array each and add sums to a total under a lock. The array is
 * filled before they are created and read after they are joined: three threads use it in turn. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, LENGTH = 4096 };

static int data[THREADS][LENGTH], rounds;
static long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument) {
    int *half = argument;
    for (int round = 0; round < rounds; round++) {
        long sum = 0;
        for (int i = 1; i < LENGTH; i++) {
            half[i] = half[i] * 3 + half[i - 1] + round;
            sum += half[i];
        }
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < LENGTH; i++) data[t][i] = i;
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, data[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    unsigned check = 0;
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < LENGTH; i++) check = check * 31 + (unsigned)data[t][i];
    printf("%ld %u\n", total, check);
    return 0;
}
