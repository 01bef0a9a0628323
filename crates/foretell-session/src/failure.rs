//! The failure of a recorded run: how the program ended, and what its log says about that.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use foretell_launch::Run;
use foretell_trace::{FailureKind, RunFailure};
use foretell_translate::{Translated, signal_name};

/// Signals that ask a program to end: a program that they end has not failed.
const REQUESTS: [i32; 5] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE];

/// Returns the failure of a run, if it failed. An exit status alone is no failure, whatever it is:
/// programs use it for results.
pub(crate) fn failure(
    run: &Run,
    translated: &Translated,
    limit: Option<Duration>,
) -> Option<RunFailure> {
    if let Some(failure) = &translated.failure
        && (is_certain(failure.kind, run.java) || by_signal(run))
    {
        return Some(failure.clone());
    }
    // Ended from here: no failure of the program.
    if run.interrupted {
        return None;
    }
    let threads = || translated.living.clone();
    if run.timed_out {
        let seconds = limit.unwrap_or_default().as_secs();
        let message = format!("the program did not end within {seconds} seconds");
        return Some(RunFailure { kind: FailureKind::Hang, message, threads: threads() });
    }
    let signal = run.status.signal().filter(|signal| !REQUESTS.contains(signal))?;
    let kind = match signal {
        libc::SIGKILL | libc::SIGXCPU | libc::SIGXFSZ => FailureKind::Killed,
        _ => FailureKind::Crash,
    };
    let message = format!("{} ended the program", signal_name(signal));
    Some(RunFailure { kind, message, threads: threads() })
}

/// Returns the failure of a run that ended with another exit status than the first run of its
/// exploration, which ended with 0.
pub(crate) fn of_status(run: &Run) -> Option<RunFailure> {
    let status = run.status.code().filter(|&status| status != 0)?;
    Some(RunFailure {
        kind: FailureKind::Status,
        message: format!("exit status {status} instead of 0"),
        threads: vec![("T0".to_owned(), "is the main thread".to_owned())],
    })
}

/// Whether a failure of this kind that the log shows is one however the program ended: the failed
/// assertion of a Java program ends a thread, that of a native one the program.
fn is_certain(kind: FailureKind, java: bool) -> bool {
    match kind {
        FailureKind::Deadlock | FailureKind::Exception => true,
        FailureKind::Assertion => java,
        FailureKind::Crash | FailureKind::Hang | FailureKind::Killed | FailureKind::Status => false,
    }
}

/// Whether a signal ended the program, or the shell that started it says so.
fn by_signal(run: &Run) -> bool {
    run.status.signal().is_some() || run.status.code().is_some_and(|code| code > 128)
}
