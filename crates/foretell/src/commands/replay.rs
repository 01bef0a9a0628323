//! `foretell replay`: drives the real program along the witness of a finding.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use foretell_limit::{Limit, Reason, within};
use foretell_report::cause;
use foretell_report::json::Findings;
use foretell_report::text::printable;
use foretell_session::{
    Launch, PredictOptions, ReplayRequest, Replayed, Verdict, debug, find, launch_as_recorded,
    load_steps, predict, read_findings_of, replay, verify_one,
};
use foretell_trace::Trace;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::limits::{Budget, message};
use crate::output::Destination;
use crate::terminal::{Terminal, complain};

/// Drive the real program along a finding's witness and report the outcome
///
/// The program first runs as it was recorded, for comparison; then along the schedule, and freely
/// after the last step of the schedule. The finding is confirmed if the program reaches it. Exit
/// status: 0 confirmed, and the program ran to the end as before; 1 confirmed, and it went wrong or
/// its output differs; 2 not confirmed: it left the schedule, or ended before; 3 interrupted, or
/// out of time. Without a name all findings are replayed: 1 if the program went wrong or its output
/// differed along one of them, else 2 if one was not confirmed.
#[derive(clap::Args, Debug)]
pub(crate) struct Replay {
    /// Trace that was analysed
    trace: PathBuf,

    /// Name of the finding: race-1 [default: all of the file]
    finding: Option<String>,

    /// Findings file [default: TRACE with .json; else predict anew]
    ///
    /// The verdict is written back to the file.
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,

    /// Number of replays
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,

    /// Run under gdb, stopped before the last step of the witness
    #[arg(long, conflicts_with = "times", requires = "finding")]
    gdb: bool,

    /// Time limit of a run; a longer one counts as hanging
    #[arg(long, value_name = "SECS", default_value_t = 30)]
    limit: u64,

    #[command(flatten)]
    budget: Budget,

    /// Standard input of the program [default: empty]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Replay {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let limit = self.budget.start();
        within(&limit, || self.replay(terminal, &limit)).unwrap_or_else(|reason| {
            complain(message(reason));
            Ok(Status::CutShort)
        })
    }

    fn replay(&self, terminal: &mut Terminal, budget: &Limit<'_>) -> Result<Status, Failure> {
        let trace = input::trace(&self.trace, self.options)?;
        let steps = load_steps(&self.trace, &trace)?;
        let (mut file, path) = self.findings(&trace)?;
        let indices = match &self.finding {
            Some(finding) => vec![find(&file, finding, &self.trace)?],
            None => (0..file.findings.len()).filter(|&i| file.findings[i].is_shown()).collect(),
        };
        if indices.is_empty() {
            writeln!(terminal, "there is nothing to replay: the file has no findings")?;
        }
        let limit = Duration::from_secs(self.limit);
        let launch = Launch {
            input: self.stdin.clone(),
            limit: Some(limit),
            ..launch_as_recorded(&trace, self.command.clone())
        };
        let (mut outcome, mut changed, mut note) = (Outcome::default(), false, None);
        for index in indices {
            // A witness may come from elsewhere; the program follows none that is not feasible.
            verify_one(path.as_deref().unwrap_or(&self.trace), &file, index, &trace)?;
            let request = ReplayRequest {
                trace: &trace,
                steps: &steps,
                model: file.trace.model,
                finding: &file.findings[index],
                launch: &launch,
                limit,
            };
            if self.gdb {
                debug(&request)?;
                return Ok(Status::Clean);
            }
            let replayed = replay(&request, self.times)?;
            if replayed.note.is_some() && note != replayed.note {
                note.clone_from(&replayed.note);
                complain(&format!("foretell: {}", note.as_deref().unwrap_or_default()));
            }
            self.show(terminal, &file.findings[index].id, &replayed)?;
            if let Some(outcome) = replayed.to_json().filter(|_| !replayed.interrupted) {
                file.findings[index].set_replay(outcome, replayed.confirmed());
                changed = true;
            }
            outcome.add(&replayed);
            if replayed.interrupted {
                complain(message(budget.reached().unwrap_or(Reason::Interrupt)));
                break;
            }
        }
        cause::assign(&mut file.findings);
        if let Some(path) = path.filter(|_| changed) {
            Destination::new(Some(path)).write(terminal, |mut out| file.write(&mut out))?;
        }
        Ok(outcome.status())
    }

    /// Prints each verdict, the worst first.
    fn show(
        &self,
        terminal: &mut Terminal,
        finding: &str,
        replayed: &Replayed,
    ) -> Result<(), Failure> {
        for (verdict, times) in replayed.verdicts.iter().rev() {
            let count = if self.times > 1 {
                format!(" ({times} of {})", self.times)
            } else {
                String::new()
            };
            let text = printable(&verdict.to_string());
            let word = if verdict.confirms() { "confirmed" } else { "unconfirmed" };
            writeln!(terminal, "{finding}: {word}: {text}{count}")?;
        }
        terminal.flush()?;
        Ok(())
    }

    /// Returns the findings, and the file to write them back to.
    fn findings(&self, trace: &Trace) -> Result<(Findings, Option<PathBuf>), Failure> {
        let beside = self.trace.with_extension("json");
        let path = match &self.findings {
            Some(path) => path.clone(),
            None if beside.exists() => beside,
            None => {
                let predicted = predict(&self.trace, trace, &PredictOptions::default())?;
                return Ok((predicted.findings, None));
            }
        };
        let file = read_findings_of(&path, &self.trace, trace)?;
        Ok((file, Some(path)))
    }
}

/// Outcome of the replays of one finding or of several.
#[derive(Default)]
struct Outcome {
    /// Whether the program went wrong, or its output differed, along a confirmed finding.
    wrong: bool,
    /// Whether a finding was not confirmed.
    unconfirmed: bool,
    /// Whether the replays were cut short.
    interrupted: bool,
}

impl Outcome {
    fn add(&mut self, replayed: &Replayed) {
        self.interrupted |= replayed.interrupted;
        let Some((worst, _)) = replayed.worst().filter(|_| !replayed.interrupted) else { return };
        match worst {
            _ if !replayed.confirmed() => self.unconfirmed = true,
            Verdict::Benign => {}
            _ => self.wrong = true,
        }
    }

    fn status(&self) -> Status {
        match self {
            Outcome { interrupted: true, .. } => Status::CutShort,
            Outcome { wrong: true, .. } => Status::Found,
            Outcome { unconfirmed: true, .. } => Status::Program(2),
            _ => Status::Clean,
        }
    }
}
