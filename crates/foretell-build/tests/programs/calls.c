#include "hidden.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;
static int global = 3;

static int add(int i, void *data) { return i + *(int *)data; }

static int escape(int i, void *data) {
    if (i == 2) longjmp(back, 7);
    return *(int *)data;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    printf("%d %d\n", sum_of(3, 1, 2, 3), sum_of(9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    printf("%g %g\n", mean_of(2, 1.0, 2.0), mean_of(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.5));
    printf("%ld\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    printf("%g\n", floats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    printf("%Lg\n", wide(1.5L, 3, 0.25L));
    struct small s = small_of((struct small){2, 1.5f}, 3);
    printf("%d %g\n", s.a, s.b);
    struct large l = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.5};
    l = large_of(l, s, 10);
    printf("%ld %ld %g\n", l.words[0], l.words[8], l.last);
    vector v = scaled((vector){1, 2, 3, 4}, 2.5f);
    printf("%g %g\n", v[0], v[3]);
    printf("%lld\n", (long long)(widest((__int128)1 << 40, 12345) >> 40));
    printf("%d\n", apply(add, 4, &global));
    int code = setjmp(back);
    if (code == 0) {
        apply(escape, 4, &global);
        puts("not reached");
    } else {
        printf("back with %d\n", code);
    }
    int (*function)(void) = counter;
    function();
    printf("%d %d\n", function(), function == counter);
    void *block = malloc(16);
    keep(block);
    printf("%d\n", keep(NULL) == block);
    *slot(1) = 5;
    printf("%d %d\n", *slot(1), *slot(5));
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
    printf("%d%d%d %ld\n", numbers[0], numbers[1], numbers[2], strtol("42", NULL, 10));
    char text[8] = "a,b";
    printf("%s %d\n", strtok(text, ","), atoi("17") + abs(-3));
    free(block);
    return 0;
}
