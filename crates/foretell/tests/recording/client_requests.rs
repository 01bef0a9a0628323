//! Client requests of Valgrind mean what they say: each in a correct program and in one with a bug,
//! with both compilers, unoptimised and optimised.

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

/// A header of the program's own with what the macros of Valgrind become.
const REQUESTS: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
static inline unsigned long request(unsigned long otherwise, unsigned number, unsigned long a,
                                    unsigned long b) {
    volatile unsigned long args[6] = {number, a, b, 0, 0, 0};
    unsigned long result;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "=d"(result) : "a"(&args[0]), "0"(otherwise) : "cc", "memory");
    return result;
}
#define HG(n, a, b) request(0, 0x48470000 + (n), (unsigned long)(a), (unsigned long)(b))
#define DRD(n, a, b) request(0, 0x44520000 + (n), (unsigned long)(a), (unsigned long)(b))
#define HAPPENS_BEFORE(x) HG(0x121, x, 0)
#define HAPPENS_AFTER(x) HG(0x122, x, 0)
#define MUTEX_INIT_POST(x) HG(0x103, x, 0)
#define MUTEX_LOCK_PRE(x) HG(0x107, x, 0)
#define MUTEX_LOCK_POST(x) HG(0x108, x, 0)
#define MUTEX_UNLOCK_PRE(x) HG(0x105, x, 0)
#define MUTEX_UNLOCK_POST(x) HG(0x106, x, 0)
#define RWLOCK_CREATE(x) HG(0x10e, x, 0)
#define RWLOCK_ACQUIRED(x, w) HG(0x111, x, w)
#define RWLOCK_RELEASED(x) HG(0x112, x, 0)
#define SEM_POST_PRE(x) HG(0x116, x, 0)
#define SEM_WAIT_POST(x) HG(0x117, x, 0)
#define UNIMPLEMENTED(name) HG(0x120, name, 0)
#define DISABLE_CHECKING(x, n) HG(0x127, x, n)
#define ENABLE_CHECKING(x, n) HG(0x128, x, n)
#define CLEAN_MEMORY(x, n) HG(0, x, n)
#define DRD_IGNORE_VAR(x) DRD(2, &(x), sizeof(x))
#define DRD_STOP_IGNORING_VAR(x) DRD(3, &(x), sizeof(x))
#define DRD_RECORD_LOADS(on) DRD(6, on, 0)
#define DRD_RECORD_STORES(on) DRD(7, on, 0)
#define DRD_SEM_WAIT_POST(x) DRD(13, x, 0)
#define DRD_SEM_POST_PRE(x) DRD(14, x, 0)
"#;

/// A flag and a lock in inline assembly, which no compiler instruments: without the requests
/// nothing orders the threads.
const PROGRAM: &str = r#"
#include "requests.h"
int other;
static int flag, word, value, count;
static int *block;
static void set(void) { __asm__ volatile("movl $1, %0" : "=m"(flag) : : "memory"); }
static int get(void) {
    int v;
    __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(flag) : "memory");
    return v;
}
static void spin(void) {
    for (int taken = 1;;) {
        __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
        if (!taken) return;
        sched_yield();
    }
}
static void unspin(void) { __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory"); }
static void *work(void *a) { @WORK return a; }
int main(void) {
    pthread_t t;
    @BEFORE
    pthread_create(&t, 0, work, 0);
    @MAIN
    pthread_join(t, 0);
    return request(0, 0x1001, 0, 0) + request(7, 0x12345678, 0, 0) - 7;
}
"#;

/// `@WORK`, `@BEFORE` and `@MAIN` of the correct program, and those parts of the buggy one that
/// differ.
struct Twins {
    name: &'static str,
    work: &'static str,
    before: &'static str,
    main: &'static str,
    buggy_work: &'static str,
    buggy_main: &'static str,
}

const WAIT: &str = "while (!get()) sched_yield();";

const TWINS: &[Twins] = &[
    Twins {
        name: "happens before and after",
        work: "value = 7; HAPPENS_BEFORE(&flag); set();",
        before: "",
        main: "@WAIT HAPPENS_AFTER(&flag); value++;",
        buggy_work: "HAPPENS_BEFORE(&flag); value = 7; set();",
        buggy_main: "",
    },
    Twins {
        name: "semaphore of Helgrind",
        work: "value = 7; SEM_POST_PRE(&flag); set();",
        before: "",
        main: "@WAIT SEM_WAIT_POST(&flag); value++;",
        buggy_work: "value = 7; set();",
        buggy_main: "",
    },
    Twins {
        name: "semaphore of DRD",
        work: "value = 7; DRD_SEM_POST_PRE(&flag); set();",
        before: "",
        main: "@WAIT DRD_SEM_WAIT_POST(&flag); value++;",
        buggy_work: "",
        buggy_main: "@WAIT value++;",
    },
    Twins {
        name: "mutex",
        work: "MUTEX_LOCK_PRE(&word); spin(); MUTEX_LOCK_POST(&word); value++; \
               MUTEX_UNLOCK_PRE(&word); unspin(); MUTEX_UNLOCK_POST(&word);",
        before: "MUTEX_INIT_POST(&word);",
        main: "spin(); MUTEX_LOCK_POST(&word); value++; MUTEX_UNLOCK_PRE(&word); unspin();",
        buggy_work: "",
        buggy_main: "value++;",
    },
    Twins {
        name: "reader-writer lock",
        work: "spin(); RWLOCK_ACQUIRED(&word, 1); value++; RWLOCK_RELEASED(&word); unspin();",
        before: "RWLOCK_CREATE(&word);",
        main: "spin(); RWLOCK_ACQUIRED(&word, 0); other = value; RWLOCK_RELEASED(&word); unspin();",
        buggy_work: "spin(); RWLOCK_ACQUIRED(&word, 0); value++; RWLOCK_RELEASED(&word); unspin();",
        buggy_main: "",
    },
    Twins {
        name: "disabled checking",
        work: "value++;",
        before: "DISABLE_CHECKING(&value, sizeof value);",
        main: "value++;",
        buggy_work: "value++; count++;",
        buggy_main: "value++; count++;",
    },
    Twins {
        name: "enabled checking",
        work: "value++; spin(); MUTEX_LOCK_POST(&word); MUTEX_UNLOCK_PRE(&word); unspin(); set();",
        before: "DISABLE_CHECKING(&value, sizeof value);",
        main: "value++; @WAIT ENABLE_CHECKING(&value, sizeof value); value++;",
        buggy_work: "while (!get()) sched_yield(); spin(); MUTEX_LOCK_POST(&word); \
                     MUTEX_UNLOCK_PRE(&word); unspin(); value++;",
        buggy_main: "value++; ENABLE_CHECKING(&value, sizeof value); set(); value++;",
    },
    Twins {
        name: "ignored variable",
        work: "value++;",
        before: "DRD_IGNORE_VAR(value);",
        main: "value++;",
        buggy_work: "",
        buggy_main: "DRD_STOP_IGNORING_VAR(value); set(); value++;",
    },
    Twins {
        name: "ignored accesses in DRD",
        work: "DRD_RECORD_STORES(0); value++; DRD_RECORD_STORES(1);",
        before: "DRD_RECORD_LOADS(1);",
        main: "DRD_RECORD_LOADS(0); other = value; DRD_RECORD_LOADS(1);",
        buggy_work: "value++;",
        buggy_main: "DRD_RECORD_LOADS(0); DRD_RECORD_LOADS(1); other = value;",
    },
    Twins {
        name: "ignored accesses in Helgrind",
        work: "UNIMPLEMENTED(\"ANNOTATE_IGNORE_WRITES_BEGIN\"); value++; \
               UNIMPLEMENTED(\"ANNOTATE_IGNORE_WRITES_END\");",
        before: "",
        main: "UNIMPLEMENTED(\"ANNOTATE_IGNORE_READS_BEGIN\"); other = value; \
               UNIMPLEMENTED(\"ANNOTATE_IGNORE_READS_END\");",
        buggy_work: "UNIMPLEMENTED(\"ANNOTATE_NO_OP\"); value++;",
        buggy_main: "UNIMPLEMENTED(\"ANNOTATE_IGNORE_READS_BEGIN\"); \
                     UNIMPLEMENTED(\"ANNOTATE_IGNORE_READS_END\"); other = value;",
    },
    Twins {
        name: "clean memory",
        work: "block[3] = 1; set();",
        before: "block = malloc(64);",
        main: "@WAIT CLEAN_MEMORY(block, 64); block[3] = 2;",
        buggy_work: "",
        buggy_main: "@WAIT CLEAN_MEMORY(block + 4, 48); block[3] = 2;",
    },
];

fn text(twins: &Twins, buggy: bool) -> String {
    let part = |right: &'static str, wrong: &'static str| {
        if buggy && !wrong.is_empty() { wrong } else { right }
    };
    let text = PROGRAM.replace("@WORK", part(twins.work, twins.buggy_work));
    let text = text.replace("@BEFORE", twins.before);
    text.replace("@MAIN", part(twins.main, twins.buggy_main)).replace("@WAIT", WAIT)
}

fn requests_mean_what_they_say(compiler: &str, level: &str) {
    let w = Workshop::new();
    w.write("requests.h", REQUESTS);
    for twins in TWINS {
        for buggy in [false, true] {
            w.write("a.c", &text(twins, buggy));
            let arguments = ["cc", "-w", "-g", level, "a.c", "-pthread", "-o", "a"];
            let mut build = w.command(FORETELL);
            let built =
                build.args(arguments).env("FORETELL_CC", compiler).output().expect("it runs");
            assert!(built.status.success(), "{}", stderr(&built));
            w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
            let output = w.run(FORETELL, &["predict", "--analyses", "race", "a.ft"]);
            let said = format!("{} {buggy}\n{}{}", twins.name, stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(i32::from(buggy)), "{said}");
        }
    }
}

#[test]
fn requests_mean_what_they_say_with_gcc() {
    requests_mean_what_they_say("gcc", "-O0");
}

#[test]
fn requests_mean_what_they_say_with_gcc_optimised() {
    requests_mean_what_they_say("gcc", "-O2");
}

#[test]
fn requests_mean_what_they_say_with_clang() {
    requests_mean_what_they_say("clang", "-O0");
}

#[test]
fn requests_mean_what_they_say_with_clang_optimised() {
    requests_mean_what_they_say("clang", "-O2");
}

/// A lock of the program's own, annotated with Valgrind's headers.
const WITH_HEADERS: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <@HEADER>
static int word, value;
static void spin(void) {
    for (int taken = 1;;) {
        __asm__ volatile("xchgl %0, %1" : "+r"(taken), "+m"(word) : : "memory");
        if (!taken) break;
        sched_yield();
    }
    ANNOTATE_RWLOCK_ACQUIRED(&word, 1);
}
static void unspin(void) {
    ANNOTATE_RWLOCK_RELEASED(&word, 1);
    __asm__ volatile("movl $0, %0" : "=m"(word) : : "memory");
}
static void *work(void *a) { spin(); value++; unspin(); return a; }
int main(void) {
    pthread_t t;
    ANNOTATE_RWLOCK_CREATE(&word);
    pthread_create(&t, 0, work, 0);
    @LOCK value++; @UNLOCK
    pthread_join(t, 0);
    ANNOTATE_RWLOCK_DESTROY(&word);
    return RUNNING_ON_VALGRIND;
}
"#;

#[test]
fn requests_of_the_headers_are_replayed() {
    let w = Workshop::new();
    for header in ["valgrind/helgrind.h", "valgrind/drd.h"] {
        for (lock, unlock, found) in [("spin();", "unspin();", 0), ("", "", 1)] {
            let text = WITH_HEADERS.replace("@HEADER", header);
            w.write("a.c", &text.replace("@LOCK", lock).replace("@UNLOCK", unlock));
            let output = w.run(FORETELL, &["check", "--analyses", "race", "a.c"]);
            let said = format!("{header} {found}\n{}{}", stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(found), "{said}");
            let replayed = stdout(&output).contains("replayed  ran to the end");
            assert!(found == 0 || replayed, "{said}");
        }
    }
}
