//! Programs that end while threads of them can still run.

use crate::workshop::{Workshop, stdout};

/// The thread writes late; `main` ends in the way that its argument names, and another thread
/// spins or sleeps for ever, or prints.
const EXITS: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int x, y, z;
static volatile int never;
static void *late(void *a) { for (int i = 0; i < 100; i++) y++; x = 1; return a; }
static void *spins(void *a) { while (!never) z++; return a; }
static void *sleeps(void *a) { for (;;) sleep(1000); return a; }
static void *prints(void *a) { y = 2; printf("late\n"); x = 3; return a; }
static void bye(void) { printf("bye %d\n", x); }
int main(int n, char **a) {
    pthread_t t;
    x = 2;
    atexit(bye);
    switch (a[1][1]) {
    case 's': pthread_create(&t, 0, spins, 0); break;
    case 'l': pthread_create(&t, 0, sleeps, 0); break;
    case 'p': pthread_create(&t, 0, prints, 0); break;
    }
    pthread_create(&t, 0, late, 0);
    printf("main\n");
    if (a[1][0] == 'e') exit(5);
    return 6;
}
"#;

#[test]
fn threads_that_can_run_go_on_before_the_end() {
    let w = Workshop::new();
    w.write("a.c", EXITS);
    w.expect(0, &["cc", "a.c", "-pthread", "-o", "a"]);
    for (how, status) in
        [("r-", 6), ("e-", 5), ("rs", 6), ("es", 5), ("rl", 6), ("el", 5), ("rp", 6)]
    {
        let record = ["record", "--quantum", "100000", "-o", "a.std", "--", "./a", how];
        let output = w.expect(status, &record);
        let trace = w.trace("a.std");
        let written = if how == "rp" { "|w(y=2)|" } else { "|w(x=1)|" };
        assert!(trace.contains(written), "{how}: {trace}");
        // The threads run before the exit handler, and print nothing.
        let text = stdout(&output);
        assert!(text == "main\nbye 1\n" || how == "rp" && !text.contains("late"), "{how}: {text}");
    }
    // Nothing of the sort with the option; the race is lost then.
    let none = ["record", "--quantum", "100000", "--exit-steps", "0", "-o", "b.std"];
    w.expect(6, &[&none[..], &["--", "./a", "r-"]].concat());
    assert!(!w.trace("b.std").contains("|w(x=1)|"), "{}", w.trace("b.std"));
}

/// The writes of a thread after the end of `main` race, and the replay gets there.
#[test]
fn race_after_the_end_of_main_is_confirmed() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nint x;\n\
         static void *f(void *a) {\n  x = 1;\n  return a;\n}\n\
         int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, f, 0);\n  x = 2;\n  return 0;\n}\n",
    );
    let output = w.expect(1, &["check", "--quantum", "100000", "a.c"]);
    let text = stdout(&output);
    assert!(text.contains("1 finding confirmed"), "{text}");
}
