//! Ends of programs: the exit status is the program's own unless it fails, and the trace up to the
//! end is readable.

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

/// A thread writes, then the program ends in the way that its argument names.
const ENDS: &str = "#define _GNU_SOURCE\n#include <pthread.h>\n#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nint x;\n\
    static void *f(void *a) { x = 1; return a; }\n\
    int main(int n, char **a) { pthread_t t; x = 2; pthread_create(&t, 0, f, 0); pthread_join(t, 0);\n\
    switch (a[1][0]) { case 'a': abort(); case 'k': kill(getpid(), SIGKILL); case '_': _exit(5);\n\
    case 's': *(volatile int *)0 = 1; case 't': raise(SIGTERM); case 'e': exit(6);\n\
    case 'f': if (fork() == 0) _exit(0); break; case 'F': if (_Fork() == 0) _exit(0); } return 0; }\n";

#[test]
fn every_end_is_reported() {
    let w = Workshop::new();
    w.write("a.c", ENDS);
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    for (how, status, told) in [
        ("r", 0, "exit 0"),
        ("a", 1, "signal 6"),
        ("k", 1, "signal 9"),
        ("_", 5, "exit 5"),
        ("s", 1, "signal 11"),
        ("t", 143, "signal 15"),
        ("e", 6, "exit 6"),
    ] {
        w.expect(status, &["record", "-o", "a.std", "--", "./a", how]);
        let trace = w.trace("a.std");
        assert!(trace.contains("T1|w(x=1)|a.c:7|f\n"), "{how}: {trace}");
        assert!(trace.contains(&format!("ended={told}")), "{how}: {trace}");
    }
    // A child that is not recorded says so; one that is and has one thread says nothing.
    for (options, how, said) in
        [(&["-q"][..], "f", false), (&["-q"], "F", true), (&["-q", "--parallel"], "f", true)]
    {
        let command = [&["record"], options, &["-o", "a.std", "--", "./a", how]].concat();
        let notice = stderr(&w.expect(0, &command));
        assert_eq!(notice.contains(", a child of fork, is not recorded\n"), said, "{notice}");
    }
}

#[test]
fn thousand_threads_are_recorded() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nint x;\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static void *f(void *a) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return a; }\n\
         int main(void) { for (int i = 0; i < 100; i++) { pthread_t t[10];\n\
         for (int k = 0; k < 10; k++) pthread_create(&t[k], 0, f, 0);\n\
         for (int k = 0; k < 10; k++) pthread_join(t[k], 0); } return x == 1000 ? 0 : 1; }\n",
    );
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
    let stats = stdout(&w.expect(0, &["stats", "a.ft"]));
    assert!(stats.lines().any(|l| l.split_whitespace().eq(["threads", "1001"])), "{stats}");
}

/// The stack of a thread that has ended is used again, with new variables.
#[test]
fn reused_stack_has_new_variables() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nstatic int *shown;\nstatic void *g(void *a) { *(int *)a = 1; return a; }\n\
         static void *f(void *a) { int mine = 0; pthread_t t; shown = &mine;\n\
         pthread_create(&t, 0, g, &mine); pthread_join(t, 0); return a; }\n\
         int main(void) { int *first = 0, same = 0; for (int i = 0; i < 2; i++) { pthread_t t;\n\
         pthread_create(&t, 0, f, 0); pthread_join(t, 0); same = first == shown; first = shown; }\n\
         return same ? 0 : 9; }\n",
    );
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    w.expect(0, &["record", "-o", "a.std", "--", "./a"]);
    let trace = w.trace("a.std");
    // One address, two variables.
    assert!(trace.contains("T2|w(f::mine@T1=") && trace.contains("T4|w(f::mine@T3="), "{trace}");
}

/// Two threads count together, often enough for a trace that does not fit.
const COUNTS: &str = "#include <pthread.h>\nstatic int x[64];\n\
    static void *f(void *a) { for (int i = 0; i < 60000; i++) x[i % 61] += i; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); return 3; }\n";

#[test]
fn trace_is_cut_to_the_free_space() {
    let w = Workshop::new();
    w.write("a.c", COUNTS);
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    // A file system of its own, in a mount namespace of its own.
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size=200k none small || exit 99\n\
         {FORETELL} record -o small/a.ft -- ./a; echo \"status $?\"\n\
         ls -A small; cp small/a.ft small/a.ft.steps ."
    );
    // As root, or in a user namespace.
    let mut output = w.run("unshare", &["-m", "bash", "-c", &script]);
    if !output.status.success() {
        output = w.run("unshare", &["-rm", "bash", "-c", &script]);
    }
    let (told, warned) = (stdout(&output), stderr(&output));
    assert_eq!(told, "status 3\na.ft\na.ft.steps\n", "{warned}");
    let kept = "foretell: small/a.ft: no space was left: the trace there has the first ";
    assert!(warned.contains(kept), "{warned}");
    w.expect(0, &["convert", "a.ft", "a.std"]);
    let trace = w.trace("a.std");
    assert!(trace.contains("ended=exit 3") && trace.lines().count() > 50_000);
}
