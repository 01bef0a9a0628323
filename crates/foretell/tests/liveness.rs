//! Correct programs whose waits end, or whose objects die, in ways that are easily mistaken: pools
//! that wait for work while main returns, waits that a signal handler, a time limit or a
//! cancellation ends, counted references, mutexes that are initialised again. None may have a
//! finding. Four of the programs in C++ are wrong: three hang, and one notifies a deleted
//! condition.

use std::path::Path;
use std::process::Command;

/// Returns the exit status of a check, and its output.
fn checked(name: &str, options: &[&str]) -> (Option<i32>, String) {
    command(name, &["check", "--runs", "1", "--unconfirmed"], options)
}

/// Returns the exit status of an exploration, and its output.
fn explored(name: &str, options: &[&str]) -> (Option<i32>, String) {
    command(name, &["explore"], options)
}

fn command(name: &str, command: &[&str], options: &[&str]) -> (Option<i32>, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/liveness").join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(command)
        .args(options)
        .arg(path)
        .output()
        .expect("foretell runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let context = format!("{name}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    (output.status.code(), context)
}

fn is_silent(name: &str) {
    let (status, context) = checked(name, &[]);
    assert_eq!(status, Some(0), "{context}");
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

/// A condition in memory that stays allocated until later: the end of the condition counts.
#[test]
fn notification_of_a_deleted_job_is_confirmed() {
    let (status, context) = explored("notified_late.cpp", &["--cflag=-std=c++17"]);
    assert_eq!(status, Some(1), "{context}");
    assert!(context.contains("lifetime-1: Thread T1 can use the condition"), "{context}");
}

/// Barriers of C++20 are waits that a trace shows: the exploration gets stuck in one that lacks a
/// party.
#[test]
fn barriers_of_cpp20_hang_where_they_can() {
    let standard = ["--cflag=-std=c++20"];
    let (status, context) = checked("barrier.cpp", &standard);
    assert_eq!(status, Some(0), "{context}");
    let (status, context) = explored("barrier_short.cpp", &standard);
    assert_eq!(status, Some(1), "{context}");
    let stuck = "waits for the condition meeting.passed";
    assert!(context.contains(stuck) && context.contains("complete"), "{context}");
}

/// Latches and semaphores of C++20 are waits that a trace shows.
#[test]
fn waits_of_cpp20_hang_where_they_can() {
    let standard = ["--cflag=-std=c++20"];
    let (status, context) = checked("latch.cpp", &standard);
    assert_eq!(status, Some(0), "{context}");
    for name in ["latch_under_lock.cpp", "permits.cpp"] {
        let (status, context) = checked(name, &standard);
        assert_eq!(status, Some(1), "{context}");
        assert!(context.contains("can wait for ever"), "{context}");
    }
}
