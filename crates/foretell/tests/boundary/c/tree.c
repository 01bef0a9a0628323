/* Two threads use one tsearch tree under a mutex, which the twin forgets. */
#include "boundary.h"
#include <search.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;
static int keys[4] = {3, 1, 4, 2}, walked;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void count(const void *node, VISIT order, int level) {
    (void)level;
    if (order == leaf || order == postorder) walked += **(int *const *)node;
}
static void add(int from) {
    FORGOTTEN(pthread_mutex_lock(&lock));
    for (int i = from; i < from + 2; i++) tsearch(&keys[i], &tree, compare);
    FORGOTTEN(pthread_mutex_unlock(&lock));
}
static void *first(void *unused) {
    add(0);
    return unused;
}
static void *second(void *unused) {
    add(2);
    FORGOTTEN(pthread_mutex_lock(&lock));
    MUST(tfind(&keys[3], &tree, compare));
    FORGOTTEN(pthread_mutex_unlock(&lock));
    return unused;
}
int main(void) {
    run_both(first, second);
    twalk(tree, count);
    for (int i = 0; i < 4; i++) tdelete(&keys[i], &tree, compare);
    printf("%d %d\n", walked, tree == NULL);
}
