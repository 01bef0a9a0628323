//! Progress of a long command on a terminal, and its interruption.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foretell_session::Progress;

/// Set by the first interrupt.
static STOP: AtomicBool = AtomicBool::new(false);

/// Returns the flag that the first Ctrl-C sets, so that the findings so far are still shown. The
/// second Ctrl-C ends the process as usual.
pub(crate) fn stop_on_interrupt() -> &'static AtomicBool {
    // Without a handler an interrupt ends the process at once.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &STOP
}

/// Does `work`, and meanwhile shows counts and time on standard error if that is a terminal.
pub(crate) fn shown_while<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let printer = scope.spawn(|| show(progress, &done));
        let result = work();
        done.store(true, Ordering::Relaxed);
        printer.thread().unpark();
        result
    })
}

fn show(progress: &Progress, done: &AtomicBool) {
    let start = Instant::now();
    while !done.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(200));
        if start.elapsed() < Duration::from_secs(1) {
            continue;
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
