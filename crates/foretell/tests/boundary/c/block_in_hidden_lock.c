/* Check and use in two critical sections of a mutex, made one by a lock that is not recorded. */
#include "../../../../../include/foretell.h"
#include "boundary.h"
#include "hidden.h"
static struct hidden_lock whole;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int room = 3;
static void *taker(void *unused) {
    FORGOTTEN(hidden_lock(&whole));
    FORETELL_ATOMIC_BEGIN("take a place");
    pthread_mutex_lock(&lock);
    int is_room = room > 0;
    pthread_mutex_unlock(&lock);
    if (is_room) {
        pthread_mutex_lock(&lock);
        room--;
        pthread_mutex_unlock(&lock);
    }
    FORETELL_ATOMIC_END();
    FORGOTTEN(hidden_unlock(&whole));
    return unused;
}
static void *closer(void *unused) {
    FORGOTTEN(hidden_lock(&whole));
    pthread_mutex_lock(&lock);
    room = 0;
    pthread_mutex_unlock(&lock);
    FORGOTTEN(hidden_unlock(&whole));
    return unused;
}
int main(void) {
    (void)whole;
    run_both(taker, closer);
    printf("%s\n", room >= 0 ? "closed" : "overbooked");
}
