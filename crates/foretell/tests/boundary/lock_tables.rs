//! Lock functions that a file of the user names.

use std::fs;

use crate::commands::{finish, foretell, sources, succeed, text};

/// The locks of `hidden.c`.
const TABLE: &str = "# The library's own locks
hidden_lock:
    acquire hidden_lock 0
    release hidden_unlock 0

hidden_spin_lock:
    acquire hidden_spin_lock -
    release hidden_spin_unlock -
";

/// Two threads write under a lock that only the table knows; between the two sections, another pair
/// of sections of the same lock would keep the order of the calls without it.
const PROGRAM: &str = r#"
#include "boundary.h"
#include "hidden.h"
static struct hidden_lock lock;
static int data, other;
static void take(void) { if (SPIN) hidden_spin_lock(); else hidden_lock(&lock); }
static void give(void) { if (SPIN) hidden_spin_unlock(); else hidden_unlock(&lock); }
static void *first(void *unused) {
    FORGOTTEN(take());
    data++;
    FORGOTTEN(give());
    take();
    other = 1;
    give();
    return unused;
}
static void *second(void *unused) {
    take();
    other = 2;
    give();
    take();
    data++;
    give();
    return unused;
}
int main(void) {
    run_both(first, second);
    printf("%d\n", data);
}
"#;

/// Checks the program with the user's table, or without; returns whether a race was found.
fn races(flags: &[&str], table: bool) -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let [source, object, locks] =
        ["locks.c", "hidden.o", "locks.txt"].map(|n| directory.path().join(n));
    fs::write(&source, PROGRAM).expect("a source");
    fs::write(&locks, TABLE).expect("a table");
    let hidden = sources().join("c/hidden.c").display().to_string();
    succeed("gcc", &["-O1", "-c", &hidden, "-o", &object.display().to_string()]);
    let mut command = foretell();
    command.arg("check").arg(&source).arg(&object);
    command.arg(format!("--cflag=-I{}", sources().join("c").display()));
    command.args(flags.iter().map(|flag| format!("--cflag={flag}")));
    if table {
        command.arg("--locks").arg(&locks);
    }
    let checked = finish(&mut command);
    let said = text(&checked);
    assert!(matches!(checked.status.code(), Some(0 | 1)), "{said}");
    assert!(checked.status.code() == Some(0) || said.contains("`data`"), "{said}");
    checked.status.code() == Some(1)
}

#[test]
fn users_table_shows_locks() {
    for spin in ["-DSPIN=0", "-DSPIN=1"] {
        assert!(!races(&[spin], true) && !races(&[spin], false));
        // Without the table the calls keep their order, and hide the race.
        assert!(races(&[spin, "-DBUG"], true), "{spin}");
        assert!(!races(&[spin, "-DBUG"], false), "{spin}");
    }
}

#[test]
fn mistakes_in_a_table_are_located() {
    let directory = tempfile::tempdir().expect("a directory");
    let [source, locks] = ["main.c", "locks.txt"].map(|name| directory.path().join(name));
    fs::write(&source, "int main(void) { return 0; }").expect("a source");
    fs::write(&locks, "mine:\n    acquire f 0\n    try g 0 maybe\n").expect("a table");
    let problem = format!("{}:3: `maybe` is none of nonzero, zero and true", locks.display());
    let mut check = foretell();
    check.arg("check").arg(&source).arg("--locks").arg(&locks);
    let mut cc = foretell();
    cc.arg("cc").arg(&source).arg(format!("--foretell-locks={}", locks.display()));
    for mut command in [check, cc] {
        let output = finish(&mut command);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(&problem), "{}", text(&output));
    }
    let mut missing = foretell();
    missing.arg("cc").arg(&source).arg("--foretell-locks=/nonexistent/locks");
    let output = finish(&mut missing);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("/nonexistent/locks: "), "{}", text(&output));
    let mut java = foretell();
    java.args(["check", "A.java", "--locks"]).arg(&locks);
    let output = finish(&mut java);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("--locks is for C and C++ programs"), "{}", text(&output));
}
