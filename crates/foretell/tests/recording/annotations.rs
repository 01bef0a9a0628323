//! Annotations that programs carry for other detectors mean what they say, each in a correct
//! program and in one with a bug.

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

/// A flag and a lock in inline assembly, which no compiler instruments: without the annotations
/// nothing orders the threads.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
void __tsan_acquire(void *), __tsan_release(void *);
void __tsan_mutex_create(void *, unsigned), __tsan_mutex_destroy(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned), __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
void AnnotateRWLockReleased(const char *, int, const volatile void *, long);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
void AnnotateIgnoreReadsBegin(const char *, int), AnnotateIgnoreReadsEnd(const char *, int);
void AnnotateIgnoreWritesBegin(const char *, int), AnnotateIgnoreWritesEnd(const char *, int);
uint32_t __sanitizer_unaligned_load32(const void *);
void __sanitizer_unaligned_store32(void *, uint32_t);
#define HERE __FILE__, __LINE__
static int flag, word, other, value, count;
static char bytes[16];
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
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *a) { WORK return a; }
int main(void) {
    pthread_t t;
    BEFORE
    pthread_create(&t, 0, work, 0);
    MAIN
    pthread_join(t, 0);
    return 0;
}
"#;

/// `WORK`, `BEFORE` and `MAIN` of the correct program, and those parts of the buggy one that
/// differ.
struct Twins {
    name: &'static str,
    work: &'static str,
    before: &'static str,
    main: &'static str,
    buggy_work: &'static str,
    buggy_main: &'static str,
}

const TWINS: &[Twins] = &[
    Twins {
        name: "tsan acquire and release",
        work: "value = 7; __tsan_release(&flag); set();",
        before: "",
        main: "while (!get()) sched_yield(); __tsan_acquire(&flag); value++;",
        buggy_work: "value = 7; __tsan_release(&other); set();",
        buggy_main: "",
    },
    Twins {
        name: "happens before and after",
        work: "value = 7; AnnotateHappensBefore(HERE, &flag); set();",
        before: "",
        main: "while (!get()) sched_yield(); AnnotateHappensAfter(HERE, &flag); value++;",
        buggy_work: "AnnotateHappensBefore(HERE, &flag); value = 7; set();",
        buggy_main: "",
    },
    Twins {
        name: "tsan mutex",
        work: "spin(); __tsan_mutex_post_lock(&word, 0, 0); value++; \
               __tsan_mutex_pre_unlock(&word, 0); unspin();",
        before: "__tsan_mutex_create(&word, 0);",
        main: "spin(); __tsan_mutex_post_lock(&word, 0, 0); __tsan_mutex_post_lock(&word, 1 << 6, 1); \
               value++; __tsan_mutex_pre_unlock(&word, 1 << 7); \
               __tsan_mutex_pre_unlock(&word, 0); unspin();",
        buggy_work: "",
        buggy_main: "value++;",
    },
    Twins {
        name: "failed try",
        work: "spin(); __tsan_mutex_post_lock(&word, 1 << 4, 0); value++; \
               __tsan_mutex_pre_unlock(&word, 0); unspin();",
        before: "",
        main: "spin(); __tsan_mutex_post_lock(&word, 1 << 4, 0); value++; \
               __tsan_mutex_pre_unlock(&word, 0); unspin();",
        buggy_work: "",
        buggy_main: "__tsan_mutex_post_lock(&word, 1 << 4 | 1 << 5, 0); value++;",
    },
    Twins {
        name: "reader-writer lock",
        work: "spin(); AnnotateRWLockAcquired(HERE, &word, 1); value++; \
               AnnotateRWLockReleased(HERE, &word, 1); unspin();",
        before: "",
        main: "spin(); AnnotateRWLockAcquired(HERE, &word, 0); other = value; \
               AnnotateRWLockReleased(HERE, &word, 0); unspin();",
        buggy_work: "spin(); AnnotateRWLockAcquired(HERE, &word, 0); value++; \
                     AnnotateRWLockReleased(HERE, &word, 0); unspin();",
        buggy_main: "",
    },
    Twins {
        name: "benign race",
        work: "value++;",
        before: "AnnotateBenignRaceSized(HERE, &value, sizeof value, \"statistics\");",
        main: "value++;",
        buggy_work: "value++; count++;",
        buggy_main: "value++; count++;",
    },
    Twins {
        name: "ignored accesses",
        work: "AnnotateIgnoreWritesBegin(HERE); value++; AnnotateIgnoreWritesEnd(HERE);",
        before: "",
        main: "AnnotateIgnoreReadsBegin(HERE); other = value; AnnotateIgnoreReadsEnd(HERE);",
        buggy_work: "value++;",
        buggy_main: "AnnotateIgnoreReadsBegin(HERE); AnnotateIgnoreReadsEnd(HERE); other = value;",
    },
    Twins {
        name: "unaligned accesses",
        work: "pthread_mutex_lock(&m); __sanitizer_unaligned_store32(bytes + 3, 5); \
               pthread_mutex_unlock(&m);",
        before: "",
        main: "pthread_mutex_lock(&m); other = __sanitizer_unaligned_load32(bytes + 3); \
               pthread_mutex_unlock(&m);",
        buggy_work: "",
        buggy_main: "other = __sanitizer_unaligned_load32(bytes + 3);",
    },
];

#[test]
fn annotations_mean_what_they_say() {
    let w = Workshop::new();
    for twins in TWINS {
        for buggy in [false, true] {
            let part = |right: &'static str, wrong: &'static str| {
                if buggy && !wrong.is_empty() { wrong } else { right }
            };
            let work = part(twins.work, twins.buggy_work);
            let main = part(twins.main, twins.buggy_main);
            let text = PROGRAM.replace("WORK", work).replace("BEFORE", twins.before);
            w.write("a.c", &text.replace("MAIN", main));
            w.expect(0, &["cc", "-w", "a.c", "-pthread", "-o", "a"]);
            w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
            let output = w.run(FORETELL, &["predict", "--analyses", "race", "a.ft"]);
            let said = format!("{} {buggy}\n{}{}", twins.name, stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(i32::from(buggy)), "{said}");
        }
    }
}

/// A block that nothing touched is freed, and another thread uses it.
#[test]
fn use_of_memory_that_was_freed_untouched_is_a_race() {
    let w = Workshop::new();
    for (early, found) in [("", 0), ("free(p);", 1)] {
        let late = if early.is_empty() { "free(p);" } else { "" };
        w.write(
            "a.c",
            &format!(
                "#include <pthread.h>\n#include <stdlib.h>\nstatic int *p;\n\
                 static void *f(void *a) {{ p[2] = 1; return a; }}\n\
                 int main(void) {{ pthread_t t; p = malloc(40);\n\
                 pthread_create(&t, 0, f, 0);\n {early}\n pthread_join(t, 0); {late} return 0; }}\n"
            ),
        );
        w.expect(0, &["cc", "-w", "a.c", "-pthread", "-o", "a"]);
        for seed in ["0", "1", "2"] {
            let record = ["record", "--seed", seed, "-o", "a.ft", "--", "./a"];
            w.expect(0, &record);
            let output = w.run(FORETELL, &["predict", "--analyses", "race", "a.ft"]);
            assert_eq!(output.status.code(), Some(found), "{seed} {early}\n{}", stdout(&output));
        }
    }
}
