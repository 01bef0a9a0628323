//! Progress of a long command on a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foretell_limit::shielded;
use foretell_predict::finding::Finding;
use foretell_report::json;
use foretell_report::text::printable;
use foretell_session::Progress;
use foretell_trace::Trace;

/// Does `work`, and meanwhile shows findings as they come, counts and time on standard error if
/// that is a terminal.
pub(crate) fn shown_while<T>(trace: &Trace, work: impl FnOnce(&Progress) -> T) -> T {
    if !io::stderr().is_terminal() {
        return work(&Progress::default());
    }
    let progress = Progress::with_findings();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let printer = scope.spawn(|| shielded(|| show(&progress, trace, &done)));
        let result = work(&progress);
        done.store(true, Ordering::Relaxed);
        printer.thread().unpark();
        result
    })
}

/// Whether something else shows the progress of this command.
static SHOWN_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Leaves the progress of this command to its pool, which knows its nodes and tasks too.
pub(crate) fn leave_to_pool() {
    SHOWN_ELSEWHERE.store(true, Ordering::Relaxed);
}

/// Shows what a command is doing on standard error, if that is a terminal, in place of what it did
/// before.
pub(crate) fn status(text: &str) {
    if !SHOWN_ELSEWHERE.load(Ordering::Relaxed) && io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K{}", printable(text));
    }
}

/// Clears the line of the progress, before something else is written to the terminal.
pub(crate) fn clear() {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

fn show(progress: &Progress, trace: &Trace, done: &AtomicBool) {
    let start = Instant::now();
    while !done.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(200));
        if start.elapsed() < Duration::from_secs(1) {
            continue;
        }
        for finding in progress.take_found() {
            let _ = writeln!(io::stderr(), "\r\x1b[Kfound: {}", line(&finding, trace));
        }
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let _ = write!(
            io::stderr(),
            "\r\x1b[K{} of {} groups, {} findings, {} s",
            load(&progress.done),
            load(&progress.groups),
            load(&progress.findings),
            start.elapsed().as_secs()
        );
    }
    let _ = write!(io::stderr(), "\r\x1b[K");
}

/// Returns kind, objects and locations of a finding.
fn line(finding: &Finding, trace: &Trace) -> String {
    let finding = json::finding(&finding.pattern, &[], finding.engine, trace);
    let locations: Vec<&str> =
        finding.locations.iter().map(|l| l.as_deref().unwrap_or("?")).collect();
    let (objects, locations) = (finding.objects.join(", "), locations.join(", "));
    printable(&format!("{} of {objects} at {locations}", finding.kind))
}
