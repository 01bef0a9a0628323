//! `foretell report`: a findings file for people.

use std::path::{Path, PathBuf};

use foretell_report::json::{self, Findings};
use foretell_report::{identity, text};
use foretell_trace::Trace;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::reporting::{Format, ReportOptions, any_shown};
use crate::terminal::{Terminal, complain};

/// Show a findings file: as text, HTML, SARIF
///
/// Witnesses are shown from the trace, once the independent checker has accepted them all; without the
/// trace there are only the headlines.
#[derive(clap::Args, Debug)]
#[command(override_usage = "foretell report [OPTIONS] [TRACE] <FINDINGS.json>")]
pub(crate) struct Report {
    /// The findings, and before them the trace that was analysed [default: the one that the findings file
    /// names, if it is there]
    #[arg(required = true, num_args = 1..=2, value_names = ["TRACE", "FINDINGS.json"])]
    files: Vec<PathBuf>,

    /// The trace that was analysed
    #[arg(long)]
    trace: Option<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    #[command(flatten)]
    report: ReportOptions,
}

impl Report {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let (named, findings) = match &self.files[..] {
            [findings] => (None, findings),
            [trace, findings] if self.trace.is_none() => (Some(trace), findings),
            _ => {
                let message = "foretell: the trace is given twice (--help says more)";
                return Err(Failure::Input(message.to_owned()));
            }
        };
        let mut file = input::findings(findings)?;
        let trace = match self.trace.as_ref().or(named) {
            Some(path) => Some(self.read_trace(findings, &file, path)?),
            None => self.find_trace(findings, &file),
        };
        if let Some(trace) = &trace {
            check(findings, &mut file, trace)?;
            identity::assign(&mut file.findings, trace);
        }
        let mut report = self.report.start(self.format, &[])?;
        report.mark(&mut file, trace.as_ref());
        report.publish(terminal, &file, trace.as_ref())?;
        report.finish(terminal)?;
        Ok(if any_shown(&file) { Status::Found } else { Status::Clean })
    }

    fn read_trace(&self, findings: &Path, file: &Findings, path: &Path) -> Result<Trace, Failure> {
        let trace = input::trace(path, self.options)?;
        input::same_trace(findings, file, path, &trace)?;
        Ok(trace)
    }

    /// The trace that the file names. It may be long gone or changed: that is worth a note only.
    fn find_trace(&self, findings: &Path, file: &Findings) -> Option<Trace> {
        match self.read_trace(findings, file, Path::new(&file.trace.path)) {
            Ok(trace) => Some(trace),
            Err(failure) => {
                complain(&format!("{failure} (so witnesses are not shown; see --trace)"));
                None
            }
        }
    }
}

/// Nothing is shown as a finding that the checker refuses, whatever the file says.
fn check(path: &Path, file: &mut Findings, trace: &Trace) -> Result<(), Failure> {
    let verdicts =
        json::check(file, trace, file.trace.model).map_err(|error| Failure::input(path, error))?;
    for (finding, verdict) in file.findings.iter_mut().zip(verdicts) {
        verdict.map_err(|refusal| {
            let refusal = text::printable(&refusal.to_string());
            let message = format!("finding {}: the checker refuses it: {refusal}", finding.id);
            Failure::input(path, message)
        })?;
        finding.verified = true;
    }
    Ok(())
}
