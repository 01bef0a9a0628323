//! Values of copied structures and strings.
//!
//! Writes of a value that the trace does not have would leave later reads unexplained, and keep
//! their threads in order.

use crate::workshop::{Workshop, stdout};

const COPIES: &str = r#"
#include <cstdio>
#include <cstring>
#include <string.h>
#include <thread>
struct Two { int a, b; };
struct Four { int a, b, c, d; };
struct Six { int a, b, c, d, e, f; };
struct Odd { char c[5]; };
Two two; Four four; Six six; Odd odd, *none;
char copied[16], moved[16], set[16], appended[16] = "a", cut[16], ended[16];
int sum, racy;
static void write_all() {
    Two x{1, 2}; Four y{3, 4, 5, 6}; Six z{7, 8, 9, 10, 11, 12}; Odd w{{13, 14, 15, 16, 17}};
    two = x; four = y; six = z; odd = w;
    strcpy(copied, "copy"); memmove(moved, copied, 5); memset(set, 's', 7);
    strcat(appended, "bc"); strncpy(cut, "cutting", 3); stpcpy(ended, "ended");
    racy = 1;
}
static int read_all() {
    Two x = two; Four y = four; Six z = six; Odd w = odd;
    return x.a + x.b + y.a + y.d + z.a + z.f + w.c[0] + w.c[4] + copied[1] + moved[2] + set[3] +
           appended[2] + cut[1] + ended[4];
}
int main() {
    int captured = 40;
    std::thread first([&] { write_all(); captured++; });
    std::thread second([&] { racy = 2; captured++; sum = read_all(); });
    first.join();
    second.join();
    printf("%d\n", captured);
    return 0;
}
"#;

/// Every read sees the value of the write before it, and the second thread is not kept after the
/// first.
fn copies(compiler: &str, optimisation: &str) {
    let w = Workshop::new();
    w.write("program.cpp", COPIES);
    let compiler = format!("--foretell-compiler={compiler}");
    w.expect(0, &["c++", &compiler, optimisation, "program.cpp", "-pthread", "-o", "program"]);
    // Each thread runs to its end: the second one reads what the first one wrote.
    let record = ["record", "--quantum", "1000000", "-o", "run.std", "--", "./program"];
    assert_eq!(stdout(&w.expect(0, &record)), "42\n");
    let trace = w.trace("run.std");
    assert!(!trace.contains("#! opaque"), "{compiler} {optimisation}: {trace}");
    let found = stdout(&w.expect(1, &["predict", "--analyses", "race", "--all", "run.std"]));
    assert!(found.contains("`racy`") && found.contains("main::captured"), "{found}");
}

#[test]
fn copied_values_are_in_the_trace_with_gcc() {
    ["-O0", "-Og"].into_iter().for_each(|optimisation| copies("gcc", optimisation));
}

#[test]
fn copied_values_are_in_the_trace_with_clang() {
    copies("clang", "-O0");
}

/// The source of a copy that crashes the program is not read by the runtime.
#[test]
fn a_copy_from_null_ends_the_program_by_its_signal() {
    let w = Workshop::new();
    w.write(
        "program.c",
        "struct s { long a; } x, *p; struct t { long a[3]; } y, *q;\n\
         int main(int n, char **v) {\n    if (n > 1)\n        y = *q;\n    x = *p;\n    return 0;\n}\n",
    );
    w.expect(0, &["cc", "program.c", "-o", "program"]);
    for arguments in [&["./program"][..], &["./program", "range"]] {
        let record = [&["record", "-o", "run.ft", "--"], arguments].concat();
        w.expect(1, &record);
        assert!(stdout(&w.expect(0, &["stats", "run.ft"])).contains("signal 11"));
    }
}
