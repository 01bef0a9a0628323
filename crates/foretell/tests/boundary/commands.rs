//! Commands that the tests run, and their answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Path of the command.
const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

/// Seconds after which a command counts as hanging.
const PATIENCE: &str = "120";

/// Expectation for the twin of a program.
#[derive(Clone, Copy)]
pub(crate) enum Twin {
    /// A confirmed finding of this kind.
    Found(&'static str),
    /// No finding, because of this rule; for [`Rule::UnknownWait`], not in every run.
    Lost(Rule),
}

/// Reason for which the bug of a twin is not found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Calls of code that is not recorded keep their order.
    HiddenState,
    /// A first use of a block, or a read, that no recorded event explains follows earlier uses.
    Provenance,
    /// A thread that returns from a wait follows everything before it.
    UnknownWait,
}

impl Twin {
    /// Asserts that a check answered as expected.
    pub(crate) fn holds(self, name: &str, checked: &Output, found: &Path) {
        let said = format!("{name}\n{}", text(checked));
        match self {
            Twin::Found(kind) => {
                assert_eq!(checked.status.code(), Some(1), "{said}");
                assert!(has(found, kind, "confirmed"), "no confirmed {kind}: {said}");
            }
            // Which of the two accesses comes before the wait depends on the timing of the run.
            Twin::Lost(Rule::UnknownWait) => {
                assert!(matches!(checked.status.code(), Some(0 | 1)), "{said}");
            }
            Twin::Lost(rule) => {
                let found = format!("found although it should be lost to {rule:?}: {said}");
                assert_eq!(checked.status.code(), Some(0), "{found}");
            }
        }
    }
}

/// Returns the command, with the runtime that was built with this test.
pub(crate) fn foretell() -> Command {
    let exe = std::env::current_exe().expect("the test has a path");
    let mut command = Command::new("timeout");
    command.args(["-k", "5", PATIENCE, FORETELL]);
    command.env("FORETELL_RT_DIR", exe.parent().expect("a directory"));
    command
}

pub(crate) fn finish(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the command runs")
}

/// Runs a command with a time limit.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    finish(Command::new("timeout").args(["-k", "5", PATIENCE, program]).args(arguments))
}

/// Runs a command that must succeed.
pub(crate) fn succeed(program: &str, arguments: &[&str]) {
    let output = run(program, arguments);
    assert!(output.status.success(), "{program} {arguments:?}\n{}", text(&output));
}

/// Returns status and output of a command.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Returns the directory of the sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/boundary")
}

/// Whether a findings file has a finding of this kind with this confirmation.
fn has(file: &Path, kind: &str, confirmation: &str) -> bool {
    findings(file).iter().any(|f| f["kind"] == kind && f["confirmation"] == confirmation)
}

/// Returns the findings of a findings file; none if there is no such file.
pub(crate) fn findings(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    document["findings"].as_array().cloned().unwrap_or_default()
}
