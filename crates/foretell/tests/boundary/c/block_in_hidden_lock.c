/* Check and use under two critical sections of a mutex, made one by a lock that is not recorded. */
#include "boundary.h"
#include "../../../../../include/foretell.h"
#include "hidden.h"
static struct hidden_lock whole;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int room = 3, taken;
static void take_place(void) {
    FORGOTTEN(hidden_lock(&whole));
    FORETELL_ATOMIC_BEGIN("take place");
    pthread_mutex_lock(&lock);
    int is_room = room > 0;
    pthread_mutex_unlock(&lock);
    if (is_room) {
        pthread_mutex_lock(&lock);
        room--;
        taken++;
        pthread_mutex_unlock(&lock);
    }
    FORETELL_ATOMIC_END();
    FORGOTTEN(hidden_unlock(&whole));
}
static void *taker(void *unused) {
    take_place();
    return unused;
}
int main(void) {
    (void)whole;
    run_both(taker, taker);
    printf("%d %d\n", room, taken);
}
