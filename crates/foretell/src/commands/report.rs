//! `foretell report`: shows a findings file.

use std::io::Write;
use std::path::{Path, PathBuf};

use foretell_report::identity;
use foretell_report::json::Findings;
use foretell_session::{check_trace, read_findings, verify_all};
use foretell_trace::Trace;
use foretell_trace::io::open_regular;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::limits::Outcome;
use crate::reporting::{Format, ReportOptions};
use crate::terminal::{Terminal, complain};

/// Show a findings file as text, HTML or SARIF
///
/// Witnesses are shown from the trace, after the independent checker has accepted all of them.
/// Without the trace only the headlines are shown.
#[derive(clap::Args, Debug)]
#[command(override_usage = "foretell report [OPTIONS] [TRACE] <FINDINGS.json>...")]
pub(crate) struct Report {
    /// Findings files; a single one may follow its trace
    #[arg(required = true, value_name = "FINDINGS.json")]
    files: Vec<PathBuf>,

    /// Trace that was analysed [default: the one that the file names]
    #[arg(long)]
    trace: Option<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// Format of standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    #[command(flatten)]
    report: ReportOptions,
}

impl Report {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let is_findings = |path: &Path| path.extension().is_some_and(|e| e == "json");
        let (named, findings) = match &self.files[..] {
            [trace, findings] if !is_findings(trace) => {
                (Some(trace), std::slice::from_ref(findings))
            }
            files => (None, files),
        };
        let trace = self.trace.as_ref().or(named);
        if trace.is_some() && (findings.len() > 1 || (self.trace.is_some() && named.is_some())) {
            let message = "foretell: one trace goes with one findings file (see --help)";
            return Err(Failure::Input(message.to_owned()));
        }
        let mut report = self.report.start(self.format, &[])?;
        let mut outcome = Outcome::default();
        for path in findings {
            let (mut file, trace) = self.read(path, trace.map(PathBuf::as_path))?;
            report.mark(&mut file.findings, trace.as_ref());
            if self.format == Format::Text && findings.len() > 1 {
                writeln!(terminal, "{}:", path.display())?;
            }
            report.publish(terminal, &file, trace.as_ref())?;
            outcome.add(&self.report.counting, &file);
        }
        report.finish(terminal)?;
        Ok(outcome.status())
    }

    /// Reads and checks a findings file, and reads its trace if that is available.
    fn read(
        &self,
        path: &Path,
        trace: Option<&Path>,
    ) -> Result<(Findings, Option<Trace>), Failure> {
        let mut file = read_findings(path)?;
        let trace = match trace {
            Some(trace) => Some(self.read_trace(path, &file, trace)?),
            None => self.find_trace(path, &file),
        };
        if let Some(trace) = &trace {
            // A finding that the checker refuses is not shown, whatever the file says.
            verify_all(path, &mut file, trace)?;
            identity::assign(&mut file.findings, trace);
        }
        Ok((file, trace))
    }

    fn read_trace(&self, findings: &Path, file: &Findings, path: &Path) -> Result<Trace, Failure> {
        let trace = input::trace(path, self.options)?;
        check_trace(findings, file, path, &trace)?;
        Ok(trace)
    }

    /// Reads the trace that the file names. It may be gone or changed: a remark says so. The remark
    /// quotes nothing of that file, which need not be a trace at all.
    fn find_trace(&self, findings: &Path, file: &Findings) -> Option<Trace> {
        let path = Path::new(&file.trace.path);
        let read = match open_regular(path) {
            Err(error) => Err(Failure::file(path)(error)),
            Ok(_) => match input::trace(path, self.options) {
                Err(_) => Err(Failure::input(path, "not a trace that can be read")),
                Ok(trace) => {
                    check_trace(findings, file, path, &trace).map(|()| trace).map_err(Failure::from)
                }
            },
        };
        read.map_err(|failure| {
            complain(&format!("{failure} (so witnesses are not shown; see --trace)"));
        })
        .ok()
    }
}
