//! `foretell record`: runs a program and saves its trace.

use std::ffi::OsString;
use std::path::PathBuf;

use foretell_report::text::grouped;
use foretell_session::{Launch, Mode, record, save, shell_status};

use crate::failure::{Failure, Status};
use crate::output;
use crate::recording::{RecordOptions, summary};
use crate::terminal::complain;

/// Run an instrumented program and save its trace
///
/// The program was built with `foretell cc` or with gcc -fsanitize=thread, or is a Java program.
/// Input and output are those of the program. The exit status is that of the program; 128 plus
/// the signal's number, as in a shell, if a signal ended it.
#[derive(clap::Args, Debug)]
pub(crate) struct Record {
    /// File for the trace; OUT.steps beside it is for `replay`
    #[arg(short, long, value_name = "OUT", default_value = "foretell.ft")]
    output: PathBuf,

    #[command(flatten)]
    options: RecordOptions,

    /// Run threads in parallel: faster, but the order of racing accesses may be wrong
    #[arg(long, conflicts_with = "symbolic", hide_short_help = true)]
    parallel: bool,

    /// Print nothing about the recording
    #[arg(long, short)]
    quiet: bool,

    /// Program and arguments
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
        if self.output.as_os_str() == "-" {
            output::save(&recorded.translated.trace, &self.output)?;
        } else if let Some(saved) = save(&recorded.translated, &self.output)? {
            complain(&format!(
                "foretell: {}: no space was left: the trace there has the first {} events",
                self.output.display(),
                grouped(saved as u64),
            ));
        }
        if !self.quiet {
            let notes = recorded.notes.iter().map(String::as_str);
            let parallel = self.parallel.then_some(
                "recorded in parallel: the order of racing accesses in the trace may be wrong",
            );
            for note in notes.chain(parallel) {
                complain(&format!("foretell: {note}"));
            }
            complain(&format!("foretell: {}", summary(&recorded)));
        }
        Ok(Status::Program(shell_status(recorded.run.status)))
    }
}
