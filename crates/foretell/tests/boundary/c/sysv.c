/* A System V message queue (OBJECT 1) or semaphore (OBJECT 2). */
#include "boundary.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
static int id, data, seen;
struct message { long type; char text[4]; };
static void send(void) {
#if OBJECT == 1
    struct message message = {1, "x"};
    MUST(msgsnd(id, &message, sizeof message.text, 0) == 0);
#else
    struct sembuf up = {0, 1, 0};
    MUST(semop(id, &up, 1) == 0);
#endif
}
static void receive(void) {
#if OBJECT == 1
    struct message message;
    MUST(msgrcv(id, &message, sizeof message.text, 0, 0) == sizeof message.text);
#else
    struct sembuf down = {0, -1, 0};
    MUST(semop(id, &down, 1) == 0);
#endif
}
static void *producer(void *unused) {
    HAND_OVER(data = 42, send());
    return unused;
}
static void *consumer(void *unused) {
    receive();
    seen = data;
    return unused;
}
int main(void) {
#if OBJECT == 1
    MUST((id = msgget(IPC_PRIVATE, 0600)) >= 0);
    run_both(producer, consumer);
    msgctl(id, IPC_RMID, NULL);
#else
    MUST((id = semget(IPC_PRIVATE, 1, 0600)) >= 0);
    run_both(producer, consumer);
    semctl(id, 0, IPC_RMID);
#endif
    printf("%d\n", seen);
}
