/* Every call that may block really blocks in one thread until another thread lets it go on: without
 * handing the baton over the program would stand still. Those that do not block are called. */
#include "check.h"
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

static int ends[2], pair[2], file, queue, sems;
static char dir[] = "/tmp/foretell-XXXXXX", fifo[64], big[300000];
static pthread_t waiter;

/* `blocks` in a thread of its own, `lets_go` here while it waits. */
static void between(void *(*blocks)(void *), void (*lets_go)(void)) {
    pthread_create(&waiter, NULL, blocks, NULL);
    usleep(2000);
    lets_go();
    CHECK(pthread_join(waiter, NULL) == 0);
}

#define BLOCKS(name, ...) static void *name(void *arg) { __VA_ARGS__; return arg; }
#define LETS_GO(name, ...) static void name(void) { __VA_ARGS__; }

/* Pipes. */
LETS_GO(writes_a_line, CHECK(write(ends[1], "hello\n", 6) == 6))
BLOCKS(reads, char b[9]; CHECK(read(ends[0], b, 9) == 6 && b[4] == 'o'))
BLOCKS(readvs, char b[9]; struct iovec v[2] = {{b, 2}, {b + 2, 7}};
    CHECK(readv(ends[0], v, 2) == 6 && b[4] == 'o'))
BLOCKS(read_chks, char b[9]; long __read_chk(int, void *, long, long);
    CHECK(__read_chk(ends[0], b, 9, 9) == 6))
BLOCKS(splices, CHECK(splice(ends[0], NULL, file, NULL, 6, 0) == 6))
BLOCKS(fgetss, char b[9]; FILE *f = fdopen(dup(ends[0]), "r");
    CHECK(fgets(b, 9, f) && strcmp(b, "hello\n") == 0); fclose(f))
BLOCKS(fgets_chks, char b[9]; FILE *f = fdopen(dup(ends[0]), "r");
    char *__fgets_chk(char *, unsigned long, int, FILE *);
    CHECK(__fgets_chk(b, 9, 9, f) == b); fclose(f))
BLOCKS(fgetcs, FILE *f = fdopen(dup(ends[0]), "r"); CHECK(fgetc(f) == 'h'); fclose(f))
BLOCKS(getcs, FILE *f = fdopen(dup(ends[0]), "r"); CHECK(getc(f) == 'h'); fclose(f))
BLOCKS(getchars, dup2(ends[0], 0); CHECK(getchar() == 'h'); close(0))
BLOCKS(freads, char b[9]; FILE *f = fdopen(dup(ends[0]), "r");
    CHECK(fread(b, 2, 3, f) == 3); fclose(f))
BLOCKS(fread_chks, char b[9]; FILE *f = fdopen(dup(ends[0]), "r");
    unsigned long __fread_chk(void *, unsigned long, unsigned long, unsigned long, FILE *);
    CHECK(__fread_chk(b, 9, 2, 3, f) == 3); fclose(f))
BLOCKS(getlines, char *l = NULL; size_t n = 0; FILE *f = fdopen(dup(ends[0]), "r");
    CHECK(getline(&l, &n, f) == 6); free(l); fclose(f))
BLOCKS(getdelims, char *l = NULL; size_t n = 0; FILE *f = fdopen(dup(ends[0]), "r");
    CHECK(getdelim(&l, &n, 'l', f) == 3); free(l); fclose(f))

/* More than a pipe holds. */
LETS_GO(drains, for (long n = 0; n < sizeof big;) n += read(ends[0], big, sizeof big))
BLOCKS(writes, CHECK(write(ends[1], big, sizeof big) == sizeof big))
BLOCKS(writevs, struct iovec v[2] = {{big, 1}, {big + 1, sizeof big - 1}};
    CHECK(writev(ends[1], v, 2) == sizeof big))
BLOCKS(sendfiles, off_t at = 0; CHECK(sendfile(ends[1], file, &at, sizeof big) > 0); close(ends[1]))
BLOCKS(sendfile64s, off64_t at = 0; CHECK(sendfile64(ends[1], file, &at, sizeof big) > 0); close(ends[1]))
LETS_GO(drains_to_the_end, while (read(ends[0], big, sizeof big) > 0) {})

/* Sockets. */
LETS_GO(sends, CHECK(send(pair[1], "hello", 5, 0) == 5))
LETS_GO(sends_to, CHECK(sendto(pair[1], "hello", 5, 0, NULL, 0) == 5))
LETS_GO(sends_msg, struct iovec v = {"hello", 5}; struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK(sendmsg(pair[1], &h, 0) == 5))
LETS_GO(sends_mmsg, struct iovec v = {"hello", 5};
    struct mmsghdr h = {{.msg_iov = &v, .msg_iovlen = 1}}; CHECK(sendmmsg(pair[1], &h, 1, 0) == 1))
BLOCKS(recvs, char b[9]; CHECK(recv(pair[0], b, 9, 0) == 5 && b[4] == 'o'))
BLOCKS(recv_chks, char b[9]; long __recv_chk(int, void *, long, long, int);
    CHECK(__recv_chk(pair[0], b, 9, 9, 0) == 5))
BLOCKS(recvfroms, char b[9]; CHECK(recvfrom(pair[0], b, 9, 0, NULL, NULL) == 5 && b[4] == 'o'))
BLOCKS(recvfrom_chks, char b[9];
    long __recvfrom_chk(int, void *, long, long, int, void *, void *);
    CHECK(__recvfrom_chk(pair[0], b, 9, 9, 0, NULL, NULL) == 5))
BLOCKS(recvmsgs, char b[9]; struct iovec v = {b, 9}; struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
    CHECK(recvmsg(pair[0], &h, 0) == 5 && b[4] == 'o'))
BLOCKS(recvmmsgs, char b[9]; struct iovec v = {b, 9};
    struct mmsghdr h = {{.msg_iov = &v, .msg_iovlen = 1}};
    CHECK(recvmmsg(pair[0], &h, 1, 0, NULL) == 1 && h.msg_len == 5))
BLOCKS(poll_chks, struct pollfd p = {pair[0], POLLIN};
    int __poll_chk(struct pollfd *, unsigned long, int, unsigned long);
    CHECK(__poll_chk(&p, 1, -1, sizeof p) == 1); recvs(NULL))
BLOCKS(ppoll_chks, struct pollfd p = {pair[0], POLLIN};
    int __ppoll_chk(struct pollfd *, unsigned long, void *, void *, unsigned long);
    CHECK(__ppoll_chk(&p, 1, NULL, NULL, sizeof p) == 1); recvs(NULL))
BLOCKS(epoll_pwait2s, struct epoll_event e = {EPOLLIN}; int ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &e);
    CHECK(epoll_pwait2(ep, &e, 1, NULL, NULL) == 1 || errno == ENOSYS); close(ep); recvs(NULL))

/* The other end must be opened. */
static int opened;
LETS_GO(opens_for_writing, opened = open(fifo, O_WRONLY); CHECK(opened >= 0))
#define OPENS(name, how) BLOCKS(name, int fd = how; CHECK(fd >= 0); close(fd))
OPENS(opens, open(fifo, O_RDONLY))
OPENS(opens64, open64(fifo, O_RDONLY))
OPENS(opensat, openat(AT_FDCWD, fifo, O_RDONLY))
OPENS(opensat64, openat64(AT_FDCWD, fifo, O_RDONLY))
BLOCKS(fopens, FILE *f = fopen(fifo, "r"); CHECK(f); fclose(f))
BLOCKS(fopens64, FILE *f = fopen64(fifo, "r"); CHECK(f); fclose(f))

/* Locks of files: another descriptor holds them. */
static int holder;
static struct flock whole = {F_WRLCK, SEEK_SET, 0, 0}, none = {F_UNLCK, SEEK_SET, 0, 0};
LETS_GO(unlocks, CHECK(fcntl(holder, F_OFD_SETLK, &none) == 0))
LETS_GO(unflocks, CHECK(flock(holder, LOCK_UN) == 0))
BLOCKS(lockfs, CHECK(lockf(file, F_LOCK, 0) == 0 && lockf(file, F_ULOCK, 0) == 0))
BLOCKS(fcntls, CHECK(fcntl(file, F_SETLKW, &whole) == 0 && fcntl(file, F_SETLK, &none) == 0))
BLOCKS(fcntl64s, CHECK(fcntl64(file, F_SETLKW, &whole) == 0 && fcntl64(file, F_SETLK, &none) == 0))
BLOCKS(flocks, CHECK(flock(file, LOCK_EX) == 0 && flock(file, LOCK_UN) == 0))

/* Children: they end when their input does. */
static pid_t child(void) {
    extern char **environ;
    pid_t pid;
    posix_spawn_file_actions_t a;
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_adddup2(&a, ends[0], 0);
    posix_spawn_file_actions_addclose(&a, ends[1]);
    char *args[] = {"sh", "-c", "read x; exit 3", NULL};
    CHECK(posix_spawn(&pid, "/bin/sh", &a, NULL, args, environ) == 0);
    return pid;
}
BLOCKS(waits, int s; pid_t p = child(); CHECK(wait(&s) == p && WEXITSTATUS(s) == 3))
BLOCKS(waitpids, int s; pid_t p = child(); CHECK(waitpid(p, &s, 0) == p && WEXITSTATUS(s) == 3))
BLOCKS(wait3s, int s; pid_t p = child(); CHECK(wait3(&s, 0, NULL) == p && WEXITSTATUS(s) == 3))
BLOCKS(wait4s, int s; pid_t p = child(); struct rusage u;
    CHECK(wait4(p, &s, 0, &u) == p && WEXITSTATUS(s) == 3))
BLOCKS(waitids, siginfo_t s; pid_t p = child();
    CHECK(waitid(P_PID, p, &s, WEXITED) == 0 && s.si_status == 3))

/* Signals. */
static void handler(int n) {}
LETS_GO(signals, CHECK(pthread_kill(waiter, SIGUSR1) == 0))
BLOCKS(sigwaits, sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); int n = 0;
    CHECK(sigwait(&s, &n) == 0 && n == SIGUSR1))
BLOCKS(sigwaitinfos, sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1);
    CHECK(sigwaitinfo(&s, NULL) == SIGUSR1))
BLOCKS(sigtimedwaits, sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); struct timespec t = {60, 0};
    CHECK(sigtimedwait(&s, NULL, &t) == SIGUSR1))
BLOCKS(sigsuspends, sigset_t s; sigemptyset(&s); CHECK(sigsuspend(&s) == -1 && errno == EINTR))

/* System V and POSIX queues, System V semaphores. */
struct msg { long kind; char text[4]; };
LETS_GO(sends_message, struct msg m = {1, "hey"}; CHECK(msgsnd(queue, &m, 4, 0) == 0))
BLOCKS(msgrcvs, struct msg m; CHECK(msgrcv(queue, &m, 4, 0, 0) == 4 && m.text[2] == 'y'))
BLOCKS(msgsnds, struct msg m = {1, "hey"}; for (int i = 0; i < 2; i++) CHECK(msgsnd(queue, &m, 4, 0) == 0))
LETS_GO(receives_messages, msgrcvs(NULL); msgrcvs(NULL))
LETS_GO(ups, struct sembuf b = {0, 1, 0}; CHECK(semop(sems, &b, 1) == 0))
BLOCKS(semops, struct sembuf b = {0, -1, 0}; CHECK(semop(sems, &b, 1) == 0))
BLOCKS(semtimedops, struct sembuf b = {0, -1, 0}; struct timespec t = {60, 0};
    CHECK(semtimedop(sems, &b, 1, &t) == 0))
static mqd_t mq;
LETS_GO(mq_sends, CHECK(mq_send(mq, "hey", 3, 0) == 0))
LETS_GO(mq_receives, char b[8]; CHECK(mq_receive(mq, b, 8, NULL) == 3); CHECK(mq_receive(mq, b, 8, NULL) == 3))
BLOCKS(mq_receivess, char b[8]; CHECK(mq_receive(mq, b, 8, NULL) == 3 && b[2] == 'y'))
BLOCKS(mq_timedreceives, char b[8]; struct timespec at = in_ms(CLOCK_REALTIME, 60000);
    CHECK(mq_timedreceive(mq, b, 8, NULL, &at) == 3))
BLOCKS(mq_sendss, for (int i = 0; i < 2; i++) CHECK(mq_send(mq, "hey", 3, 0) == 0))
BLOCKS(mq_timedsends, struct timespec at = in_ms(CLOCK_REALTIME, 60000);
    for (int i = 0; i < 2; i++) CHECK(mq_timedsend(mq, "hey", 3, 0, &at) == 0))

static void new_pipe(void) {
    close(ends[0]);
    close(ends[1]);
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
}
LETS_GO(closes, CHECK(write(ends[1], "\n", 1) == 1))

static void pipes(void) {
    void *(*readers[])(void *) = {reads, readvs, read_chks, splices, fgetss, fgets_chks, fgetcs,
        getcs, getchars, freads, fread_chks, getlines, getdelims};
    for (int i = 0; i < sizeof readers / sizeof *readers; i++) {
        new_pipe();
        between(readers[i], writes_a_line);
    }
    new_pipe();
    between(writes, drains);
    between(writevs, drains);
    between(sendfiles, drains_to_the_end);
    new_pipe();
    between(sendfile64s, drains_to_the_end);
    ends[0] = ends[1] = -1;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    between(waits, closes);
    between(waitpids, closes);
    between(wait3s, closes);
    between(wait4s, closes);
    between(waitids, closes);
}

static void sockets(void) {
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    between(recvs, sends);
    between(recv_chks, sends);
    between(recvfroms, sends_to);
    between(recvfrom_chks, sends);
    between(recvmsgs, sends_msg);
    between(recvmmsgs, sends_mmsg);
    between(poll_chks, sends);
    between(ppoll_chks, sends);
    between(epoll_pwait2s, sends);
}

static void files(void) {
    struct iovec v = {big, 100};
    CHECK(pwrite(file, "abcdef", 6, 0) == 6 && pwrite64(file, "ABC", 3, 2) == 3);
    CHECK(pwritev(file, &v, 1, 200) == 100 && pwritev64(file, &v, 1, 300) == 100);
    char b[8];
    CHECK(pread(file, b, 6, 0) == 6 && b[2] == 'A' && pread64(file, b, 2, 4) == 2 && b[0] == 'C');
    v.iov_len = 4;
    CHECK(preadv(file, &v, 1, 0) == 4 && preadv64(file, &v, 1, 0) == 4 && big[1] == 'b');
    long __pread_chk(int, void *, long, long, long), __pread64_chk(int, void *, long, long, long);
    CHECK(__pread_chk(file, b, 6, 0, 8) == 6 && __pread64_chk(file, b, 6, 0, 8) == 6);
    CHECK(fsync(file) == 0 && fdatasync(file) == 0);
    CHECK(fcntl(holder, F_OFD_SETLK, &whole) == 0);
    between(lockfs, unlocks);
    CHECK(fcntl(holder, F_OFD_SETLK, &whole) == 0);
    between(fcntls, unlocks);
    CHECK(fcntl(holder, F_OFD_SETLK, &whole) == 0);
    between(fcntl64s, unlocks);
    CHECK(flock(holder, LOCK_EX) == 0);
    between(flocks, unflocks);
    void *(*openers[])(void *) = {opens, opens64, opensat, opensat64, fopens, fopens64};
    for (int i = 0; i < 6; i++) {
        between(openers[i], opens_for_writing);
        close(opened);
    }
}

static void queues(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    sems = semget(IPC_PRIVATE, 1, 0600);
    CHECK(queue >= 0 && sems >= 0);
    between(msgrcvs, sends_message);
    struct msqid_ds d;
    CHECK(msgctl(queue, IPC_STAT, &d) == 0);
    d.msg_qbytes = 4;
    CHECK(msgctl(queue, IPC_SET, &d) == 0);
    between(msgsnds, receives_messages);
    between(semops, ups);
    between(semtimedops, ups);
    msgctl(queue, IPC_RMID, NULL);
    semctl(sems, 0, IPC_RMID);
    struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8};
    char name[32];
    snprintf(name, 32, "/foretell-%d", getpid());
    mq = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
    CHECK(mq >= 0);
    mq_unlink(name);
    between(mq_receivess, mq_sends);
    between(mq_timedreceives, mq_sends);
    between(mq_sendss, mq_receives);
    between(mq_timedsends, mq_receives);
}

static void waits_for_signals(void) {
    struct sigaction sa = {.sa_handler = handler};
    sigaction(SIGUSR1, &sa, NULL);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
    between(sigwaits, signals);
    between(sigwaitinfos, signals);
    between(sigtimedwaits, signals);
    between(sigsuspends, signals);
}

int yields(void) __asm__("pthread_yield"); /* the header has another name for it */

static void the_rest(void) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *found;
    CHECK(getaddrinfo("127.0.0.1", NULL, &hints, &found) == 0);
    freeaddrinfo(found);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(slave >= 0 && tcdrain(slave) == 0);
    CHECK(yields() == 0);
}

int main(void) {
    char path[64];
    CHECK(mkdtemp(dir));
    snprintf(path, 64, "%s/file", dir);
    snprintf(fifo, 64, "%s/fifo", dir);
    file = open(path, O_RDWR | O_CREAT, 0600);
    holder = open(path, O_RDWR);
    CHECK(file >= 0 && holder >= 0 && mkfifo(fifo, 0600) == 0);
    CHECK(pwrite(file, big, sizeof big, 0) == sizeof big);
    pipes();
    sockets();
    files();
    queues();
    waits_for_signals();
    the_rest();
    unlink(path);
    unlink(fifo);
    rmdir(dir);
    printf("ok\n");
    return 0;
}
