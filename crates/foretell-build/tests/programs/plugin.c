#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int counter(void);

/* In a shared library: state of the C library and of an object that is not recorded. */
int plugin(const char *name) {
    char *copy = strdup(name);
    int n = counter() + rand() % 1;
    printf("plugin %s\n", copy);
    free(copy);
    return n;
}
