//! Programs and compilers that symbolic recording rejects, each with a message of one line.

use crate::workshop::{Workshop, text};

const PROGRAM: &str = "int main(void) { return 0; }\n";

fn one_line(workshop: &Workshop, arguments: &[&str], expected: &str) {
    let output = workshop.foretell(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}\n{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{arguments:?}\n{said}");
    assert!(said.contains(expected), "{arguments:?}\n{said}");
}

#[test]
fn other_compilers_and_languages_are_rejected() {
    let w = Workshop::new();
    w.write("a.c", PROGRAM);
    w.write("a.cpp", PROGRAM);
    w.write("A.java", "class A { public static void main(String[] a) {} }\n");
    one_line(
        &w,
        &["cc", "--symbolic", "--foretell-compiler=gcc", "a.c"],
        "needs clang 16 or newer; gcc is no clang",
    );
    one_line(&w, &["check", "--symbolic", "--compiler", "gcc", "a.c"], "needs clang 16 or newer");
    one_line(
        &w,
        &["cc", "--symbolic", "--foretell-compiler=clang-14", "a.c"],
        "needs clang 16 or newer",
    );
    one_line(&w, &["cc", "--symbolic", "a.cpp"], "--symbolic is for C");
    one_line(&w, &["c++", "--symbolic", "a.cpp"], "--symbolic is for C");
    one_line(&w, &["check", "--symbolic", "a.cpp"], "--symbolic is for C");
    one_line(&w, &["check", "--symbolic", "A.java"], "--symbolic is for C");
    one_line(&w, &["record", "--symbolic", "--", "java", "A"], "--symbolic is for C");
    let output = w
        .command(env!("CARGO_BIN_EXE_foretell"))
        .env("PATH", "/nonexistent")
        .args(["cc", "--symbolic", "a.c"])
        .output();
    let said = text(&output.expect("it runs").stderr);
    assert!(said.contains("none is on PATH") && said.trim_end().lines().count() == 1, "{said}");
}

#[test]
fn program_without_symbolic_build_is_rejected() {
    let w = Workshop::new();
    w.write("a.c", PROGRAM);
    w.expect(0, &["cc", "a.c", "-o", "program"]);
    one_line(
        &w,
        &["record", "--symbolic", "--", "./program"],
        "build it with `foretell cc --symbolic`",
    );
    // A symbolic build can be recorded without symbols.
    w.build("clang-19", "a.c");
    w.expect(0, &["record", "-o", "plain.ft", "--", "./program"]);
    let said = w.foretell(&["record", "--symbolic", "--parallel", "--", "./program"]);
    assert_eq!(said.status.code(), Some(2));
}
