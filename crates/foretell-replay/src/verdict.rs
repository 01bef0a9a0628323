//! Verdicts on replayed runs.
//!
//! [`judge`] compares a replayed run with the recorded one: its log, its end and its output. A run
//! that did not reach the finding says nothing about it, however it ended. Otherwise the first
//! difference of this list gives the verdict: deadlock, use after free, time limit, failed
//! assertion, signal, exit status, output.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use foretell_launch::Run;
use foretell_rt_format::Log;
use foretell_trace::{FailureKind, RunFailure};
use foretell_translate::{java, signal_name};

use crate::Error;
use crate::confirmation::Expected;
use crate::run_end::{Progress, RunEnd};

/// Outcome of a replay, from harmless to severe.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The run followed the schedule as far as it went, but not to the finding.
    NotReached {
        /// State that it did not reach, and its end.
        message: String,
    },
    /// The run left the schedule: the program took another step than the recorded run.
    Departed {
        /// The expected step and the step that came.
        message: String,
    },
    /// The program ended like the recorded run, with the same output.
    Benign,
    /// The program wrote another output.
    OutputDiffers,
    /// The program ended with another exit status.
    ExitStatus {
        /// Exit status of the replay.
        got: i32,
        /// End of the recorded run.
        expected: String,
    },
    /// The program did not end.
    Hang {
        /// Time limit in seconds.
        seconds: u64,
    },
    /// The program used memory that it had freed, or a resource that it had closed.
    UseAfterFree {
        /// Locations of the use, the allocation and the free, or the end.
        message: String,
    },
    /// Threads wait for each other forever.
    Deadlock {
        /// Numbers of the threads.
        threads: Vec<u32>,
    },
    /// No thread can run: each has ended or waits, and nothing wakes it.
    Stuck {
        /// The wait of each thread, in words.
        message: String,
    },
    /// An assertion failed.
    Assertion {
        /// The condition and its location.
        message: String,
    },
    /// An exception ended a thread of a Java program.
    Exception {
        /// The exception, with its call stack.
        message: String,
    },
    /// A signal ended the program.
    Crash {
        /// Number of the signal.
        signal: i32,
        /// Function in which it came, where known.
        function: Option<String>,
        /// Source location at which it came, where known.
        location: Option<String>,
    },
}

impl Verdict {
    /// Returns the name of the verdict in a findings file.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::NotReached { .. } => "not-reached",
            Verdict::Departed { .. } => "departed",
            Verdict::Benign => "benign",
            Verdict::OutputDiffers => "output",
            Verdict::ExitStatus { .. } => "status",
            Verdict::Hang { .. } => "hang",
            Verdict::UseAfterFree { .. } => "use-after-free",
            Verdict::Deadlock { .. } => "deadlock",
            Verdict::Stuck { .. } => "stuck",
            Verdict::Assertion { .. } => "assertion",
            Verdict::Exception { .. } => "exception",
            Verdict::Crash { .. } => "crash",
        }
    }

    /// Whether the run reached the finding, and so confirms it.
    pub fn confirms(&self) -> bool {
        !matches!(self, Verdict::NotReached { .. } | Verdict::Departed { .. })
    }

    /// Returns the verdict on a run that failed by itself, without a schedule.
    pub fn of_failure(failure: &RunFailure, run: &Run, limit: Duration) -> Verdict {
        let message = failure.message.clone();
        match failure.kind {
            FailureKind::Deadlock => {
                let number = |(name, _): &(String, String)| name.strip_prefix('T')?.parse().ok();
                Verdict::Deadlock { threads: failure.threads.iter().filter_map(number).collect() }
            }
            FailureKind::Hang => Verdict::Hang { seconds: limit.as_secs() },
            FailureKind::Assertion => Verdict::Assertion { message },
            FailureKind::Exception => Verdict::Exception { message },
            FailureKind::Status => {
                let got = run.status.code().unwrap_or(-1);
                Verdict::ExitStatus { got, expected: "exit 0".to_owned() }
            }
            FailureKind::Crash | FailureKind::Killed => {
                let signal = run.status.signal().unwrap_or(libc::SIGABRT);
                Verdict::Crash { signal, function: None, location: None }
            }
        }
    }

    /// Whether a replay of a run that failed only shows that failure again.
    pub fn repeats(&self, failure: &RunFailure) -> bool {
        match self {
            // The program ended as it did when it was recorded.
            Verdict::Benign => true,
            Verdict::Hang { .. } => failure.kind == FailureKind::Hang,
            Verdict::Deadlock { threads } => {
                let mut stuck: Vec<String> = threads.iter().map(|t| format!("T{t}")).collect();
                let mut before: Vec<&String> = failure.threads.iter().map(|(t, _)| t).collect();
                stuck.sort();
                before.sort();
                failure.kind == FailureKind::Deadlock && stuck.iter().eq(before)
            }
            Verdict::Assertion { message } | Verdict::Exception { message } => {
                *message == failure.message
            }
            _ => false,
        }
    }

    /// Whether the program failed: worse than another output.
    pub fn is_failure(&self) -> bool {
        *self > Verdict::OutputDiffers
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::NotReached { message } => write!(f, "did not reach the finding: {message}"),
            Verdict::Departed { message } => write!(f, "left the schedule: {message}"),
            Verdict::Benign => write!(f, "ran to the end: benign here"),
            Verdict::OutputDiffers => write!(f, "output differs"),
            Verdict::ExitStatus { got, expected } => {
                let expected = expected.strip_prefix("exit ").unwrap_or(expected);
                write!(f, "exit status {got} instead of {expected}")
            }
            Verdict::Hang { seconds } => write!(f, "did not end within {seconds} seconds"),
            Verdict::UseAfterFree { message } => f.write_str(message),
            Verdict::Deadlock { threads } => {
                let numbers: Vec<String> = threads.iter().map(u32::to_string).collect();
                match numbers.split_last() {
                    Some((last, [])) => write!(f, "deadlock: thread {last}"),
                    Some((last, rest)) => {
                        write!(f, "deadlock: threads {} and {last}", rest.join(", "))
                    }
                    None => write!(f, "deadlock"),
                }
            }
            Verdict::Stuck { message } => write!(f, "stuck: {message}"),
            Verdict::Assertion { message } => write!(f, "assertion failed: {message}"),
            Verdict::Exception { message } => write!(f, "{message}"),
            Verdict::Crash { signal, function, location } => {
                write!(f, "{}", signal_name(*signal))?;
                function.iter().try_for_each(|function| write!(f, " in {function}"))?;
                location.iter().try_for_each(|location| write!(f, " at {location}"))
            }
        }
    }
}

/// End of the recorded run, to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// End of the program in words: `exit 0`, `signal 11`.
    pub ended: String,
    /// Standard output; `None` to compare the end alone.
    pub stdout: Option<Vec<u8>>,
    /// Exceptions that ended threads of a Java program.
    pub uncaught: Vec<String>,
}

impl Reference {
    /// Returns the end of a recorded run, with its output if the run was quiet.
    pub fn of(run: &Run, stdout: Option<Vec<u8>>) -> Reference {
        let uncaught = if run.java {
            let end = java::RunEnd::load(&run.log()).unwrap_or_default();
            end.uncaught.iter().map(|e| e.text()).collect()
        } else {
            Vec::new()
        };
        Reference { ended: run.ended(), stdout, uncaught }
    }
}

/// Returns the verdict on a replayed run with a time limit of `seconds`.
///
/// # Errors
/// When its log cannot be read.
pub(crate) fn judge(
    run: &Run,
    reference: &Reference,
    seconds: u64,
    expected: &Expected,
) -> Result<Verdict, Error> {
    if run.java {
        return judge_java(run, reference, seconds, expected);
    }
    let path = run.log();
    let bytes = std::fs::read(&path).map_err(foretell_translate::Error::file(&path))?;
    let log =
        Log::parse(&bytes).map_err(|source| foretell_translate::Error::Log { path, source })?;
    let end = RunEnd::of(&log);
    if let Some(reason) = expected.missed(&end.progress) {
        return Ok(match end.departure {
            Some(message) => Verdict::Departed { message },
            None => not_reached(run, &reason, end.deadlock.is_some(), seconds),
        });
    }
    if !expected.blocked().is_empty() {
        return Ok(deadlock_of(expected));
    }
    if expected.is_hang() {
        return Ok(Verdict::Stuck { message: end.waits.join("; ") });
    }
    if let Some(threads) = end.deadlock {
        return Ok(Verdict::Deadlock { threads });
    }
    if end.departure.is_some() {
        // The finding was reached; its last steps did not come to an end.
        return Ok(Verdict::Hang { seconds });
    }
    let crashed = !run.timed_out && run.status.signal().is_some();
    if let (Some(message), false) = (end.use_after_free, crashed && run.ended() != reference.ended)
    {
        return Ok(Verdict::UseAfterFree { message });
    }
    if run.timed_out {
        return Ok(Verdict::Hang { seconds });
    }
    if let Some(signal) = end.child_signal {
        if let Some(message) = assertion(&run.stderr()) {
            return Ok(Verdict::Assertion { message });
        }
        let (function, location) = end.crash.unwrap_or_default();
        return Ok(Verdict::Crash { signal, function, location });
    }
    if let Some(signal) = run.status.signal() {
        if let Some(message) = assertion(&run.stderr()) {
            return Ok(Verdict::Assertion { message });
        }
        if run.ended() != reference.ended {
            let (function, location) = end.crash.unwrap_or_default();
            return Ok(Verdict::Crash { signal, function, location });
        }
    } else if run.ended() != reference.ended {
        let got = run.status.code().unwrap_or(-1);
        return Ok(Verdict::ExitStatus { got, expected: reference.ended.clone() });
    }
    if end.is_child {
        // Other processes of the program write at the same time, in any order.
        let sorted = |output: &[u8]| {
            let mut lines: Vec<Vec<u8>> = lines(output).map(<[u8]>::to_vec).collect();
            lines.sort_unstable();
            lines
        };
        let same = reference.stdout.as_ref().is_none_or(|out| sorted(out) == sorted(&run.stdout()));
        return Ok(if same { Verdict::Benign } else { Verdict::OutputDiffers });
    }
    Ok(by_output(run, reference))
}

/// Returns the verdict on a run that reached the deadlock of the finding.
fn deadlock_of(expected: &Expected) -> Verdict {
    let mut threads = expected.blocked().to_vec();
    threads.sort_unstable();
    Verdict::Deadlock { threads }
}

/// Returns the verdict on a run that did not reach the finding for a reason.
fn not_reached(run: &Run, reason: &str, deadlock: bool, seconds: u64) -> Verdict {
    let end = match (run.timed_out, deadlock) {
        (true, _) => format!("the program did not end within {seconds} seconds"),
        (_, true) => "the program ended in a deadlock elsewhere".to_owned(),
        _ => format!("the program ended with {}", run.ended()),
    };
    Verdict::NotReached { message: format!("{reason}; {end}") }
}

/// Returns the verdict on a run that ended like the recorded one.
fn by_output(run: &Run, reference: &Reference) -> Verdict {
    let same =
        reference.stdout.as_ref().is_none_or(|stdout| lines(stdout).eq(lines(&run.stdout())));
    if same { Verdict::Benign } else { Verdict::OutputDiffers }
}

/// Returns the lines of an output, without the durations that test runners print: `(3 ms)` and
/// `(3 ms total)` of GoogleTest, `Time: 0.02` of JUnit, `Time elapsed: 0.02 s` of Maven and Ant.
fn lines(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|&b| b == b'\n').map(|line| {
        let Ok(text) = std::str::from_utf8(line) else { return line };
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b".,".contains(&b));
        let in_brackets = ["ms)", "ms total)"].iter().find_map(|end| {
            let (start, number) = text.strip_suffix(end)?.strip_suffix(' ')?.rsplit_once('(')?;
            is_number(number).then_some(start.len())
        });
        let alone = || text.strip_prefix("Time: ").filter(|number| is_number(number)).map(|_| 0);
        let duration = in_brackets.or_else(alone).or_else(|| text.find("Time elapsed: "));
        duration.map_or(line, |at| &line[..at])
    })
}

/// Returns the verdict on a replayed run of a Java program.
fn judge_java(
    run: &Run,
    reference: &Reference,
    seconds: u64,
    expected: &Expected,
) -> Result<Verdict, Error> {
    let end = java::RunEnd::load(&run.log())?;
    if let Some(message) = end.departure {
        return Ok(Verdict::Departed { message });
    }
    let wanted: Vec<(u32, u64)> = expected.reaching().iter().map(|&(_, step)| step).collect();
    let mut progress = java::Progress::load(&run.log(), &wanted)?;
    let use_after_close = progress.use_after_close.take();
    let progress = Progress::of_java(progress, expected.reaching(), end.deadlock.as_deref());
    if let Some(reason) = expected.missed(&progress) {
        return Ok(not_reached(run, &reason, end.deadlock.is_some(), seconds));
    }
    if !expected.blocked().is_empty() {
        return Ok(deadlock_of(expected));
    }
    if expected.is_hang() {
        return Ok(Verdict::Stuck { message: java_waits(&run.stderr()) });
    }
    if let Some(threads) = end.deadlock {
        return Ok(Verdict::Deadlock { threads });
    }
    if let Some(e) = end.uncaught.iter().find(|e| !reference.uncaught.contains(&e.text())) {
        return Ok(match e.assertion() {
            Some(message) => Verdict::Assertion { message },
            None => Verdict::Exception { message: e.text() },
        });
    }
    if let Some(message) = use_after_close {
        return Ok(Verdict::UseAfterFree { message });
    }
    if run.timed_out {
        return Ok(Verdict::Hang { seconds });
    }
    if run.ended() != reference.ended {
        let verdict = match (run.status.signal(), run.status.code()) {
            (Some(signal), _) => Verdict::Crash { signal, function: None, location: None },
            (None, code) => {
                Verdict::ExitStatus { got: code.unwrap_or(-1), expected: reference.ended.clone() }
            }
        };
        return Ok(verdict);
    }
    Ok(by_output(run, reference))
}

/// Returns what the threads of a Java run wait for, in words, from the report of the agent.
fn java_waits(stderr: &str) -> String {
    let line = stderr.lines().find_map(|line| line.strip_prefix("foretell: deadlock: "));
    line.unwrap_or("every thread waits for ever").to_owned()
}

/// Returns the message of a failed `assert`: `` `total == 100` in audit at bank.c:41 ``.
fn assertion(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|line| line.contains(": Assertion `"))?;
    let (head, rest) = line.split_once(": Assertion `")?;
    let text = rest.strip_suffix("' failed.").unwrap_or(rest);
    // `program: file:line: function`
    let mut parts = head.splitn(2, ": ");
    let location = match (parts.next(), parts.next()) {
        (Some(_), Some(location)) => location,
        (location, _) => location.unwrap_or_default(),
    };
    let (location, function) = location.rsplit_once(": ").unwrap_or((location, ""));
    let location = location.rsplit('/').next().unwrap_or(location);
    // C++ writes the whole signature: `void bank::audit(int)`.
    let function = function.split('(').next().unwrap_or(function);
    let function = function.rsplit(' ').next().unwrap_or(function);
    Some(format!("`{text}` in {function} at {location}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_test_runners_do_not_count() {
        let same = |a: &str, b: &str| lines(a.as_bytes()).eq(lines(b.as_bytes()));
        assert!(same("[       OK ] Queue.Put (0 ms)\n", "[       OK ] Queue.Put (12 ms)\n"));
        assert!(same("2 tests ran. (0 ms total)", "2 tests ran. (3 ms total)"));
        assert!(same("..\nTime: 0.022\n", "..\nTime: 0,1\n"));
        assert!(same("run: 1, Time elapsed: 0.2 s", "run: 1, Time elapsed: 1 s -- in A"));
        assert!(!same("[       OK ] Queue.Put (0 ms)", "[  FAILED  ] Queue.Put (0 ms)"));
        assert!(!same("Time: noon", "Time: night"));
        assert!(!same("total (1)", "total (2)"));
        assert!(!same("a\n", "a"));
    }

    #[test]
    fn verdicts_are_ordered_and_displayed() {
        let text = |v: Verdict| v.to_string();
        let crash = |function: Option<&str>| Verdict::Crash {
            signal: libc::SIGSEGV,
            function: function.map(str::to_owned),
            location: Some("a.c:31".to_owned()),
        };
        assert_eq!(text(crash(Some("get_info"))), "SIGSEGV in get_info at a.c:31");
        assert_eq!(text(Verdict::Deadlock { threads: vec![1, 2] }), "deadlock: threads 1 and 2");
        assert_eq!(text(Verdict::Deadlock { threads: vec![1] }), "deadlock: thread 1");
        let status = Verdict::ExitStatus { got: 1, expected: "exit 0".to_owned() };
        assert_eq!(text(status.clone()), "exit status 1 instead of 0");
        assert!(crash(None) > status && status > Verdict::OutputDiffers);
        let departed = Verdict::Departed { message: String::new() };
        assert!(departed < Verdict::Benign && !departed.confirms() && Verdict::Benign.confirms());
        let missed = Verdict::NotReached { message: "x".to_owned() };
        assert!(missed < departed && !missed.confirms());
        assert_eq!(text(missed), "did not reach the finding: x");
        assert!(!Verdict::OutputDiffers.is_failure() && crash(None).is_failure());
    }

    #[test]
    fn assertions_are_recognised() {
        let stderr = "x\nprog: dir/bank.c:41: audit: Assertion `total == 100' failed.\n";
        assert_eq!(assertion(stderr).unwrap(), "`total == 100` in audit at bank.c:41");
        let cpp = "prog: bank.cpp:4: void audit(int): Assertion `ok' failed.";
        assert_eq!(assertion(cpp).unwrap(), "`ok` in audit at bank.cpp:4");
        assert_eq!(assertion("all is well"), None);
    }
}
