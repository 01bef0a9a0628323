/* Blocking calls hand the baton over: one thread waits for what another does. */
#include "check.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sched.h>
#include <threads.h>

int ping[2], pong[2], pair[2];
volatile int ready;
int word;

static void *echo(void *arg) {
    char x[4];
    for (int i = 0; i < 8; i++) {
        CHECK(read(ping[0], x, 1) == 1);
        usleep(500);
        CHECK(write(pong[1], x, 1) == 1);
    }
    CHECK(recv(pair[1], x, 4, 0) == 2);
    CHECK(send(pair[1], x, 2, 0) == 2);
    CHECK(recvfrom(pair[1], x, 4, 0, NULL, NULL) == 2);
    CHECK(sendto(pair[1], x, 2, 0, NULL, 0) == 2);
    struct iovec v = {x, 2};
    struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK(recvmsg(pair[1], &h, 0) == 2);
    CHECK(sendmsg(pair[1], &h, 0) == 2);
    CHECK(readv(pair[1], &v, 1) == 2);
    CHECK(writev(pair[1], &v, 1) == 2);
    return arg;
}

static void *futex_waker(void *arg) {
    usleep(1000);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return arg;
}

static void round_trip(int how) {
    char x = 'a';
    CHECK(write(ping[1], &x, 1) == 1);
    struct pollfd p = {pong[0], POLLIN, 0};
    struct timeval tv = {60, 0};
    struct timespec ts = {60, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pong[0], &set);
    struct epoll_event e = {EPOLLIN};
    int ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, pong[0], &e);
    switch (how) {
    case 0: CHECK(poll(&p, 1, 60000) == 1); break;
    case 1: CHECK(ppoll(&p, 1, &ts, NULL) == 1); break;
    case 2: CHECK(select(pong[0] + 1, &set, NULL, NULL, &tv) == 1); break;
    case 3: CHECK(pselect(pong[0] + 1, &set, NULL, NULL, &ts, NULL) == 1); break;
    case 4: CHECK(epoll_wait(ep, &e, 1, 60000) == 1); break;
    case 5: CHECK(epoll_pwait(ep, &e, 1, 60000, NULL) == 1); break;
    }
    CHECK(read(pong[0], &x, 1) == 1 && x == 'a');
    close(ep);
}

static void *server(void *arg) {
    int s = *(int *)arg, a = accept(s, NULL, NULL), b = accept4(s, NULL, NULL, 0);
    CHECK(a >= 0 && b >= 0);
    close(a);
    close(b);
    return arg;
}

int main(void) {
    pthread_t t, u;
    CHECK(pipe(ping) == 0 && pipe(pong) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    pthread_create(&t, NULL, echo, NULL);
    pthread_create(&u, NULL, futex_waker, NULL);
    for (int i = 0; i < 8; i++)
        round_trip(i);
    char x[4] = "xy";
    struct iovec v = {x, 2};
    for (int i = 0; i < 4; i++) {
        CHECK(send(pair[0], x, 2, 0) == 2);
        CHECK(recv(pair[0], x, 4, 0) == 2);
    }
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    pthread_join(t, NULL);
    pthread_join(u, NULL);

    int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0),
        d = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un at = {AF_UNIX};
    snprintf(at.sun_path + 1, 50, "foretell-%d", getpid());
    CHECK(bind(s, (void *)&at, sizeof at) == 0 && listen(s, 2) == 0);
    pthread_create(&t, NULL, server, &s);
    CHECK(connect(c, (void *)&at, sizeof at) == 0 && connect(d, (void *)&at, sizeof at) == 0);
    pthread_join(t, NULL);

    CHECK(system("exit 3") == 3 << 8);
    FILE *f = popen("echo hello", "r");
    char line[10];
    CHECK(fgets(line, 10, f) && strcmp(line, "hello\n") == 0);
    CHECK(pclose(f) == 0);
    CHECK(flock(fileno(stdout), LOCK_UN | LOCK_NB) == 0 || 1);
    struct timespec ms = {0, 1000000};
    CHECK(nanosleep(&ms, NULL) == 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) == 0);
    CHECK(usleep(100) == 0 && sched_yield() == 0 && thrd_sleep(&ms, NULL) == 0);
    thrd_yield();
    sleep(0);
    printf("ok\n");
    return 0;
}
