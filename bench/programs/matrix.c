/* Two threads multiply matrices that are filled before: both read the factors, each writes a half
 * of the product. The threads are created and joined for every product. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, SIZE = 400 };

static double a[SIZE][SIZE], b[SIZE][SIZE], product[SIZE][SIZE];

static void *work(void *argument) {
    double (*half)[SIZE] = argument;
    for (int i = 0; i < SIZE / THREADS; i++)
        for (int j = 0; j < SIZE; j++) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++) sum += a[(half - product) + i][k] * b[k][j];
            half[i][j] = sum;
        }
    return NULL;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    double check = 0;
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[THREADS];
        for (int t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, work, product[t * SIZE / THREADS]);
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        for (int i = 0; i < SIZE; i++) check += product[i][i * 7 % SIZE];
    }
    printf("%.0f\n", check);
    return 0;
}
