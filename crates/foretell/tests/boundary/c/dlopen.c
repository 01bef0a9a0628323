/* The queue of hidden.c in a library that is loaded while the program runs. */
#include "boundary.h"
#include <dlfcn.h>
static void (*push)(void *);
static void *(*pop)(void);
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, push(&data));
    return unused;
}
static void *consumer(void *unused) {
    while (!pop()) sched_yield();
    seen = data;
    return unused;
}
int main(void) {
    void *library = dlopen(HIDDEN_LIBRARY, RTLD_NOW);
    MUST(library);
    push = (void (*)(void *))dlsym(library, "hidden_push");
    pop = (void *(*)(void))dlsym(library, "hidden_pop");
    MUST(push && pop);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
