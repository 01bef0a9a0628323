/* An eventfd that is read by a library: eventfd_read and eventfd_write. */
#include "boundary.h"
#include <sys/eventfd.h>
static int event, data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(eventfd_write(event, 1) == 0));
    return unused;
}
static void *consumer(void *unused) {
    eventfd_t value;
    MUST(eventfd_read(event, &value) == 0);
    seen = data;
    return unused;
}
int main(void) {
    MUST((event = eventfd(0, 0)) >= 0);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
