//! Volatile accesses are atomic accesses.

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
    for (later, found) in [("-DLATER=", 0), ("-DLATER=*(int *)&flag = 0;", 1)] {
        w.expect(0, &["cc", &chosen, later, "-w", "program.c", "-pthread", "-o", "program"]);
        // In the racy program the flag may be lost, and the loop may not end: it keeps the order of
        // creation.
        let record = ["record", "--quantum", "100000", "-o", "run.std", "--", "./program"];
        let recorded = w.expect(0, &record);
        assert_eq!(stdout(&recorded), "7\n", "{}", stderr(&recorded));
        let trace = w.trace("run.std");
        assert!(trace.contains("aw(flag=1)") && trace.contains("ar(flag="), "{compiler}: {trace}");
        let output = w.run(FORETELL, &["predict", "--analyses", "race", "run.std"]);
        assert_eq!(output.status.code(), Some(found), "{compiler}\n{}", stdout(&output));
        assert_eq!(stdout(&output).contains("race-1"), found == 1, "{}", stdout(&output));
    }
}

#[test]
fn volatile_flags_do_not_race_with_gcc() {
    flags("gcc");
}

#[test]
fn volatile_flags_do_not_race_with_clang() {
    ["clang", "clang-16", "clang-19"].into_iter().for_each(flags);
}
