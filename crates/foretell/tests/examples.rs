//! Every program in `examples/` built, recorded, predicted and replayed by the real command, with
//! gcc and clang, unoptimised and at -O1; and the correct twins, which must have no finding.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn foretell() -> Command {
    Command::new(env!("CARGO_BIN_EXE_foretell"))
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The findings of a run of `check`.
struct Checked {
    output: Output,
    findings: serde_json::Value,
}

impl Checked {
    /// Whether there is a finding of this kind with this verdict.
    fn has(&self, kind: &str, verdict: &str) -> bool {
        let Some(findings) = self.findings["findings"].as_array() else { return false };
        findings.iter().any(|f| {
            f["kind"] == kind && f["replay"]["text"].as_str().is_some_and(|t| t.contains(verdict))
        })
    }
}

fn check(name: &str, compiler: &str, level: &str) -> Checked {
    let dir = tempfile::tempdir().expect("a directory");
    let json = dir.path().join("findings.json");
    let output = foretell()
        .args(["check", "--runs", "1", "--compiler", compiler])
        .arg(format!("--cflag={level}"))
        .arg("--json")
        .arg(&json)
        .arg(example(name))
        .output()
        .expect("foretell runs");
    let findings = std::fs::read_to_string(&json).unwrap_or_default();
    let findings = serde_json::from_str(&findings).unwrap_or_default();
    Checked { output, findings }
}

const COMPILERS: [&str; 4] = ["gcc", "clang", "clang-16", "clang-19"];
const BUILDS: [(&str, &str); 8] = {
    let mut builds = [("", ""); 8];
    let mut i = 0;
    while i < 8 {
        builds[i] = (COMPILERS[i / 2], if i % 2 == 0 { "-O0" } else { "-O1" });
        i += 1;
    }
    builds
};

/// Asserts a finding of this kind with this verdict from every build in `builds`.
fn predicts(name: &str, builds: &[(&str, &str)], kind: &str, verdict: &str) {
    for (compiler, level) in builds {
        let checked = check(name, compiler, level);
        let stdout = text(&checked.output.stdout);
        let context =
            format!("{name} {compiler} {level}\n{stdout}\n{}", text(&checked.output.stderr));
        assert_eq!(checked.output.status.code(), Some(1), "{context}");
        assert!(checked.has(kind, verdict), "no {kind} with {verdict}: {context}");
        assert!(stdout.contains(verdict), "{context}");
    }
}

fn is_silent(name: &str) {
    for (compiler, level) in BUILDS {
        let output = check(name, compiler, level).output;
        let context = format!("{name} {compiler} {level}\n{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{context}\n{}", text(&output.stdout));
    }
}

#[test]
fn check_then_use_crashes() {
    // At -O1 the compiler reads the pointer once, and the bug is gone.
    let unoptimised = COMPILERS.map(|compiler| (compiler, "-O0"));
    predicts(
        "check_then_use.c",
        &unoptimised,
        "race",
        "SIGSEGV in get_info at check_then_use.c:18",
    );
    predicts("check_then_use.c", &unoptimised, "nondeterminism", "SIGSEGV in get_info");
    predicts("check_then_use.c", &BUILDS, "race", "");
    is_silent("check_then_use_fixed.c");
}

#[test]
fn lost_update_is_found() {
    predicts("lost_update.c", &BUILDS, "race", "exit status 1 instead of 0");
    is_silent("lost_update_fixed.c");
}

#[test]
fn audit_fails_its_assertion() {
    let failed = "assertion failed: `total == 100` in audit at audit.c:";
    predicts("audit.c", &BUILDS, "serializability", failed);
    is_silent("audit_fixed.c");
}

#[test]
fn dining_philosophers_deadlock() {
    predicts("dining.c", &BUILDS, "deadlock", "deadlock: threads 1 and 2");
    is_silent("dining_fixed.c");
}

#[test]
fn greeting_depends_on_the_schedule() {
    predicts("greeting.c", &BUILDS, "race", "output differs");
    is_silent("greeting_fixed.c");
}

#[test]
fn statistics_race_is_benign() {
    predicts("statistics.c", &BUILDS, "race", "ran to the end: benign here");
    is_silent("statistics_fixed.c");
}

#[test]
fn after_you_has_blocks_that_are_correct_alone() {
    predicts("after_you.c", &BUILDS, "transactions", "exit status 1 instead of 0");
    is_silent("after_you_fixed.c");
}

#[test]
fn marked_scope_in_cpp_is_not_atomic() {
    predicts("stack.cpp", &BUILDS, "atomicity", "assertion failed: `size > 0` in");
    is_silent("stack_fixed.cpp");
}

#[test]
fn use_after_free_is_found() {
    let used = "use after free in worker at use_after_free.c:20 (allocated at use_after_free.c:27";
    predicts("use_after_free.c", &BUILDS, "race", used);
    is_silent("use_after_free_fixed.c");
}

#[test]
fn join_under_a_lock_deadlocks() {
    let builds = [("gcc", "-O0"), ("clang", "-O1")];
    predicts("join_lock.c", &builds, "deadlock", "deadlock: threads 0 and 1");
    let output = check("join_lock_fixed.c", "gcc", "-O0").output;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// Asserts a finding as [`predicts`] does, from two builds, and none in the correct twin.
fn predicts_briefly(name: &str, kind: &str, verdict: &str) {
    predicts(name, &[("gcc", "-O0"), ("clang", "-O1")], kind, verdict);
    let fixed = name.replace(".c", "_fixed.c");
    let output = check(&fixed, "gcc", "-O0").output;
    assert_eq!(output.status.code(), Some(0), "{fixed}\n{}", text(&output.stdout));
}

#[test]
fn lost_wakeup_hangs() {
    let stuck = "stuck: thread 0 waits for the condition changed at lost_wakeup.c:24";
    predicts_briefly("lost_wakeup.c", "hang", stuck);
}

#[test]
fn permits_taken_one_by_one_hang() {
    let stuck = "stuck: thread 0 waits for the end of thread 1 at permits.c:24";
    predicts_briefly("permits.c", "hang", stuck);
}

#[test]
fn barrier_one_party_short_hangs() {
    let stuck = "thread 0 waits for the other parties of the barrier meeting at meeting.c:";
    predicts_briefly("meeting.c", "hang", stuck);
}

#[test]
fn free_in_the_wrong_order_needs_no_race() {
    let used = "use after free in worker at locked_free.c:18 (allocated at locked_free.c:25";
    predicts_briefly("locked_free.c", "lifetime", used);
}

#[test]
fn destroyed_mutex_is_used() {
    let used =
        "use of a destroyed object at destroyed_mutex.c:13 (destroyed at destroyed_mutex.c:26";
    predicts_briefly("destroyed_mutex.c", "lifetime", used);
}

#[test]
fn exploration_finds_the_double_free() {
    let check = |name: &str| {
        let output = foretell().arg("check").arg(example(name)).output().expect("foretell runs");
        (output.status.code(), text(&output.stdout))
    };
    let (status, stdout) = check("double_free.c");
    assert_eq!(status, Some(1), "{stdout}");
    assert!(stdout.contains("crash: SIGABRT"), "{stdout}");
    let (status, stdout) = check("double_free_fixed.c");
    assert_eq!(status, Some(0), "{stdout}");
}

#[test]
fn correct_queue_has_no_finding() {
    is_silent("queue.cpp");
}

/// The flag orders the accesses in every interleaving, and happens-before in none.
#[test]
fn relaxed_flag_leaves_a_race_open() {
    for (compiler, level) in [("gcc", "-O0"), ("clang", "-O1")] {
        let checked = check("relaxed_flag.c", compiler, level);
        let stdout = text(&checked.output.stdout);
        let context = format!("{compiler} {level}\n{stdout}\n{}", text(&checked.output.stderr));
        assert_eq!(checked.output.status.code(), Some(1), "{context}");
        let races: Vec<_> = checked.findings["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|f| f["form"] == "unordered")
            .collect();
        assert_eq!(races.len(), 1, "{context}");
        assert_eq!(races[0]["confirmation"], "confirmed", "{context}");
        assert_eq!(races[0]["objects"], serde_json::json!(["message"]), "{context}");
        for part in ["store of `ready`", "is relaxed; release here and acquire", "ran as predicted"]
        {
            let words: Vec<&str> = stdout.split_whitespace().collect();
            assert!(words.join(" ").contains(part), "{part}: {context}");
        }
        let fixed = check("relaxed_flag_fixed.c", compiler, level).output;
        assert_eq!(fixed.status.code(), Some(0), "{}", text(&fixed.stdout));
    }
}
