/* Data handed over through the kernel. WAY 1: descriptor in a message, 2: epoll, 3: poll, 4:
 * ppoll, 5: select, 6: fifo, 7: pwritev and preadv, 8: vmsplice, 9: copy_file_range, 10:
 * datagrams, 11: TCP, 12: pseudo-terminal, 13: system calls by hand, 14: pread of a growing
 * file, 15: memfd, 16: eventfd as a semaphore, 17: a child's pidfd, 18: writev and readv, 19:
 * recvmmsg, 20: packets of a pipe, 21: abstract socket, 22: epoll of an eventfd with edges, 23:
 * full pipe, 24: shutdown, 25: pselect, 26: FIONREAD, 27: fsync and stat, 28: rename, 29:
 * directory appears, 30: unlink, 31: exclusive creation, 32: shared offset of lseek, 33:
 * truncation. */
#include "boundary.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <pty.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
static int ends[2], data, seen;
static char directory[] = "/tmp/boundary-XXXXXX", name[64];
static void setup(void);
static void pass(void);
static void take(void);
static void pipes(void) { MUST(pipe(ends) == 0); }
static void write_one(void) { MUST(write(ends[1], "x", 1) == 1); }
static void read_one(void) { char c; MUST(read(ends[0], &c, 1) == 1); }
static void in_directory(void) {
    MUST(mkdtemp(directory));
    snprintf(name, sizeof name, "%s/file", directory);
}
static void clean(void) { if (name[0]) { unlink(name); rmdir(name); rmdir(directory); } }
#if WAY == 1
static void setup(void) { MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
static void pass(void) {
    char c = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec v = {&c, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = sizeof control};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    int out = 1;
    h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &out, sizeof out);
    MUST(sendmsg(ends[1], &m, 0) == 1);
}
static void take(void) {
    char c, control[CMSG_SPACE(sizeof(int))];
    struct iovec v = {&c, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
        .msg_controllen = sizeof control};
    MUST(recvmsg(ends[0], &m, 0) == 1);
    int got;
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof got);
    close(got);
}
#elif WAY == 2
static int set;
static void setup(void) {
    pipes();
    struct epoll_event e = {.events = EPOLLIN};
    MUST((set = epoll_create1(0)) >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e) == 0);
}
static void pass(void) { write_one(); }
static void take(void) { struct epoll_event e; MUST(epoll_wait(set, &e, 1, -1) == 1); }
#elif WAY == 3
static void setup(void) { pipes(); }
static void pass(void) { write_one(); }
static void take(void) { struct pollfd p = {ends[0], POLLIN, 0}; MUST(poll(&p, 1, -1) == 1); }
#elif WAY == 4
static void setup(void) { pipes(); }
static void pass(void) { close(ends[1]); }
static void take(void) {
    struct pollfd p = {ends[0], POLLIN, 0};
    MUST(ppoll(&p, 1, NULL, NULL) == 1 && p.revents & POLLHUP);
}
#elif WAY == 5 || WAY == 25
static void setup(void) { pipes(); }
static void pass(void) { write_one(); }
static void take(void) {
    fd_set s;
    FD_ZERO(&s);
    FD_SET(ends[0], &s);
#if WAY == 5
    MUST(select(ends[0] + 1, &s, NULL, NULL, NULL) == 1);
#else
    MUST(pselect(ends[0] + 1, &s, NULL, NULL, NULL, NULL) == 1);
#endif
}
#elif WAY == 6
static void setup(void) { in_directory(); MUST(mkfifo(name, 0600) == 0); }
static void pass(void) { int f = open(name, O_WRONLY); MUST(write(f, "x", 1) == 1); close(f); }
static void take(void) {
    char c;
    int f = open(name, O_RDONLY);
    MUST(read(f, &c, 1) == 1);
    close(f);
}
#elif WAY == 7
static void setup(void) { MUST((ends[0] = memfd_create("m", 0)) >= 0); }
static void pass(void) { struct iovec v = {"x", 1}; MUST(pwritev(ends[0], &v, 1, 0) == 1); }
static void take(void) {
    char c = 0;
    struct iovec v = {&c, 1};
    while (preadv(ends[0], &v, 1, 0) != 1) sched_yield();
}
#elif WAY == 8
static void setup(void) { pipes(); }
static void pass(void) {
    static char c = 'x';
    struct iovec v = {&c, 1};
    MUST(vmsplice(ends[1], &v, 1, 0) == 1);
}
static void take(void) { read_one(); }
#elif WAY == 9
static void setup(void) {
    MUST((ends[0] = memfd_create("a", 0)) >= 0 && (ends[1] = memfd_create("b", 0)) >= 0);
    MUST(write(ends[1], "x", 1) == 1);
}
static void pass(void) {
    loff_t from = 0, to = 0;
    MUST(copy_file_range(ends[1], &from, ends[0], &to, 1, 0) == 1);
}
static void take(void) { char c; while (pread(ends[0], &c, 1, 0) != 1) sched_yield(); }
#elif WAY == 10
static struct sockaddr_in at = {.sin_family = AF_INET};
static void setup(void) {
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST((ends[0] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0 && (ends[1] = socket(AF_INET,
        SOCK_DGRAM, 0)) >= 0);
    MUST(bind(ends[0], (void *)&at, n) == 0 && getsockname(ends[0], (void *)&at, &n) == 0);
}
static void pass(void) { MUST(sendto(ends[1], "x", 1, 0, (void *)&at, sizeof at) == 1); }
static void take(void) { char c; MUST(recvfrom(ends[0], &c, 1, 0, NULL, NULL) == 1); }
#elif WAY == 11
static struct sockaddr_in at = {.sin_family = AF_INET};
static void setup(void) {
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST((ends[0] = socket(AF_INET, SOCK_STREAM, 0)) >= 0 && bind(ends[0], (void *)&at, n) == 0);
    MUST(listen(ends[0], 1) == 0 && getsockname(ends[0], (void *)&at, &n) == 0);
}
static void pass(void) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    MUST(connect(s, (void *)&at, sizeof at) == 0 && send(s, "x", 1, MSG_NOSIGNAL) == 1);
    close(s);
}
static void take(void) {
    char c;
    int s = accept4(ends[0], NULL, NULL, SOCK_CLOEXEC);
    MUST(recv(s, &c, 1, MSG_WAITALL) == 1);
    close(s);
}
#elif WAY == 12
static void setup(void) { MUST(openpty(&ends[0], &ends[1], NULL, NULL, NULL) == 0); }
static void pass(void) { MUST(write(ends[0], "x\n", 2) == 2); }
static void take(void) { char c[4]; MUST(read(ends[1], c, sizeof c) == 2); }
#elif WAY == 13
static void setup(void) { pipes(); }
static void pass(void) { MUST(syscall(SYS_write, ends[1], "x", 1) == 1); }
static void take(void) { char c; MUST(syscall(SYS_read, ends[0], &c, 1) == 1); }
#elif WAY == 14
static void setup(void) {
    in_directory();
    MUST((ends[0] = open(name, O_RDWR | O_CREAT, 0600)) >= 0);
}
static void pass(void) { MUST(pwrite(ends[0], "abc", 3, 0) == 3); }
static void take(void) { char c[3]; while (pread(ends[0], c, 3, 0) != 3) sched_yield(); }
#elif WAY == 15
static char *one;
static void setup(void) {
    MUST((ends[0] = memfd_create("m", 0)) >= 0 && ftruncate(ends[0], 4096) == 0);
    one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ends[0], 0);
}
static void pass(void) { __atomic_store_n(one, 1, __ATOMIC_RELEASE); }
static void take(void) {
    char c = 0;
    do { sched_yield(); MUST(pread(ends[0], &c, 1, 0) == 1); } while (!c);
}
#elif WAY == 16
static void setup(void) { MUST((ends[0] = eventfd(0, EFD_SEMAPHORE)) >= 0); }
static void pass(void) { MUST(eventfd_write(ends[0], 2) == 0); }
static void take(void) { eventfd_t v; MUST(eventfd_read(ends[0], &v) == 0 && v == 1); }
#elif WAY == 17
static pid_t child;
static int inner[2];
static void setup(void) {
    pipes();
    MUST(pipe(inner) == 0);
    child = fork();
    if (child == 0) { char c; close(inner[1]); while (read(inner[0], &c, 1) == 1) { } _exit(0); }
}
static void pass(void) { close(inner[1]); }
static void take(void) {
    struct pollfd p = {(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0};
    MUST(p.fd >= 0 && poll(&p, 1, -1) == 1 && waitpid(child, NULL, 0) == child);
}
#elif WAY == 18
static void setup(void) { pipes(); }
static void pass(void) {
    struct iovec v[2] = {{"x", 1}, {"y", 1}};
    MUST(writev(ends[1], v, 2) == 2);
}
static void take(void) {
    char a, b;
    struct iovec v[2] = {{&a, 1}, {&b, 1}};
    MUST(readv(ends[0], v, 2) == 2);
}
#elif WAY == 19
static void setup(void) { MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0); }
static void pass(void) {
    struct iovec v = {"x", 1};
    struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
    MUST(sendmmsg(ends[1], &m, 1, 0) == 1);
}
static void take(void) {
    char c;
    struct iovec v = {&c, 1};
    struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
    MUST(recvmmsg(ends[0], &m, 1, 0, NULL) == 1);
}
#elif WAY == 20
static void setup(void) { MUST(pipe2(ends, O_DIRECT) == 0); }
static void pass(void) { MUST(write(ends[1], "xy", 2) == 2); }
static void take(void) { char c[8]; MUST(read(ends[0], c, 8) == 2); }
#elif WAY == 21
static struct sockaddr_un at = {.sun_family = AF_UNIX};
static socklen_t length;
static void setup(void) {
    length = offsetof(struct sockaddr_un, sun_path) + 1 + snprintf(at.sun_path + 1, 60,
        "boundary-%d", getpid());
    MUST((ends[0] = socket(AF_UNIX, SOCK_SEQPACKET, 0)) >= 0 && bind(ends[0], (void *)&at,
        length) == 0 && listen(ends[0], 1) == 0);
}
static void pass(void) {
    int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    MUST(connect(s, (void *)&at, length) == 0);
    close(s);
}
static void take(void) { int s = accept(ends[0], NULL, NULL); MUST(s >= 0); close(s); }
#elif WAY == 22
static int set;
static void setup(void) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    MUST((ends[0] = eventfd(0, EFD_NONBLOCK)) >= 0 && (set = epoll_create1(0)) >= 0);
    MUST(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &e) == 0);
}
static void pass(void) { uint64_t one = 1; MUST(write(ends[0], &one, 8) == 8); }
static void take(void) { struct epoll_event e; MUST(epoll_pwait(set, &e, 1, 5000, NULL) == 1); }
#elif WAY == 23
/* The writer waits for room: what the reader did before is done. */
static void setup(void) {
    pipes();
    int size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
    char *fill = calloc(1, size);
    MUST(write(ends[1], fill, size) == size);
    free(fill);
}
static void pass(void) { char c[4096]; MUST(read(ends[0], c, sizeof c) > 0); }
static void take(void) { write_one(); }
#elif WAY == 24
static void setup(void) { MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
static void pass(void) { MUST(shutdown(ends[1], SHUT_WR) == 0); }
static void take(void) { char c; MUST(read(ends[0], &c, 1) == 0); }
#elif WAY == 26
static void setup(void) { pipes(); }
static void pass(void) { write_one(); }
static void take(void) {
    int n = 0;
    while (ioctl(ends[0], FIONREAD, &n) == 0 && n == 0) sched_yield();
}
#elif WAY == 27
static void setup(void) {
    in_directory();
    MUST((ends[0] = open(name, O_RDWR | O_CREAT, 0600)) >= 0);
}
static void pass(void) { MUST(write(ends[0], "abc", 3) == 3 && fsync(ends[0]) == 0); }
static void take(void) {
    struct stat s;
    do { sched_yield(); MUST(fstat(ends[0], &s) == 0); } while (s.st_size != 3);
}
#elif WAY == 28
static char other[80];
static void setup(void) {
    in_directory();
    snprintf(other, sizeof other, "%s/other", directory);
    close(open(other, O_CREAT | O_WRONLY, 0600));
}
static void pass(void) { MUST(rename(other, name) == 0); }
static void take(void) { while (access(name, F_OK) != 0) sched_yield(); }
#elif WAY == 29
static void setup(void) { in_directory(); }
static void pass(void) { MUST(mkdir(name, 0700) == 0); }
static void take(void) { struct stat s; while (lstat(name, &s) != 0) sched_yield(); }
#elif WAY == 30
static void setup(void) { in_directory(); close(open(name, O_CREAT | O_WRONLY, 0600)); }
static void pass(void) { MUST(unlink(name) == 0); }
static void take(void) { while (faccessat(AT_FDCWD, name, F_OK, 0) == 0) sched_yield(); }
#elif WAY == 31
static void setup(void) { in_directory(); MUST(close(open(name, O_CREAT | O_EXCL, 0600)) == 0); }
static void pass(void) { MUST(unlink(name) == 0); }
static void take(void) {
    int f;
    while ((f = open(name, O_CREAT | O_EXCL, 0600)) < 0) sched_yield();
    close(f);
}
#elif WAY == 32
static void setup(void) {
    in_directory();
    MUST((ends[0] = open(name, O_RDWR | O_CREAT, 0600)) >= 0);
}
static void pass(void) { MUST(lseek(ends[0], 7, SEEK_SET) == 7); }
static void take(void) { while (lseek(ends[0], 0, SEEK_CUR) != 7) sched_yield(); }
#elif WAY == 33
static void setup(void) {
    in_directory();
    MUST((ends[0] = open(name, O_RDWR | O_CREAT, 0600)) >= 0);
}
static void pass(void) { MUST(ftruncate(ends[0], 9) == 0); }
static void take(void) { while (lseek(ends[0], 0, SEEK_END) != 9) sched_yield(); }
#endif
static void *producer(void *unused) {
    HAND_OVER(data = 42, pass());
    return unused;
}
static void *consumer(void *unused) {
    take();
    seen = data;
    return unused;
}
int main(void) {
    (void)read_one, (void)write_one, (void)in_directory, (void)pipes;
    setup();
    run_both(producer, consumer);
    clean();
    printf("%d\n", seen);
}
