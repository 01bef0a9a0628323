//! `foretell verify`: the independent checker on a findings file.

use std::io::Write;
use std::path::PathBuf;

use foretell_report::text::printable;
use foretell_session::{read_findings_of, verify};
use foretell_trace::Model;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::Terminal;

/// Check every witness of a findings file
///
/// The checker shares no code with the engines that find witnesses. It accepts the witness of a
/// finding, or names the first rule that the witness breaks. Exit status: 0 all are accepted, 1
/// some are refused.
#[derive(clap::Args, Debug)]
pub(crate) struct Verify {
    /// Trace that was analysed
    trace: PathBuf,

    /// Findings file
    #[arg(value_name = "FINDINGS.json")]
    findings: PathBuf,

    #[command(flatten)]
    options: TraceOptions,

    /// Model: view, value, symbolic [default: that of the findings file]
    #[arg(long)]
    model: Option<Model>,
}

impl Verify {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let trace = input::trace(&self.trace, self.options)?;
        let file = read_findings_of(&self.findings, &self.trace, &trace)?;
        let model = self.model.unwrap_or(file.trace.model);
        let verdicts = verify(&self.findings, &file, &trace, model)?;
        for (finding, verdict) in file.findings.iter().zip(&verdicts) {
            match verdict {
                Ok(()) => writeln!(terminal, "{}: accepted", finding.id)?,
                Err(refusal) => writeln!(
                    terminal,
                    "{}: refused: {}",
                    finding.id,
                    printable(&refusal.to_string())
                )?,
            }
        }
        let accepted = verdicts.iter().filter(|verdict| verdict.is_ok()).count();
        writeln!(terminal, "{accepted} of {} accepted", verdicts.len())?;
        Ok(if accepted == verdicts.len() { Status::Clean } else { Status::Found })
    }
}
