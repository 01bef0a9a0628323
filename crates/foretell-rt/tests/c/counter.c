/* Two threads count, one with a lock and one without. */
#include <pthread.h>
#include <stdio.h>

int racy, locked;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    int n = *(int *)arg;
    for (int i = 0; i < n; i++) {
        racy++;
        pthread_mutex_lock(&lock);
        locked++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    int n = 100;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &n);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", locked);
    return locked == 2 * n ? 0 : 1;
}
