/* A pointer is checked, then used; another thread clears it. Fails only when the clearing comes
   in between, which takes a schedule. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct info { int value; } *shared;

static void *user(void *arg) {
    if (shared != NULL)
        printf("value %d\n", shared->value);
    return arg;
}

static void *clearer(void *arg) {
    shared = NULL;
    return arg;
}

int main(void) {
    pthread_t a, b;
    struct info one = {42};
    shared = &one;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, clearer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
