/* A POSIX message queue. */
#include "boundary.h"
#include <fcntl.h>
#include <mqueue.h>
static char name[32];
static mqd_t queue;
static int data, seen;
static void *producer(void *unused) {
    HAND_OVER(data = 42, MUST(mq_send(queue, "x", 1, 0) == 0));
    return unused;
}
static void *consumer(void *unused) {
    char got[8];
    MUST(mq_receive(queue, got, sizeof got, NULL) == 1);
    seen = data;
    return unused;
}
int main(void) {
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/boundary-%d", (int)getpid());
    MUST((queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr)) != (mqd_t)-1);
    mq_unlink(name);
    run_both(producer, consumer);
    printf("%d\n", seen);
}
