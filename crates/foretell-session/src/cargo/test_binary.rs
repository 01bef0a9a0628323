//! A test binary: one process for each test, so that a recording has one test and nothing of the
//! harness.
//!
//! The instrumented standard library has a libtest that runs one test on the main thread when it is
//! asked to. A binary with a harness of its own is run as a whole.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::user_environment;
use crate::Error;

/// Option of the instrumented libtest that runs one test.
pub(crate) const ONE: &str = "--foretell-one";

/// A test binary that cargo runs.
#[derive(Debug)]
pub struct TestBinary {
    path: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// A test of a binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedTest {
    /// Name with its modules.
    pub name: String,
    /// Whether it is marked as ignored, and was not asked for.
    pub is_ignored: bool,
}

/// Outcome of a test.
#[derive(Debug)]
pub struct TestOutcome<'a> {
    /// Name of the test.
    pub name: &'a str,
    /// End of its process.
    pub status: ExitStatus,
    /// Its output, standard output first; empty if it was not captured.
    pub output: Vec<u8>,
}

/// Options of libtest that decide which tests are run.
const SELECTING: [&str; 4] = ["--exact", "--ignored", "--include-ignored", "--skip"];
/// Options of libtest with a value, besides `--skip`.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--format", "--color", "--logfile", "-Z"];

impl TestBinary {
    /// Name of foretell's command that runs the tests of a binary: `JOBS SECONDS BINARY ARGS`.
    pub const RUN: &'static str = "__run-tests";

    /// Returns the test binary of a path, to be run in the environment of this process.
    pub fn new(path: &OsStr) -> TestBinary {
        let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        TestBinary { path, environment: user_environment() }
    }

    /// Whether its harness is the libtest of the instrumented standard library.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn has_libtest(&self) -> Result<bool, Error> {
        let bytes = std::fs::read(&self.path).map_err(Error::file(&self.path))?;
        Ok(contains(&bytes, ONE.as_bytes()))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the binary with these arguments as a whole, recorded if the environment says so.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_whole(&self, arguments: &[OsString]) -> Result<ExitStatus, Error> {
        self.command().args(arguments).status().map_err(Error::file(&self.path))
    }

    /// Lists the tests that libtest would run with these arguments, and those that it would ignore.
    ///
    /// # Errors
    /// If the binary does not list them.
    pub fn list(&self, arguments: &[OsString]) -> Result<Vec<ListedTest>, Error> {
        let selecting = selecting(arguments);
        let all = self.listed(&selecting)?;
        let asks_ignored = |word: &OsString| word == "--ignored" || word == "--include-ignored";
        if selecting.iter().any(asks_ignored) {
            let listed = |name| ListedTest { name, is_ignored: false };
            return Ok(all.into_iter().map(listed).collect());
        }
        let with_ignored: Vec<OsString> =
            [OsString::from("--ignored")].into_iter().chain(selecting).collect();
        let ignored = self.listed(&with_ignored)?;
        let listed = |name| ListedTest { is_ignored: ignored.contains(&name), name };
        Ok(all.into_iter().map(listed).collect())
    }

    fn listed(&self, arguments: &[OsString]) -> Result<Vec<String>, Error> {
        let mut command = self.command();
        // Not recorded.
        for (name, _) in &self.environment {
            if name.to_string_lossy().starts_with("FORETELL_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).args(["--list", "--format", "terse"]);
        let output = command.stderr(Stdio::inherit()).output().map_err(Error::file(&self.path))?;
        if !output.status.success() {
            let path = self.path.display();
            return Err(Error::Unsupported(format!("{path}: its tests cannot be listed")));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// Runs tests, each in a process of its own, `jobs` at a time, and kills one that runs longer
    /// than `limit`. Output is captured if `captures`. Each outcome goes to `ended`.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn run(
        &self,
        tests: &[&ListedTest],
        jobs: usize,
        limit: Duration,
        captures: bool,
        ended: &(dyn Fn(TestOutcome<'_>) + Sync),
    ) -> Result<(), Error> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        std::thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, tests.len().max(1)) {
                scope.spawn(|| {
                    while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.run_one(&test.name, limit, captures) {
                            Ok((status, output)) => {
                                ended(TestOutcome { name: &test.name, status, output });
                            }
                            Err(error) => {
                                *failed.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                                return;
                            }
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(|e| e.into_inner()).map_or(Ok(()), Err)
    }

    fn run_one(
        &self,
        name: &str,
        limit: Duration,
        captures: bool,
    ) -> Result<(ExitStatus, Vec<u8>), Error> {
        let mut command = self.command();
        command.args([ONE, name]).stdin(Stdio::null());
        if captures {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let child = command.spawn().map_err(Error::file(&self.path))?;
        let process = child.id();
        let (done, ended) = mpsc::channel::<()>();
        let (output, is_late) = std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let is_late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    // SAFETY: the child has not been waited for: the number is its own.
                    unsafe { libc::kill(process as i32, libc::SIGKILL) };
                }
                is_late
            });
            let output = child.wait_with_output();
            drop(done);
            (output, watch.join().unwrap_or(false))
        });
        let output = output.map_err(Error::file(&self.path))?;
        let mut text: Vec<u8> = output.stdout.into_iter().chain(output.stderr).collect();
        if is_late {
            text.extend(format!("killed after {} seconds\n", limit.as_secs()).into_bytes());
        }
        Ok((output.status, text))
    }
}

/// Returns the arguments of libtest that decide which tests are run.
fn selecting(arguments: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let selects = SELECTING.iter().any(|option| {
            let rest = text.strip_prefix(option);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        });
        if selects {
            out.push(word.clone());
            if text == "--skip" {
                out.extend(words.next().cloned());
            }
        } else if WITH_VALUE.contains(&text.as_ref()) {
            words.next();
        } else if !text.starts_with('-') {
            out.push(word.clone());
        }
    }
    out
}

/// Whether a text occurs in bytes.
fn contains(bytes: &[u8], text: &[u8]) -> bool {
    let first = text.first().copied();
    let starts = bytes.iter().enumerate().filter(|(_, b)| Some(**b) == first);
    starts.map(|(at, _)| &bytes[at..]).any(|rest| rest.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_select_tests_are_told_from_others() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let selecting = selecting(&words);
            selecting.iter().map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("queue --nocapture --skip slow"), "queue --skip slow");
        assert_eq!(of("--test-threads 1 --exact a::b"), "--exact a::b");
        assert_eq!(of("--ignored --skip=x --test-threads=2 -q"), "--ignored --skip=x");
    }

    #[test]
    fn binary_is_searched_for_the_option() {
        assert!(contains(b"--\0--foretell-one\0", ONE.as_bytes()));
        assert!(!contains(b"--foretell-on", ONE.as_bytes()));
    }
}
