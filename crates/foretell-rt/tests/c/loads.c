/* Two threads call into an instrumented library loaded at run time. */
#include "check.h"
#include <dlfcn.h>

static void (*bump)(void);

static void *work(void *arg) {
    for (int i = 0; i < 50; i++)
        bump();
    return arg;
}

int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    bump = dlsym(library, "bump");
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("ok\n");
    return 0;
}
