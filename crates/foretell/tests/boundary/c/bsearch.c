/* bsearch in a table under a rwlock whose writer replaces entries. */
#include "boundary.h"
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct entry { int key, value; } table[4] = {{1, 10}, {2, 20}, {3, 30}, {4, 40}};
static int sum;
static int compare(const void *a, const void *b) {
    return *(const int *)a - ((const struct entry *)b)->key;
}
static void *reader(void *unused) {
    int key = 3;
    FORGOTTEN(pthread_rwlock_rdlock(&lock));
    struct entry *found = bsearch(&key, table, 4, sizeof *table, compare);
    sum = found ? found->value : -1;
    FORGOTTEN(pthread_rwlock_unlock(&lock));
    return unused;
}
static void *writer(void *unused) {
    pthread_rwlock_wrlock(&lock);
    table[2].value = 33;
    pthread_rwlock_unlock(&lock);
    return unused;
}
int main(void) {
    run_both(reader, writer);
    printf("%s\n", sum == 30 || sum == 33 ? "found" : "lost");
}
