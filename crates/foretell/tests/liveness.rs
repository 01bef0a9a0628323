//! Correct programs whose waits end, or whose objects die, in ways that are easily mistaken: pools
//! that wait for work while main returns, waits that a signal handler, a time limit or a
//! cancellation ends, counted references, mutexes that are initialised again. None may have a
//! finding.

use std::path::Path;
use std::process::Command;

fn is_silent(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/liveness").join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["check", "--runs", "1", "--unconfirmed"])
        .arg(path)
        .output()
        .expect("foretell runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let context = format!("{name}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{context}");
}

#[test]
fn threads_that_the_end_of_the_program_cuts_off_do_not_hang() {
    for name in ["pool_exit.c", "unheard.c", "exits_elsewhere.c", "main_leaves.c"] {
        is_silent(name);
    }
}

#[test]
fn waits_that_end_for_other_reasons_do_not_hang() {
    for name in ["handler_post.c", "timed_wait.c", "cancelled.c", "tried.c"] {
        is_silent(name);
    }
}

#[test]
fn objects_that_end_after_their_last_use_are_silent() {
    for name in ["counted_references.c", "handed_over.c", "initialised_again.c"] {
        is_silent(name);
    }
}
