//! Messages through the kernel order threads; other uses of the kernel do not.

use crate::workshop::{Workshop, stdout};

/// One thread sends and another receives, in many ways; `x` is transferred with the message, or
/// (racy) accessed after it.
const HAND_OVER: &str = r#"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int x, racy, in, out, word;
const char *way;
struct sockaddr_in inet = {AF_INET};
struct sockaddr_un local = {AF_UNIX};
pthread_t taker;
volatile sig_atomic_t caught;

static int is(const char *name) { return strcmp(way, name) == 0; }
static void handler(int n) { caught = 1; x++; }

static void give(void) {
    uint64_t one = 1;
    char c = 'c';
    if (is("eventfd") || is("eventfd-poll"))
        eventfd_write(out, 1);
    else if (is("eventfd-epoll"))
        write(out, &one, 8);
    else if (is("close"))
        close(out);
    else if (is("shutdown"))
        shutdown(out, SHUT_WR);
    else if (is("tcp") || is("unix")) {
        int s = is("tcp") ? socket(AF_INET, SOCK_STREAM, 0) : socket(AF_UNIX, SOCK_STREAM, 0);
        if (is("tcp"))
            connect(s, (void *)&inet, sizeof inet);
        else
            connect(s, (void *)&local, sizeof local);
        send(s, &c, 1, 0);
    } else if (is("udp"))
        sendto(socket(AF_INET, SOCK_DGRAM, 0), &c, 1, 0, (void *)&inet, sizeof inet);
    else if (is("connect"))
        connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&inet, sizeof inet);
    else if (is("signal") || is("sigwait"))
        pthread_kill(taker, SIGUSR1);
    else if (is("futex")) {
        __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
    } else
        write(out, &c, 1);
}

static void take(void) {
    uint64_t n;
    char c;
    struct pollfd p = {in, POLLIN, 0};
    if (is("eventfd"))
        eventfd_read(in, &n);
    else if (is("eventfd-poll") || is("poll"))
        poll(&p, 1, -1);
    else if (is("select")) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(in, &set);
        select(in + 1, &set, NULL, NULL, NULL);
    } else if (is("epoll") || is("eventfd-epoll")) {
        struct epoll_event e = {EPOLLIN, {.ptr = &way}};
        int ep = epoll_create1(0);
        epoll_ctl(ep, EPOLL_CTL_ADD, in, &e);
        epoll_wait(ep, &e, 1, -1);
    } else if (is("file"))
        while (pread(in, &c, 1, 0) != 1)
            sched_yield();
    else if (is("nonblocking"))
        while (read(in, &c, 1) != 1)
            sched_yield();
    else if (is("tcp") || is("unix") || is("connect")) {
        int s = accept(in, NULL, NULL);
        if (!is("connect"))
            recv(s, &c, 1, 0);
    } else if (is("signal"))
        while (!caught)
            usleep(1000);
    else if (is("sigwait")) {
        sigset_t set;
        int got;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigwait(&set, &got);
    } else if (is("futex"))
        while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
            syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    else
        read(in, &c, 1);
}

static void *giver(void *arg) {
    if (!racy)
        x = 1;
    give();
    if (racy)
        x = 1;
    return arg;
}

static void *takes(void *arg) {
    take();
    if (!is("signal"))
        x++;
    return arg;
}

static void prepare(void) {
    int p[2];
    socklen_t len = sizeof inet;
    if (!strncmp(way, "eventfd", 7))
        in = eventfd(0, 0), out = dup(in);
    else if (is("socketpair") || is("shutdown"))
        socketpair(AF_UNIX, SOCK_STREAM, 0, p), in = p[0], out = dup2(p[1], 60);
    else if (is("datagrams"))
        socketpair(AF_UNIX, SOCK_DGRAM, 0, p), in = p[0], out = fcntl(p[1], F_DUPFD, 50);
    else if (is("tcp") || is("udp") || is("connect")) {
        inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        in = socket(AF_INET, is("udp") ? SOCK_DGRAM : SOCK_STREAM, 0);
        bind(in, (void *)&inet, sizeof inet);
        if (!is("udp"))
            listen(in, 1);
        getsockname(in, (void *)&inet, &len);
    } else if (is("unix")) {
        snprintf(local.sun_path + 1, 50, "foretell-%d", getpid());
        in = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(in, (void *)&local, sizeof local);
        listen(in, 1);
    } else if (is("file"))
        in = open("passed", O_RDWR | O_CREAT | O_TRUNC, 0600), out = open("passed", O_WRONLY);
    else
        pipe2(p, is("nonblocking") ? O_NONBLOCK : 0), in = p[0], out = p[1];
    if (is("signal"))
        signal(SIGUSR1, handler);
    if (is("sigwait")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
}

int main(int n, char **arguments) {
    pthread_t t;
    way = arguments[1];
    racy = n > 2;
    prepare();
    pthread_create(&taker, NULL, takes, NULL);
    pthread_create(&t, NULL, giver, NULL);
    pthread_join(t, NULL);
    pthread_join(taker, NULL);
    return 0;
}
"#;

const WAYS: &[&str] = &[
    "pipe",
    "nonblocking",
    "poll",
    "select",
    "epoll",
    "eventfd",
    "eventfd-poll",
    "eventfd-epoll",
    "socketpair",
    "datagrams",
    "close",
    "shutdown",
    "tcp",
    "udp",
    "unix",
    "connect",
    "file",
    "signal",
    "sigwait",
    "futex",
];

fn hands_over(compiler: &str) {
    let w = Workshop::new();
    w.write("program.c", HAND_OVER);
    let compiler = format!("--foretell-compiler={compiler}");
    w.expect(0, &["cc", &compiler, "-w", "program.c", "-pthread", "-o", "program"]);
    for way in WAYS {
        for (seed, racy, found) in [("1", None, 0), ("2", None, 0), ("1", Some("racy"), 1)] {
            let record = ["record", "--seed", seed, "-o", "run.ft", "--", "./program", way];
            w.expect(0, &[&record, racy.as_slice()].concat());
            let output =
                w.run(crate::workshop::FORETELL, &["predict", "--analyses", "race", "run.ft"]);
            assert_eq!(output.status.code(), Some(found), "{way} {racy:?}\n{}", stdout(&output));
        }
    }
}

#[test]
fn messages_order_threads() {
    hands_over("gcc");
}

#[test]
fn messages_order_threads_with_clang() {
    hands_over("clang");
}

/// Two workers read jobs from one pipe and write the results to another; no thread uses the data of
/// another. With `RACE` the first thread races with each worker that gets a job, whichever it is.
const JOBS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct job { int n; };
int jobs[2], results[2], done;
static void *work(void *arg) {
    struct job *job;
    while (read(jobs[0], &job, sizeof job) == sizeof job) {
        job->n *= 2;
        RACE
        write(results[1], &job, sizeof job);
    }
    return arg;
}
int main(void) {
    pthread_t t[2];
    struct job *job;
    int sum = 0;
    pipe(jobs), pipe(results);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 6; i++) {
        job = malloc(sizeof *job);
        job->n = i;
        write(jobs[1], &job, sizeof job);
        RACE
    }
    for (int i = 0; i < 6; i++) {
        read(results[0], &job, sizeof job);
        sum += job->n;
        free(job);
    }
    close(jobs[1]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", sum);
    return 0;
}
"#;

#[test]
fn jobs_through_pipes_do_not_race() {
    let w = Workshop::new();
    w.write("program.c", JOBS);
    for (race, found) in [("-DRACE=", 0), ("-DRACE=done++;", 1)] {
        w.expect(0, &["cc", race, "-w", "program.c", "-pthread", "-o", "program"]);
        for seed in ["1", "2", "3"] {
            let record =
                ["record", "--seed", seed, "--quantum", "5", "-o", "run.ft", "--", "./program"];
            assert_eq!(stdout(&w.expect(0, &record)), "30\n");
            let predict = ["predict", "--analyses", "race", "--all", "--format", "json", "run.ft"];
            let output = stdout(&w.expect(found, &predict));
            assert!(!output.contains(r#""objects":["heap"#), "{output}");
            assert_eq!(output.contains(r#""objects":["done"#), found == 1, "{output}");
        }
    }
    // Findings can be replayed.
    w.expect(1, &["predict", "--analyses", "race", "--json", "run.json", "run.ft"]);
    let output =
        w.run(crate::workshop::FORETELL, &["replay", "run.ft", "race-1", "--", "./program"]);
    assert_ne!(output.status.code(), Some(2), "{}", stdout(&output));
}
