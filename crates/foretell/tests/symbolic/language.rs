//! C constructs that the rebuild understands, and those whose values are the recorded ones. In both
//! cases the checker accepts the recorded order.

use crate::workshop::{Workshop, differences};

/// Returns the text of the trace of a program.
fn trace_of(source: &str) -> (String, String) {
    let w = Workshop::new();
    w.write("a.c", source);
    w.build("clang-19", "a.c");
    let (_, said) = w.record(&["--blocks", "markers"], &[]);
    w.expect(0, &["convert", "run.ft", "run.std"]);
    (std::fs::read_to_string(w.path("run.std")).expect("text"), said)
}

/// Returns a program whose second thread runs `body` after the first has written `x = 7`, `y = -2`.
fn program(globals: &str, body: &str) -> String {
    format!(
        "#include <pthread.h>\n#include <stdarg.h>\n#include <stdatomic.h>\n#include <setjmp.h>\n#include <stdio.h>\n\
         #include <stdlib.h>\n#include <string.h>\n#include <stdbool.h>\n#include <semaphore.h>\n\
         int x, y; int out; int *shared; {globals}\n\
         void *worker(void *p) {{ (void)p;\n{body}\nreturn 0; }}\n\
         int main(void) {{ pthread_t t; static int cell; shared = &cell; x = 7; y = -2; out = 1; \
         pthread_create(&t, 0, worker, 0); pthread_join(t, 0); x = 0; return out == 99 || cell == 99; }}\n"
    )
}

/// Returns the lines of the worker's writes to `out` and its guards.
fn worker(globals: &str, body: &str) -> (Vec<String>, String) {
    let (text, said) = trace_of(&program(globals, body));
    let lines = text
        .lines()
        .filter(|l| l.starts_with("T1|"))
        .filter_map(|l| l.split('|').nth(1))
        .filter(|l| l.starts_with("guard") || l.starts_with("w(out") || l.starts_with("aw(out"))
        .map(str::to_owned)
        .collect();
    (lines, format!("{said}\n{text}"))
}

#[track_caller]
fn expect(globals: &str, body: &str, lines: &[&str]) {
    let (found, said) = worker(globals, body);
    assert_eq!(found, lines, "{said}");
    assert_eq!(differences(&said), 0, "{said}");
}

#[test]
fn arithmetic_and_branches_become_expressions() {
    expect(
        "",
        "int a = x; unsigned b = y; if (a > 3 && b > 5u) out = a * 3 - y;",
        &[
            "guard((bvsgt %1 #x00000003))",
            "guard((bvugt %2 #x00000005))",
            "w(out=#x00000017)<-(bvsub (bvmul %1 #x00000003) %3)",
        ],
    );
}

#[test]
fn expressions_go_through_calls_and_private_memory() {
    expect(
        "struct s { char c; int v[3]; }; static int twice(int n) { return n * 2; }\
         static void put(struct s *s, int i, int v) { s->v[i] = twice(v); }",
        "struct s s = {0}; put(&s, 1, x); int *q = &s.v[0]; out = q[1] + 1;",
        &["w(out=#x0000000f)<-(bvadd (bvmul %1 #x00000002) #x00000001)"],
    );
}

#[test]
fn narrow_types_and_truth_values_become_expressions() {
    expect(
        "",
        "short n = (short)x; n++; bool b = x == 7; if (!b) abort(); out = n;",
        &[
            "guard((= %2 #x00000007))",
            "w(out=#x00000008)<-((_ sign_extend 16) (bvadd ((_ extract 15 0) %1) #x0001))",
        ],
    );
}

#[test]
fn addresses_are_guards() {
    expect(
        "int table[8];",
        "table[2] = 3; int i = x - 5; out = table[i];",
        &["guard((= %1 #x00000007))", "w(out=#x00000003)"],
    );
    let (lines, said) = worker("", "*shared = 4; out = *shared;");
    assert!(lines[0].starts_with("guard((= %1 #x"), "{said}");
}

#[test]
fn switches_and_loops_become_guards() {
    expect(
        "",
        "int sum = 0; for (int i = 0; i < 3; i++) sum += x; switch (y) { case 1: case -2: out = sum; break; default: out = 0; }",
        &[
            "guard((or (= %4 #x00000001) (= %4 #xfffffffe)))",
            "w(out=#x00000015)<-(bvadd (bvadd %1 %2) %3)",
        ],
    );
}

#[test]
fn undefined_operations_are_guarded() {
    expect(
        "",
        "out = 100 / x;",
        &[
            "guard((distinct %1 #x00000000))",
            "guard((or (distinct #x00000064 #x80000000) (distinct %1 #xffffffff)))",
            "w(out=#x0000000e)<-(bvsdiv #x00000064 %1)",
        ],
    );
}

#[test]
fn atomic_operations_become_expressions() {
    expect(
        "atomic_int n;",
        "int e = atomic_fetch_add(&n, x); if (atomic_compare_exchange_strong(&n, &e, 9)) out = 1; else out = 2;",
        // Thread-private: the recorded value, as long as its inputs have their recorded values.
        &["guard((= %1 #x00000007))", "w(out=#x00000002)"],
    );
    let (text, _) = trace_of(&program(
        "atomic_int n; void *other(void *p) { (void)p; atomic_fetch_add(&n, 3); return 0; }",
        "pthread_t u; pthread_create(&u, 0, other, 0); int e = 0; \
         while (!atomic_compare_exchange_strong(&n, &e, e + 5)) {} pthread_join(u, 0); out = n;",
    ));
    assert!(text.contains("<-(ite (= %"), "{text}");
    // A failed exchange reads, and its thread goes on only if it would fail again.
    let (text, _) = trace_of(&program(
        "int n = 4; void *other(void *p) { (void)p; __atomic_fetch_add(&n, 3, 5); return 0; }",
        "pthread_t u; pthread_create(&u, 0, other, 0); int e = 8; \
         __atomic_compare_exchange_n(&n, &e, 5, 0, 5, 5); pthread_join(u, 0); out = 3;",
    ));
    let lines: Vec<&str> = text.lines().collect();
    let read = lines.iter().position(|l| l.starts_with("T1|ar(n=#x0000000")).expect("a read");
    assert!(lines[read - 1].starts_with("T1|acq(attempts at n)"), "{text}");
    assert!(lines[read + 1].starts_with("T1|guard((distinct %1 #x00000008))"), "{text}");
    assert!(lines[read + 2].starts_with("T1|rel(attempts at n)"), "{text}");
    let (text, said) = trace_of(&program(
        "atomic_int n; void *other(void *p) { (void)p; atomic_fetch_add(&n, 3); return 0; }",
        "pthread_t u; pthread_create(&u, 0, other, 0); int e = 0; \
         while (!atomic_compare_exchange_strong(&n, &e, e + 5)) {} pthread_join(u, 0); out = n;",
    ));
    assert!(text.contains("<-(bvadd %1 #x00000003)"), "{text}");
    assert_eq!(differences(&said), 0, "{said}");
}

/// A value that is not understood is constant, under the condition that its inputs have their
/// recorded values.
#[test]
fn floats_variadic_functions_and_libraries_are_pinned() {
    expect(
        "",
        "double d = x * 1.5; out = (int)d;",
        &["guard((= %1 #x00000007))", "w(out=#x0000000a)"],
    );
    expect(
        "static int sum(int n, ...) { va_list l; va_start(l, n); int s = va_arg(l, int); va_end(l); return s; }",
        "out = sum(1, x);",
        &["guard((= %1 #x00000007))", "w(out=#x00000007)"],
    );
    expect(
        "",
        "char s[20]; sprintf(s, \"%d\", x); out = s[0];",
        &["guard((= %1 #x00000007))", "w(out=#x00000037)"],
    );
    // A value that is only printed is not pinned.
    expect("", "printf(\"%d\\n\", x); out = 3;", &["w(out=#x00000003)"]);
    expect("", "out = printf(\"%d\\n\", x);", &["guard((= %1 #x00000007))", "w(out=#x00000002)"]);
    expect(
        "struct big { long a[9]; }; static long first(struct big b) { return b.a[0]; }",
        "struct big b = {{0}}; b.a[0] = x; out = (int)first(b);",
        &["guard((= %1 #x00000007))", "w(out=#x00000007)"],
    );
    expect(
        "struct two { long a; double b; }; static struct two make(int n) { struct two t = { n, 1 }; return t; }",
        "struct two t = make(x); out = (int)t.a;",
        &["guard((= %1 #x00000007))", "w(out=#x00000007)"],
    );
}

#[test]
fn long_jumps_and_callbacks_are_followed() {
    let (lines, said) = worker(
        "static jmp_buf env; static void deep(int n) { if (n == 0) longjmp(env, 1); deep(n - 1); }",
        "if (setjmp(env) == 0) deep(x); out = x;",
    );
    assert!(lines.contains(&"guard((= %1 #x00000007))".to_owned()), "{said}");
    assert!(lines.iter().any(|l| l.starts_with("w(out=#x00000007)")), "{said}");
    let (lines, said) = worker(
        "static int up(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }",
        "int v[3] = { 5, x, 1 }; qsort(v, 3, sizeof *v, up); out = v[2];",
    );
    assert_eq!(lines, ["guard((= %1 #x00000007))", "w(out=#x00000007)"], "{said}");
}

/// A failed try to take a semaphore is a condition on its count.
#[test]
fn failed_semaphore_try_is_a_guard_on_its_count() {
    let (text, said) = trace_of(&program(
        "sem_t s;",
        "sem_init(&s, 0, 1); sem_wait(&s); out = sem_trywait(&s); sem_post(&s);",
    ));
    assert!(text.contains("guard((= %"), "{text}");
    assert_eq!(differences(&said), 0, "{said}");
}

/// The log does not have the content of large blocks: the reads that follow have it.
#[test]
fn large_copies_and_fills_get_values_from_reads() {
    let (text, said) = trace_of(
        &program(
            "static int big[200], from[200];",
            "if (big[150] == 0x01010101 && from[3] == 3) out = big[150];",
        )
        .replace(
            "x = 7;",
            "x = 7; memset(big, 1, sizeof big); for (int i = 0; i < 200; i++) from[i] = i; \
               memcpy(big, from, 100 * sizeof *big);",
        ),
    );
    assert!(text.contains("w(big[150]=#x01010101)"), "{text}");
    assert!(text.contains("w(out=#x01010101)<-%3"), "{text}");
    assert_eq!(differences(&said), 0, "{said}");
}

/// Code that is not recorded writes a variable: a read from it has the recorded value, as long as
/// the last recorded write is the same.
#[test]
fn unrecorded_writes_pin_the_reads_after_them() {
    let (text, said) = trace_of(&program(
        "void *other(void *p) { (void)p; x++; return 0; }",
        "int n = x; strtol(\"12\", (char **)&shared, 10); sscanf(\"5\", \"%d\", &x); out = x + n; \
         pthread_t u; pthread_create(&u, 0, other, 0); pthread_join(u, 0); shared = &x;",
    ));
    assert!(text.contains("#! opaque x"), "{text}");
    assert!(text.contains("w(out=#x0000000c)"), "{text}");
    assert_eq!(differences(&said), 0, "{said}");
}

/// Messages through a pipe order threads in this model too.
#[test]
fn pipes_order_threads() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\n#include <unistd.h>\nint fd[2], out;\n\
         void *worker(void *p) { char c; if (read(fd[0], &c, 1) == 1) out = c; return p; }\n\
         int main(void) { pthread_t t; if (pipe(fd)) return 1; pthread_create(&t, 0, worker, 0); out = 3; \
         if (write(fd[1], \"a\", 1) != 1) return 1; pthread_join(t, 0); return 0; }\n",
    );
    w.build("clang-19", "a.c");
    w.record(&[], &[]);
    w.expect(0, &["predict", "run.ft", "--model", "symbolic", "--analyses", "race"]);
    w.expect(0, &["convert", "run.ft", "run.std"]);
    let text = std::fs::read_to_string(w.path("run.std")).expect("text");
    assert!(text.contains("ar(pipe#1.1=1)->%"), "{text}");
}

/// Bytes of a variable are variables of their own, and their expressions are put together again.
#[test]
fn overlapping_accesses_share_their_expressions() {
    let (lines, said) = worker("", "((unsigned char *)&x)[0] = 9; out = x;");
    assert_eq!(lines.last().map(String::as_str), Some("w(out=#x00000009)"), "{said}");
    assert!(lines.iter().filter(|l| l.starts_with("guard")).count() >= 1, "{said}");
    // The rest of a partly overwritten thread-private variable still depends on the read.
    let (lines, said) = worker("", "int n = x; ((unsigned char *)&n)[3] = 1; out = n;");
    assert_eq!(lines, ["guard((= %1 #x00000007))", "w(out=#x01000007)"], "{said}");
}

/// In a call through a pointer the pointer is pinned, arguments and results are not.
#[test]
fn calls_through_pointers_and_recursion_are_followed() {
    let (lines, said) = worker(
        "static int inc(int n) { return n + 1; } static int (*f)(int) = inc;\
         static int down(int n, int acc) { return n == 0 ? acc : down(n - 1, acc + x); }",
        "out = f(x) + down(2, 0);",
    );
    assert_eq!(lines, ["w(out=#x00000016)<-(bvadd (bvadd %1 #x00000001) (bvadd %2 %3))"], "{said}");
}

/// Expressions go through several files, an archive and make.
#[test]
fn projects_of_several_files_are_rebuilt() {
    let w = Workshop::new();
    w.write("lib.h", "int scale(int n);\nextern int x, out;\n");
    w.write("lib.c", "#include \"lib.h\"\nint scale(int n) { return n * 4; }\n");
    w.write(
        "worker.c",
        "#include \"lib.h\"\nvoid *worker(void *p) { if (x > 2) out = scale(x); return p; }\n",
    );
    w.write(
        "main.c",
        "#include <pthread.h>\n#include \"lib.h\"\nint x, out;\nvoid *worker(void *);\n\
         int main(void) { pthread_t t; x = 3; pthread_create(&t, 0, worker, 0); pthread_join(t, 0); x = 0; return out == 1; }\n",
    );
    w.write(
        "Makefile",
        "CFLAGS = -O2 -g -MMD\nLDLIBS = -pthread\nprogram: main.o worker.o liblib.a\n\t$(CC) -o $@ main.o worker.o liblib.a $(LDLIBS)\n\
         liblib.a: lib.o\n\t$(AR) rc $@ lib.o\n-include *.d\n",
    );
    let make = format!("CC={} cc --symbolic", env!("CARGO_BIN_EXE_foretell"));
    let built = w.command("make").arg(make).output().expect("make runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let dependencies = std::fs::read_to_string(w.path("worker.d")).expect("dependencies");
    assert!(dependencies.contains("worker.o:") && dependencies.contains("lib.h"), "{dependencies}");
    let (_, said) = w.record(&[], &[]);
    w.expect(0, &["convert", "run.ft", "run.std"]);
    let text = std::fs::read_to_string(w.path("run.std")).expect("text");
    assert!(text.contains("<-(bvmul %2 #x00000004)"), "{text}");
    assert!(text.contains("guard((bvsgt %1 #x00000002))"), "{text}");
    assert_eq!(differences(&said), 0, "{said}");
    // Assembly is linked without hooks.
    w.write("nop.S", "  .globl nothing\nnothing: ret\n  .section .note.GNU-stack,\"\",@progbits\n");
    w.expect(0, &["cc", "--symbolic", "-c", "nop.S"]);
    w.expect(0, &["cc", "--symbolic", "-c", "lib.c", "nop.S"]);
    assert!(w.path("nop.o").exists());
    // All in one command, position independent, and into a shared library.
    w.expect(0, &["cc", "--symbolic", "-fPIC", "-shared", "lib.c", "-o", "libshared.so"]);
    w.expect(
        0,
        &[
            "cc",
            "--symbolic",
            "main.c",
            "worker.c",
            "-L.",
            "-lshared",
            "-Wl,-rpath,.",
            "-pthread",
            "-o",
            "program",
        ],
    );
    w.record(&[], &[]);
    w.expect(0, &["convert", "run.ft", "run.std"]);
    let text = std::fs::read_to_string(w.path("run.std")).expect("text");
    assert!(text.contains("<-(bvmul %2 #x00000004)"), "{text}");
}
