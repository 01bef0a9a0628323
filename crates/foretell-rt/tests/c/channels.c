/* Data goes through the kernel from one thread to another: the log has the sender first. */
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/futex.h>

int there[2], back[2], pair[2], event, word, other_word;
volatile sig_atomic_t caught;

static void handler(int n) { caught++; }

static void *echo(void *arg) {
    char c;
    eventfd_t n;
    CHECK(read(there[0], &c, 1) == 1 && c == 'a');
    CHECK(write(back[1], &c, 1) == 1);
    CHECK(eventfd_read(event, &n) == 0 && n == 7);
    CHECK(recv(pair[1], &c, 1, MSG_PEEK) == 1 && recv(pair[1], &c, 1, 0) == 1);
    CHECK(recv(pair[1], &c, 1, 0) == 0);
    CHECK(shutdown(pair[1], SHUT_WR) == 0);
    CHECK(read(there[0], &c, 1) == 0);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 1)
        syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
    return arg;
}

int main(void) {
    pthread_t t;
    char c = 'a';
    sigset_t set;
    CHECK(pipe(there) == 0 && pipe2(back, O_CLOEXEC) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && (event = eventfd(0, 0)) >= 0);
    pthread_create(&t, NULL, echo, NULL);
    CHECK(write(there[1], &c, 1) == 1);
    struct epoll_event e = {EPOLLIN, {.fd = back[0]}};
    int ep = epoll_create1(0);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, back[0], &e) == 0);
    CHECK(epoll_wait(ep, &e, 0, -1) == -1 && errno == EINVAL);
    CHECK(epoll_wait(ep, &e, 1, -1) == 1 && read(back[0], &c, 1) == 1);
    CHECK(epoll_ctl(ep, EPOLL_CTL_DEL, back[0], NULL) == 0 && close(ep) == 0);
    CHECK(close(ep) == -1 && errno == EBADF);
    CHECK(eventfd_write(event, 7) == 0);
    CHECK(send(pair[0], &c, 1, 0) == 1 && shutdown(pair[0], SHUT_WR) == 0);
    struct pollfd p[2] = {{pair[0], POLLIN, 0}, {back[0], POLLIN, 0}};
    CHECK(poll(p, 2, -1) == 1 && p[0].revents && !p[1].revents);
    CHECK(close(there[1]) == 0);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1, &other_word, 1);
    __atomic_store_n(&word, 2, __ATOMIC_SEQ_CST);
    while (pthread_tryjoin_np(t, NULL)) {
        syscall(SYS_futex, &other_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
        usleep(1000);
    }

    signal(SIGUSR1, handler);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    CHECK(tgkill(getpid(), syscall(SYS_gettid), SIGUSR1) == 0);
    CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){0}) == 0);
    CHECK(pthread_sigqueue(pthread_self(), SIGUSR1, (union sigval){0}) == 0);
    CHECK(killpg(0x7ffffff0, 0) == -1 && errno == ESRCH);
    CHECK(caught == 5);
    printf("ok\n");
    return 0;
}
