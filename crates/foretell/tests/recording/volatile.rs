//! Volatile accesses are plain accesses, or atomic ones where an option says so.

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

const FLAG: &str = r#"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
volatile int flag;
int value;
static void *work(void *arg) {
    value = 7;
    flag = 1;
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    LATER
    while (!flag)
        sched_yield();
    printf("%d\n", value);
    pthread_join(t, NULL);
    return 0;
}
"#;

fn flags(compiler: &str) {
    let w = Workshop::new();
    w.write("program.c", FLAG);
    let chosen = format!("--foretell-compiler={compiler}");
    for (later, racy) in [("-DLATER=", false), ("-DLATER=*(int *)&flag = 0;", true)] {
        w.expect(0, &["cc", &chosen, later, "-w", "program.c", "-pthread", "-o", "program"]);
        for (volatile, write) in [("plain", "|w(flag=1)"), ("atomic", "|aw(flag=1)")] {
            // In the racy program the flag may be lost, and the loop may not end: it keeps the
            // order of creation.
            let options = ["--quantum", "100000", "--volatile", volatile, "-o", "run.std"];
            let recorded = w.expect(0, &[&["record"], &options[..], &["--", "./program"]].concat());
            assert_eq!(stdout(&recorded), "7\n", "{}", stderr(&recorded));
            let trace = w.trace("run.std");
            assert!(trace.contains(write), "{compiler} {volatile}: {trace}");
            let found = volatile == "plain" || racy;
            let output = w.run(FORETELL, &["predict", "--analyses", "race", "run.std"]);
            let text = stdout(&output);
            assert_eq!(output.status.code(), Some(i32::from(found)), "{compiler}\n{text}");
            assert_eq!(text.contains("race-1"), found, "{text}");
            let noted = text.contains("(volatile makes no access atomic)");
            assert_eq!(noted, volatile == "plain", "{text}");
        }
    }
}

#[test]
fn volatile_flags_race_unless_they_are_atomic_with_gcc() {
    flags("gcc");
}

#[test]
fn volatile_flags_race_unless_they_are_atomic_with_clang() {
    ["clang", "clang-16", "clang-19"].into_iter().for_each(flags);
}
