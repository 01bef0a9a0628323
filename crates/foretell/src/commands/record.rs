//! `foretell record`: a program runs, and its trace is written.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use foretell_report::text::grouped;
use foretell_session::{Launch, Mode, Steps, Translated, record, shell_status};
use foretell_trace::io::Content;

use crate::failure::{Failure, Status};
use crate::output;
use crate::recording::{RecordOptions, summary};
use crate::terminal::complain;

/// Run an instrumented program and write its trace
///
/// The program was built with `foretell cc`, or with gcc -fsanitize=thread. Its input, output and exit status are its own;
/// a program that a signal ends gives 128 and the signal's number, as in a shell.
#[derive(clap::Args, Debug)]
pub(crate) struct Record {
    /// Where to write the trace; what `replay` needs goes beside it, to OUT.steps
    #[arg(short, long, value_name = "OUT", default_value = "foretell.ft")]
    output: PathBuf,

    #[command(flatten)]
    options: RecordOptions,

    /// Let threads run at once: faster, but the recorded order of racing accesses is not certain
    #[arg(long, conflicts_with = "symbolic")]
    parallel: bool,

    /// Say nothing about what was recorded
    #[arg(long, short)]
    quiet: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Record {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let blocks = self.options.blocks()?;
        let directory = match self.output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mode = if self.parallel { Mode::Parallel } else { Mode::Record };
        let launch = Launch { mode, directory, ..self.options.launch(self.command) };
        let recorded = record(&launch, &blocks)?;
        if let Some(saved) = save(&recorded.translated, &self.output)? {
            complain(&format!(
                "foretell: {}: no space was left: the trace there has the first {} events",
                self.output.display(),
                grouped(saved as u64),
            ));
        }
        if !self.quiet {
            let notes = recorded.notes.iter().map(String::as_str);
            let parallel = self.parallel.then_some(
                "recorded in parallel: where accesses race, their order in the trace may be wrong",
            );
            for note in notes.chain(parallel) {
                complain(&format!("foretell: {note}"));
            }
            complain(&format!("foretell: {}", summary(&recorded)));
        }
        Ok(Status::Program(shell_status(recorded.run.status)))
    }
}

/// Writes the trace and what goes beside it. If there is no room for all of it, as many events as there is room for: how many
/// that are.
fn save(translated: &Translated, output: &Path) -> Result<Option<usize>, Failure> {
    if output.as_os_str() == "-" {
        return output::save(&translated.trace, output).map(|()| None);
    }
    let failed = match save_both(&translated.trace, &translated.steps, output) {
        Err(Unsaved::NoSpace(failed)) => failed,
        saved => return saved.map(|()| None).map_err(Unsaved::failure),
    };
    // Half as many until they fit, then nearly as many as fit.
    let (mut fits, mut most) = (0, translated.trace.len());
    while most - fits > (most / 16).max(1) {
        let events = (fits + most) / 2;
        match save_first(translated, events, output) {
            Ok(()) => {
                fits = events;
                // The next one needs the room.
                let _ = std::fs::remove_file(output);
                let _ = std::fs::remove_file(Steps::path_for(output));
            }
            Err(Unsaved::NoSpace(_)) => most = events,
            Err(other) => return Err(other.failure()),
        }
    }
    if fits == 0 {
        return Err(failed);
    }
    save_first(translated, fits, output).map_err(Unsaved::failure)?;
    Ok(Some(fits))
}

/// Writes the first so many events.
fn save_first(translated: &Translated, events: usize, output: &Path) -> Result<(), Unsaved> {
    let (trace, steps) = translated.first(events);
    save_both(&trace, &steps, output)
}

/// Why something was not saved.
enum Unsaved {
    NoSpace(Failure),
    Otherwise(Failure),
}

impl Unsaved {
    fn new(kind: io::ErrorKind, failure: Failure) -> Unsaved {
        match kind {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Unsaved::NoSpace(failure),
            _ => Unsaved::Otherwise(failure),
        }
    }

    fn failure(self) -> Failure {
        match self {
            Unsaved::NoSpace(failure) | Unsaved::Otherwise(failure) => failure,
        }
    }
}

/// Writes the trace and, at the same time, the steps.
fn save_both<'a>(
    trace: impl Into<Content<'a>>,
    steps: &Steps,
    output: &Path,
) -> Result<(), Unsaved> {
    let beside = Steps::path_for(output);
    let (trace, steps) = std::thread::scope(|scope| {
        let steps = scope.spawn(|| steps.save(&beside));
        let trace = foretell_trace::io::save(trace, output);
        (trace, steps.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    if let Err(error) = trace {
        let _ = std::fs::remove_file(&beside);
        return Err(Unsaved::new(error.source.kind(), Failure::Input(error.to_string())));
    }
    steps.map_err(|error| {
        let kind = match &error {
            foretell_session::LogError::File { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        let _ = std::fs::remove_file(&beside);
        Unsaved::new(kind, foretell_session::Error::from(error).into())
    })
}
