#include "hidden.h"
#include <stdarg.h>

int sum_of(int n, ...) {
    va_list list;
    int sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) sum += va_arg(list, int);
    va_end(list);
    return sum;
}

double mean_of(int n, ...) {
    va_list list;
    double sum = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++) sum += va_arg(list, double);
    va_end(list);
    return sum / n;
}

long many(int a, long b, char c, short d, int e, long f, int g, long h, char i, short j) {
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j;
}

double floats(double a, float b, double c, double d, float e, double f, double g, double h,
              double i, float j) {
    return a + 2 * b + 3 * c + 5 * d + 7 * e + 11 * f + 13 * g + 17 * h + 19 * i + 23 * j;
}

long double wide(long double a, int b, long double c) { return a * b - c; }

struct small small_of(struct small s, int factor) {
    s.a *= factor;
    s.b *= factor;
    return s;
}

struct large large_of(struct large l, struct small s, long factor) {
    for (int i = 0; i < 9; i++) l.words[i] = l.words[i] * factor + s.a;
    l.last += s.b;
    return l;
}

vector scaled(vector v, float by) { return v * by; }

__int128 widest(__int128 a, __int128 b) { return a * b; }

int apply(int (*f)(int, void *), int n, void *data) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += f(i, data);
    return sum;
}

int counter(void) {
    static int n;
    return ++n;
}

void *keep(void *p) {
    static void *kept;
    void *before = kept;
    kept = p;
    return before;
}

static int slots[4];
int *slot(int i) { return &slots[i & 3]; }
