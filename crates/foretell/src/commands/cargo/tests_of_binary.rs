//! Cargo's runner: the tests of one binary, each in a process of its own, with the lines that
//! libtest prints.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use foretell_session::cargo::{ListedTest, TestBinary, TestOutcome};
use foretell_session::shell_status;

use super::file_name;
use crate::failure::{Failure, Status};

/// Exit status of libtest if a test has failed.
const FAILED: u8 = 101;

/// Number of tests by their outcome, and the output of those that failed.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<(String, Vec<u8>)>,
}

/// Runs the tests of a binary: the words are the number of jobs, the time limit of a test in
/// seconds, the binary, and the arguments of libtest.
pub(super) fn run(words: &[OsString]) -> Result<Status, Failure> {
    let [jobs, limit, path, arguments @ ..] = words else {
        return Err(Failure::Input("foretell: no test binary".to_owned()));
    };
    let number = |word: &OsString| word.to_str().and_then(|word| word.parse().ok());
    let jobs = number(jobs).unwrap_or(1) as usize;
    let limit = Duration::from_secs(number(limit).unwrap_or(120));
    let has = |options: &[&str]| arguments.iter().any(|word| options.iter().any(|o| word == o));
    let binary = TestBinary::new(path);
    // Without libtest, or where libtest only tells something.
    if !binary.has_libtest()? || has(&["--list", "--help", "-h"]) {
        return Ok(Status::Program(shell_status(binary.run_whole(arguments)?)));
    }
    let captures = !has(&["--nocapture", "--no-capture"]);
    let tests = binary.list(arguments)?;
    let (ignored, chosen): (Vec<&ListedTest>, Vec<&ListedTest>) =
        tests.iter().partition(|test| test.is_ignored);
    say(&format!("\nrunning {} of {}\n", count(chosen.len()), file_name(Path::new(path))))?;
    for test in &ignored {
        say(&format!("test {} ... ignored\n", test.name))?;
    }
    let tally = Mutex::new(Tally::default());
    let ended = |outcome: TestOutcome<'_>| {
        let mut tally = tally.lock().unwrap_or_else(|e| e.into_inner());
        let passed = outcome.status.success();
        let word = if passed { "ok" } else { "FAILED" };
        // A closed pipe does not end the tests.
        let _ = say(&format!("test {} ... {word}\n", outcome.name));
        if passed {
            tally.passed += 1;
        } else {
            tally.failures.push((outcome.name.to_owned(), outcome.output));
        }
    };
    binary.run(&chosen, jobs, limit, captures, &ended)?;
    let mut tally = tally.into_inner().unwrap_or_else(|e| e.into_inner());
    tally.failures.sort();
    for (name, output) in tally.failures.iter().filter(|(_, output)| !output.is_empty()) {
        say(&format!("\n---- {name} ----\n"))?;
        io::stdout().write_all(output)?;
    }
    if !tally.failures.is_empty() {
        say("\nfailures:\n")?;
        for (name, _) in &tally.failures {
            say(&format!("    {name}\n"))?;
        }
    }
    let word = if tally.failures.is_empty() { "ok" } else { "FAILED" };
    say(&format!(
        "\ntest result: {word}. {} passed; {} failed; {} ignored\n\n",
        tally.passed,
        tally.failures.len(),
        ignored.len(),
    ))?;
    Ok(Status::Program(if tally.failures.is_empty() { 0 } else { FAILED }))
}

fn count(tests: usize) -> String {
    if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") }
}

/// Writes a text to standard output at once.
fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
