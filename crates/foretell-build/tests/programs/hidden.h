/* Functions of a part of the program that is not recorded. */
#include <stddef.h>

struct small { int a; float b; };
struct large { long words[9]; double last; };
typedef float vector __attribute__((vector_size(16)));

int sum_of(int n, ...);
double mean_of(int n, ...);
long many(int a, long b, char c, short d, int e, long f, int g, long h, char i, short j);
double floats(double a, float b, double c, double d, float e, double f, double g, double h,
              double i, float j);
long double wide(long double a, int b, long double c);
struct small small_of(struct small s, int factor);
struct large large_of(struct large l, struct small s, long factor);
vector scaled(vector v, float by);
__int128 widest(__int128 a, __int128 b);
int apply(int (*f)(int, void *), int n, void *data);
int counter(void);
void *keep(void *p);
int *slot(int i);
