//! `foretell verify`: the independent checker on a findings file.

use std::io::Write;
use std::path::PathBuf;

use foretell_report::json;
use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern};

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::Terminal;

/// Check every witness of a findings file
///
/// The checker shares no code with what found the witnesses. For each finding it says that it accepts
/// the witness, or the first rule that the witness breaks. Exit status: 0 all are accepted, 1
/// some are refused.
#[derive(clap::Args, Debug)]
pub(crate) struct Verify {
    /// The trace that was analysed
    trace: PathBuf,

    /// What was found
    #[arg(value_name = "FINDINGS.json")]
    findings: PathBuf,

    #[command(flatten)]
    options: TraceOptions,

    /// The model to check in: view, value or symbolic [default: the one in the findings file]
    #[arg(long)]
    model: Option<Model>,
}

impl Verify {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let trace = input::trace(&self.trace, self.options)?;
        let file = input::findings(&self.findings)?;
        input::same_trace(&self.findings, &file, &self.trace, &trace)?;
        // All of the file must make sense before anything is said about a part of it.
        let claims = self.claims(&file, &trace)?;

        let checker = Checker::new(&trace, self.model.unwrap_or(file.trace.model));
        let mut accepted = 0;
        for (finding, (pattern, schedule)) in file.findings.iter().zip(&claims) {
            match checker.verify(pattern, schedule) {
                Ok(()) => {
                    accepted += 1;
                    writeln!(terminal, "{}: accepted", finding.id)?;
                }
                Err(refusal) => writeln!(terminal, "{}: refused: {refusal}", finding.id)?,
            }
        }
        writeln!(terminal, "{accepted} of {} accepted", claims.len())?;
        Ok(if accepted == claims.len() { Status::Clean } else { Status::Found })
    }

    /// What each finding claims, and the schedule that is to show it.
    fn claims(
        &self,
        file: &json::Findings,
        trace: &Trace,
    ) -> Result<Vec<(Pattern, Vec<EventId>)>, Failure> {
        let claim = |finding: &json::Finding| {
            let pattern = json::pattern(finding, trace).map_err(|message| {
                Failure::input(&self.findings, format!("finding {}: {message}", finding.id))
            })?;
            Ok((pattern, finding.witness.schedule.iter().map(|&e| EventId(e)).collect()))
        };
        file.findings.iter().map(claim).collect()
    }
}
