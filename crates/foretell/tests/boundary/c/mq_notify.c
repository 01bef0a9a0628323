/* mq_notify runs a function in a thread of the library. */
#include "boundary.h"
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
static sem_t arrived;
static int data, seen;
static void arrive(union sigval value) {
    HAND_OVER(data = value.sival_int, sem_post(&arrived));
}
int main(void) {
    char name[32];
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD};
    event.sigev_notify_function = arrive;
    event.sigev_value.sival_int = 42;
    snprintf(name, sizeof name, "/boundary-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
    MUST(queue != (mqd_t)-1);
    mq_unlink(name);
    sem_init(&arrived, 0, 0);
    MUST(mq_notify(queue, &event) == 0);
    MUST(mq_send(queue, "x", 1, 0) == 0);
    sem_wait(&arrived);
    seen = data;
    printf("%d\n", seen);
}
