//! Commands that start several recorded processes: each has a trace of its own.

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

const ONE: &str = "#include <pthread.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
    int NAME;\nstatic void *f(void *a) { NAME = 1; return a; }\n\
    int main(int n, char **a) { pthread_t t; pthread_create(&t, 0, f, 0); NAME = 2; pthread_join(t, 0);\n\
    if (n > 1) { if (fork() == 0) { execl(a[1], a[1], (char *)0); _exit(9); } wait(0); }\n\
    if (n > 2) return system(a[2]);\n return 0; }\n";

fn build(w: &Workshop) {
    for name in ["one", "two"] {
        w.write("a.c", &ONE.replace("NAME", name));
        w.expect(0, &["cc", "-w", "a.c", "-pthread", "-o", name]);
    }
}

#[test]
fn every_process_below_a_shell_has_a_trace() {
    let w = Workshop::new();
    build(&w);
    let shell = ["--", "sh", "-c", "./one && ./two"];
    let output = w.expect(0, &[&["record", "-o", "run.ft"], &shell[..]].concat());
    let said = stderr(&output);
    assert!(said.contains("process two: recorded ") && said.contains(" in run.2.ft"), "{said}");
    for (trace, variable) in [("run.ft", "one"), ("run.2.ft", "two")] {
        w.expect(0, &["convert", trace, "t.std"]);
        let text = w.trace("t.std");
        assert!(text.contains(&format!("|w({variable}=1)|")), "{trace}: {text}");
        w.expect(1, &["predict", "--analyses", "race", trace]);
    }
    let files = ["--json", "two.json", "--html", "two.html", "--sarif", "two.sarif"];
    let report =
        w.expect(1, &[&["predict", "--analyses", "race", "run.2.ft"], &files[..]].concat());
    let name = "two, process 2 of 2";
    assert!(stdout(&report).contains(&format!("  process   {name}\n")), "{}", stdout(&report));
    for file in ["two.json", "two.html", "two.sarif"] {
        assert!(w.trace(file).contains(name), "{file}");
    }
    let without_trace = stdout(&w.expect(1, &["report", "two.json"]));
    assert!(without_trace.contains(name), "{without_trace}");
    let first = stdout(&w.expect(1, &["predict", "--analyses", "race", "run.ft"]));
    assert!(first.contains("one, process 1 of 2"), "{first}");
    w.expect(0, &[&["record", "-o", "traces/"], &shell[..]].concat());
    assert!(w.path("traces/1-one.ft").exists() && w.path("traces/2-two.ft").exists());
}

#[test]
fn processes_that_a_recorded_one_starts_have_traces() {
    let w = Workshop::new();
    build(&w);
    let command = ["record", "-o", "traces/", "--", "./one", "./two", "./two"];
    w.expect(0, &command);
    for name in ["1-one.ft", "2-two.ft", "3-two.ft"] {
        assert!(w.path(&format!("traces/{name}")).exists(), "{name}");
    }
    w.expect(0, &["convert", "traces/3-two.ft", "t.std"]);
    let text = w.trace("t.std");
    assert!(text.contains("|w(two=1)|") && text.contains("process=two"), "{text}");
}

/// A program that forks children, each with two threads that count. `@BEFORE` is what the parent
/// does first, `@BEGIN` the child, `@GO` after its threads are created, `@WORK` each thread.
const PREFORK: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int value, *pointer = &value;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int word;
void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
void AnnotateRWLockReleased(const char *, int, const volatile void *, long);
static void spin(void) {
    for (int taken = 1;;) {
        __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
        if (!taken) break;
        sched_yield();
    }
    AnnotateRWLockAcquired(__FILE__, __LINE__, &word, 1);
}
static void unspin(void) {
    AnnotateRWLockReleased(__FILE__, __LINE__, &word, 1);
    __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
}
static void lock(void) { pthread_mutex_lock(&m); }
static void unlock(void) { pthread_mutex_unlock(&m); }
static void *idle(void *a) { for (int i = 0; i < 1000; i++) { lock(); value++; unlock(); } return a; }
static void *work(void *a) { long number = (long)a; @WORK return 0; }
static void *run(void *a) {
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            pthread_t t[2];
            @BEGIN
            for (long k = 0; k < 2; k++) pthread_create(&t[k], 0, work, (void *)k);
            @GO
            for (int k = 0; k < 2; k++) pthread_join(t[k], 0);
            printf("%d\n", value);
            fflush(stdout);
            _exit(0);
        }
    while (wait(0) > 0) {}
    return a;
}
int main(void) {
    @BEFORE
    run(0);
    @AFTER
    return 0;
}
"#;

/// Parts of a correct program and of its buggy twin; an empty part of the twin is as the other.
struct Twins {
    name: &'static str,
    parts: [&'static str; 5],
    buggy: [&'static str; 5],
}

const NAMES: [&str; 5] = ["@BEFORE", "@BEGIN", "@GO", "@WORK", "@AFTER"];

const TWINS: &[Twins] = &[
    Twins {
        name: "mutex",
        parts: ["", "", "", "lock(); value++; unlock();", ""],
        buggy: ["", "", "", "value++;", ""],
    },
    Twins {
        name: "lock that is held when the threads begin",
        parts: ["", "lock();", "value++; unlock();", "lock(); value++; unlock();", ""],
        buggy: ["", "", "unlock(); value++;", "", ""],
    },
    Twins {
        name: "lock that is held across the fork",
        parts: ["lock();", "", "value++; unlock();", "lock(); value++; unlock();", "unlock();"],
        buggy: ["", "", "unlock(); value++;", "", ""],
    },
    Twins {
        name: "lock of the program's own that is held across the fork",
        parts: ["spin();", "", "value++; unspin();", "spin(); value++; unspin();", ""],
        buggy: ["", "", "unspin(); value++;", "", ""],
    },
    Twins {
        name: "handlers of forks",
        parts: ["pthread_atfork(lock, unlock, unlock);", "", "", "lock(); value++; unlock();", ""],
        buggy: ["", "", "value++;", "", ""],
    },
    Twins {
        name: "barrier of the parent",
        parts: [
            "pthread_barrier_init(&barrier, 0, 2);",
            "",
            "",
            "if (number) value++; pthread_barrier_wait(&barrier); if (!number) value++;",
            "",
        ],
        buggy: ["", "", "", "pthread_barrier_wait(&barrier); value++;", ""],
    },
    Twins {
        name: "semaphore of the parent",
        parts: [
            "sem_init(&semaphore, 0, 0); sem_post(&semaphore);",
            "",
            "",
            "sem_wait(&semaphore); value++; sem_post(&semaphore);",
            "",
        ],
        buggy: ["", "sem_post(&semaphore);", "", "", ""],
    },
    Twins {
        name: "threads of the parent",
        parts: [
            "pthread_t t; pthread_create(&t, 0, idle, 0);",
            "pthread_mutex_init(&m, 0);",
            "",
            "lock(); value++; unlock();",
            "pthread_join(t, 0);",
        ],
        buggy: ["", "", "", "value++;", ""],
    },
];

/// Every child of a fork that starts threads has a trace: in correct programs nothing is found, in
/// their twins each child has its race.
#[test]
fn children_of_forks_have_traces() {
    let w = Workshop::new();
    for twins in TWINS {
        for buggy in [false, true] {
            let mut text = PREFORK.to_owned();
            for (i, name) in NAMES.iter().enumerate() {
                let wrong = buggy && !twins.buggy[i].is_empty();
                text = text.replace(name, if wrong { twins.buggy[i] } else { twins.parts[i] });
            }
            w.write("a.c", &text);
            w.expect(0, &["cc", "-w", "a.c", "-pthread", "-o", "a"]);
            let _ = std::fs::remove_dir_all(w.path("traces"));
            w.expect(0, &["record", "-o", "traces/", "--", "./a"]);
            for trace in ["traces/2-a.ft", "traces/3-a.ft"] {
                let output = w.run(FORETELL, &["predict", "--analyses", "race", trace]);
                let said = format!("{} {buggy} {trace}\n{}", twins.name, stdout(&output));
                assert_eq!(
                    output.status.code(),
                    Some(i32::from(buggy)),
                    "{said}{}",
                    stderr(&output)
                );
            }
            assert!(!w.path("traces/4-a.ft").exists());
        }
    }
}

/// A finding in a child is replayed in that child, whose crash is seen.
#[test]
fn findings_in_children_of_forks_are_replayed() {
    let w = Workshop::new();
    let work = "if (number) pointer = 0; else *pointer = 1;";
    let text = NAMES.iter().fold(PREFORK.to_owned(), |text, &name| {
        text.replace(name, if name == "@WORK" { work } else { "" })
    });
    w.write("a.c", &text);
    w.expect(0, &["cc", "-w", "-g", "a.c", "-pthread", "-o", "a"]);
    w.expect(0, &["record", "-o", "traces/", "--", "./a"]);
    let trace = "traces/3-a.ft";
    w.expect(1, &["predict", "--analyses", "race,nondeterminism", trace]);
    let said = w.expect(1, &["replay", trace, "race-1", "--", "./a"]);
    assert!(stdout(&said).contains("confirmed: SIGSEGV in work at a.c"), "{}", stdout(&said));
    // Another program has no such child.
    w.write("b.c", "int main(void) { return 0; }");
    w.expect(0, &["cc", "b.c", "-o", "b"]);
    let said = stderr(&w.expect(2, &["replay", trace, "race-1", "--", "./b"]));
    assert!(said.contains("a child of fork, did not come to be"), "{said}");
}

/// The C library forks by itself in `daemon`: the process that goes on is the recorded child.
#[test]
fn a_process_that_daemon_leaves_behind_has_a_trace() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         static int value, ends[2];\n\
         static void *work(void *a) { value++; return a; }\n\
         int main(void) { pthread_t t; char c; pipe(ends);\n\
         if (fork() != 0) { close(ends[1]); read(ends[0], &c, 1); return 0; }\n\
         if (daemon(1, 1)) return 1;\n\
         pthread_create(&t, 0, work, 0); value++; pthread_join(t, 0); _exit(0); }\n",
    );
    w.expect(0, &["cc", "-w", "a.c", "-pthread", "-o", "a"]);
    w.expect(0, &["record", "-o", "traces/", "--", "./a"]);
    w.expect(1, &["predict", "--analyses", "race", "traces/2-a.ft"]);
    w.expect(0, &["convert", "traces/2-a.ft", "t.std"]);
    assert!(w.trace("t.std").contains("forked=1.1"), "{}", w.trace("t.std"));
}

/// A child that runs another program, or ends, before it has a second thread has no trace.
#[test]
fn children_with_one_thread_have_no_trace() {
    let w = Workshop::new();
    build(&w);
    for end in ["_exit(3);", "exit(3);", "execl(\"/bin/true\", \"true\", (char *)0);", "pause();"] {
        let text = format!(
            "#include <signal.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
             int main(void) {{ pid_t p = fork(); if (p == 0) {{ {end} }}\n\
             if (\"{}\"[0] == 'p') {{ usleep(50000); kill(p, 9); }} wait(0); return 0; }}\n",
            &end[..1]
        );
        w.write("a.c", &text);
        w.expect(0, &["cc", "-w", "a.c", "-o", "a"]);
        let _ = std::fs::remove_dir_all(w.path("traces"));
        let said = stderr(&w.expect(0, &["record", "-o", "traces/", "--", "./a"]));
        assert!(!said.contains("not recorded"), "{said}");
        assert!(w.path("traces/1-a.ft").exists() && !w.path("traces/2-a.ft").exists(), "{end}");
    }
    let _ = std::fs::remove_dir_all(w.path("traces"));
    w.expect(0, &["record", "-o", "traces/", "--", "./one", "./two"]);
    assert!(w.path("traces/2-two.ft").exists() && !w.path("traces/3-two.ft").exists());
}
