//! `foretell report`: a findings file for people.

use std::path::{Path, PathBuf};

use foretell_report::json::{self, Findings};
use foretell_report::{identity, text};
use foretell_trace::Trace;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::reporting::{ReportOptions, any_shown};
use crate::terminal::{Terminal, complain};

/// Show a findings file as text
///
/// Witnesses are shown from the trace, once the independent checker has accepted them all; without the
/// trace there are only the headlines.
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

    #[command(flatten)]
    report: ReportOptions,
}

impl Report {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let mut file = input::findings(&self.findings)?;
        let trace = match &self.trace {
            Some(path) => Some(self.read_trace(&file, path)?),
            None => self.find_trace(&file),
        };
        if let Some(trace) = &trace {
            self.check(&mut file, trace)?;
        }
        if let Some(trace) = &trace {
            identity::assign(&mut file.findings, trace);
        }
        let mut report = self.report.start(&[])?;
        report.add(&mut file, trace.as_ref());
        let look = self.report.look(terminal);
        text::findings(terminal, &file, trace.as_ref(), &look)?;
        report.finish(terminal)?;
        Ok(if any_shown(&file) { Status::Found } else { Status::Clean })
    }

    fn read_trace(&self, file: &Findings, path: &Path) -> Result<Trace, Failure> {
        let trace = input::trace(path, self.options)?;
        input::same_trace(&self.findings, file, path, &trace)?;
        Ok(trace)
    }

    /// Nothing is shown as a finding that the checker refuses, whatever the file says.
    fn check(&self, file: &mut Findings, trace: &Trace) -> Result<(), Failure> {
        let verdicts = json::check(file, trace, file.trace.model)
            .map_err(|error| Failure::input(&self.findings, error))?;
        for (finding, verdict) in file.findings.iter_mut().zip(verdicts) {
            verdict.map_err(|refusal| {
                let refusal = text::printable(&refusal.to_string());
                let message = format!("finding {}: the checker refuses it: {refusal}", finding.id);
                Failure::input(&self.findings, message)
            })?;
            finding.verified = true;
        }
        Ok(())
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
