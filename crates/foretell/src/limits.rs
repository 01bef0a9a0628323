//! Limits of a command: time, memory, and signals.

use std::thread;
use std::time::{Duration, Instant};

use foretell_limit::{Limit, Reason};
use foretell_report::json::Findings;
use foretell_session::SignalGuard;

use crate::failure::Status;
use crate::reporting::CountOptions;
use crate::terminal::complain;

/// Share of the available memory that a command may use if nothing is said, in percent.
const DEFAULT_MEMORY: u64 = 80;

/// Time for loops to see an interrupt. One that does not (a read from a pipe that nothing comes
/// from) is not waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Time limit of a command.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Time limit of the whole command; what was found until then is reported
    ///
    /// Loading included. The rest counts as undecided, and the exit status is 3 if nothing was
    /// found.
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    budget: Option<Duration>,
}

impl Budget {
    /// Returns the limit of a command that starts now.
    pub(crate) fn start(self) -> Limit<'static> {
        let deadline = self.budget.and_then(|budget| Instant::now().checked_add(budget));
        Limit { deadline, ..Limit::none() }
    }
}

/// Reads a number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        .ok_or_else(|| format!("`{text}` is not a number of seconds"))
}

/// Limits the memory of the process to `bytes`, or to most of what is available.
pub(crate) fn limit_memory(bytes: Option<u64>) {
    let most = || foretell_limit::available_memory().map(|all| all / 100 * DEFAULT_MEMORY);
    if let Some(bytes) = bytes.or_else(most) {
        foretell_limit::limit_memory(bytes);
    }
}

/// Ends the work of the command at the first SIGINT, SIGTERM or SIGHUP, so that what was found so
/// far is still reported. The second one ends the process at once.
pub(crate) fn end_on_signals() {
    let mut first: Option<Instant> = None;
    // Without a handler a signal ends the process at once.
    let _ = ctrlc::set_handler(move || {
        if let Some(first) = first {
            if first.elapsed() > SignalGuard::ONE_REQUEST {
                std::process::exit(130);
            }
            return;
        }
        first = Some(Instant::now());
        foretell_limit::interrupt();
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            if !foretell_limit::interrupt_seen() {
                complain(message(Reason::Interrupt));
                std::process::exit(i32::from(Status::CutShort.code()));
            }
        });
    });
}

/// Returns the line that says why a command was cut short.
pub(crate) fn message(reason: Reason) -> &'static str {
    match reason {
        Reason::Interrupt => "foretell: interrupted",
        Reason::Time => "foretell: out of time (see --budget)",
        Reason::Memory => "foretell: out of memory (see --memory)",
    }
}

/// Exit status of a command with findings, from one file after the other.
#[derive(Default)]
pub(crate) struct Outcome {
    found: bool,
    cut_short: bool,
}

impl Outcome {
    /// Adds a findings file.
    pub(crate) fn add(&mut self, counting: &CountOptions, file: &Findings) {
        self.found |= file.findings.iter().any(|finding| counting.counts(finding));
        self.cut_short |= !file.is_complete();
    }

    /// Notes that something was not looked at.
    pub(crate) fn set_cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Returns the status.
    pub(crate) fn status(&self) -> Status {
        match self {
            Outcome { found: true, .. } => Status::Found,
            Outcome { cut_short: true, .. } => Status::CutShort,
            _ => Status::Clean,
        }
    }
}
