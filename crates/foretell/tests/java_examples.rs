//! Every program in `examples/java` compiled, recorded, predicted and replayed by the real command;
//! and the correct twins, which must have no finding.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

struct Checked {
    output: Output,
    findings: serde_json::Value,
}

fn check(name: &str, options: &[&str]) -> Checked {
    let dir = tempfile::tempdir().expect("a directory");
    let json = dir.path().join("findings.json");
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["check", "--runs", "1", "--json"])
        .arg(&json)
        .args(options)
        .arg(example(name))
        .output()
        .expect("foretell runs");
    let findings = std::fs::read_to_string(&json).unwrap_or_default();
    Checked { output, findings: serde_json::from_str(&findings).unwrap_or_default() }
}

/// Asserts a confirmed finding of this kind at these locations with this verdict.
fn predicts(name: &str, kind: &str, places: &[&str], verdict: &str) {
    let checked = check(name, &[]);
    let context =
        format!("{name}\n{}\n{}", text(&checked.output.stdout), text(&checked.output.stderr));
    assert_eq!(checked.output.status.code(), Some(1), "{context}");
    let found = checked.findings["findings"].as_array().into_iter().flatten().any(|f| {
        let at: Vec<&str> =
            f["locations"].as_array().into_iter().flatten().filter_map(|l| l.as_str()).collect();
        f["kind"] == kind
            && places.iter().all(|place| at.contains(place))
            && f["replay"]["text"].as_str().is_some_and(|t| t.contains(verdict))
            && f["confirmation"] == "confirmed"
    });
    assert!(found, "no {kind} with {verdict}: {context}");
    assert!(text(&checked.output.stdout).contains(verdict), "{context}");
}

fn is_silent(name: &str) {
    let output = check(name, &[]).output;
    let context = format!("{name}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{context}");
}

#[test]
fn race_of_the_witness_paper_is_found() {
    predicts("Value.java", "race", &["Value.java:9", "Value.java:13"], "output differs");
    is_silent("ValueFixed.java");
}

#[test]
fn account_has_a_check_that_is_not_atomic() {
    let thrown =
        "java.lang.IllegalStateException: overdrawn: -80 in Account.take at Account.java:19";
    predicts("Account.java", "atomicity", &["Account.java:13", "Account.java:24"], thrown);
    is_silent("AccountFixed.java");
}

#[test]
fn philosophers_deadlock() {
    predicts("Philosophers.java", "deadlock", &[], "deadlock: threads 1, 2 and 3");
    is_silent("PhilosophersFixed.java");
}

#[test]
fn lock_order_deadlocks() {
    predicts("LockOrder.java", "deadlock", &["LockOrder.java:7"], "deadlock: threads 1 and 2");
    is_silent("LockOrderFixed.java");
}

#[test]
fn missed_signal_deadlocks() {
    predicts("MissedSignal.java", "race", &["MissedSignal.java:8", "MissedSignal.java:20"], "");
    predicts("MissedSignal.java", "nondeterminism", &["MissedSignal.java:8"], "deadlock: thread 1");
    is_silent("MissedSignalFixed.java");
}

#[test]
fn join_under_a_monitor_deadlocks() {
    predicts("JoinLock.java", "deadlock", &[], "deadlock: threads 0 and 1");
    is_silent("JoinLockFixed.java");
}

#[test]
fn closed_file_is_used() {
    let verdict = "use after close at Journal.java:16 (closed at Journal.java:37)";
    predicts("Journal.java", "lifetime", &["Journal.java:16", "Journal.java:37"], verdict);
    is_silent("JournalFixed.java");
}

#[test]
fn opaque_flag_leaves_a_race_open() {
    let places = ["OpaqueFlag.java:24", "OpaqueFlag.java:32"];
    let verdict = "ran as predicted: happens-before does not order the two accesses";
    predicts("OpaqueFlag.java", "race", &places, verdict);
    is_silent("OpaqueFlagFixed.java");
}

#[test]
fn waits_that_nothing_ends_hang() {
    predicts("LostWakeup.java", "hang", &[], "stuck: thread 0");
    is_silent("LostWakeupFixed.java");
    predicts("Permits.java", "hang", &[], "stuck: thread 0 waits for the end of thread 1");
    is_silent("PermitsFixed.java");
    predicts("Meeting.java", "hang", &[], "stuck: thread 0");
    is_silent("MeetingFixed.java");
}

#[test]
fn explored_run_does_not_show_a_confirmed_hang_again() {
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["check", "--runs", "5"])
        .arg(example("LostWakeup.java"))
        .output()
        .expect("foretell runs");
    let shown = text(&output.stdout);
    assert!(shown.contains("hang-1:") && !shown.contains("observed-1:"), "{shown}");
}

#[test]
fn double_checked_locking_races() {
    predicts("DoubleChecked.java", "race", &["DoubleChecked.java:11"], "benign");
    is_silent("DoubleCheckedFixed.java");
}

#[test]
fn synchronized_calls_are_not_atomic_together() {
    let thrown =
        "java.lang.IndexOutOfBoundsException: 7 of 0 in TextBuffer.copyTo at TextBuffer.java:21";
    predicts("TextBuffer.java", "atomicity", &[], thrown);
    is_silent("TextBufferFixed.java");
}

#[test]
fn correct_buffer_has_no_finding() {
    is_silent("BoundedBuffer.java");
}

#[test]
fn tasks_of_a_pool_race() {
    predicts("Pool.java", "race", &["Pool.java:12"], "exit status 1 instead of 0");
    is_silent("PoolFixed.java");
}

#[test]
fn operations_of_a_map_are_not_atomic_together() {
    predicts("Cache.java", "atomicity", &["Cache.java:15", "Cache.java:28"], "");
    is_silent("CacheFixed.java");
}
