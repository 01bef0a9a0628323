//! `foretell report`: a findings file for people.

use std::path::{Path, PathBuf};

use foretell_report::json::Findings;
use foretell_report::text::{self, Look};
use foretell_trace::Trace;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::{Terminal, complain};

/// Show a findings file as text
///
/// Witnesses are shown from the trace; without it there are only the headlines.
#[derive(clap::Args, Debug)]
pub(crate) struct Report {
    /// The findings
    #[arg(value_name = "FINDINGS.json")]
    findings: PathBuf,

    /// The trace that was analysed [default: the one that the findings file names, if it is there]
    #[arg(long)]
    trace: Option<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// Show long witnesses whole
    #[arg(long)]
    full: bool,
}

impl Report {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let file = input::findings(&self.findings)?;
        let trace = match &self.trace {
            Some(path) => Some(self.read_trace(&file, path)?),
            None => self.find_trace(&file),
        };
        let look = Look { fold: !self.full, ..terminal.look() };
        text::findings(terminal, &file, trace.as_ref(), &look)?;
        Ok(if file.findings.is_empty() { Status::Clean } else { Status::Found })
    }

    fn read_trace(&self, file: &Findings, path: &Path) -> Result<Trace, Failure> {
        let trace = input::trace(path, self.options)?;
        input::same_trace(&self.findings, file, path, &trace)?;
        Ok(trace)
    }

    /// The trace that the file names. It may be long gone or changed: that is worth a note only.
    fn find_trace(&self, file: &Findings) -> Option<Trace> {
        match self.read_trace(file, Path::new(&file.trace.path)) {
            Ok(trace) => Some(trace),
            Err(failure) => {
                complain(&format!("{failure} (so witnesses are not shown; see --trace)"));
                None
            }
        }
    }
}
