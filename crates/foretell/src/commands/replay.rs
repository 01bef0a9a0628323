//! `foretell replay`: the real program, driven along the witness of a finding.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foretell_predict::driver::{self, Options};
use foretell_report::json::Findings;
use foretell_report::text::printable;
use foretell_session::{Error, Launch, Reference, Replay as Driver, Steps, Verdict};
use foretell_trace::{Model, Trace};
use serde_json::{Value, json};

use super::predict::{defective, document};
use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::output::Destination;
use crate::terminal::{Terminal, complain};
use crate::witnesses::Witnesses;

/// Drive the real program along a finding's witness and say what happens
///
/// First the program runs as it did when it was recorded, to compare with; then along the schedule, and
/// freely after its last step. Exit status 1: something went wrong or the output differs; 0: it ran to the end as
/// before; 2: it left the schedule.
#[derive(clap::Args, Debug)]
pub(crate) struct Replay {
    /// The trace that was analysed
    trace: PathBuf,

    /// The finding, as `predict` names it: race-1
    finding: String,

    /// The findings file, which gets the verdict [default: the trace's name with .json, if it is there; else
    /// the findings are predicted anew]
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,

    /// Replay so many times
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,

    /// Run under gdb, stopped right before the last step of the witness
    #[arg(long, conflicts_with = "times")]
    gdb: bool,

    /// A run that takes longer than this has not ended
    #[arg(long, value_name = "SECS", default_value_t = 30)]
    limit: u64,

    /// The program's standard input [default: empty]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Replay {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let trace = input::trace(&self.trace, self.options)?;
        let steps_path = Steps::path_for(&self.trace);
        if !steps_path.exists() {
            let message = "cannot be replayed: `foretell record` did not make it, or its .steps \
                           file is gone";
            return Err(Failure::input(&self.trace, message));
        }
        let steps = Steps::load(&steps_path, trace.len()).map_err(Error::from)?;
        let (mut file, path) = self.findings(&trace)?;
        let Some(index) = file.findings.iter().position(|f| f.id == self.finding) else {
            return Err(self.unknown(&file));
        };
        let finding = &file.findings[index];
        let witnesses = Witnesses { trace: &trace, model: file.trace.model, finding };
        let orders = witnesses.found();
        let launch = self.launch(&trace);
        let limit = Duration::from_secs(self.limit);
        if self.gdb {
            let reference = Reference { ended: String::new(), stdout: None, uncaught: Vec::new() };
            let driver = Driver { launch: &launch, steps: &steps, reference: &reference, limit };
            driver.debug(&orders[0]).map_err(Error::from)?;
            return Ok(Status::Clean);
        }
        let reference = reference(&launch, &trace)?;
        let driver = Driver { launch: &launch, steps: &steps, reference: &reference, limit };
        let mut verdicts: BTreeMap<Verdict, u64> = BTreeMap::new();
        for _ in 0..self.times {
            *verdicts
                .entry(driver.run(&orders, || witnesses.nearest()).map_err(Error::from)?)
                .or_default() += 1;
        }
        for (verdict, times) in verdicts.iter().rev() {
            let count = if self.times > 1 {
                format!(" ({times} of {})", self.times)
            } else {
                String::new()
            };
            let text = printable(&verdict.to_string());
            writeln!(terminal, "{}: {text}{count}", self.finding)?;
        }
        // Departures come first in the order of verdicts: one is enough to be told by the status.
        let departed = matches!(verdicts.first_key_value(), Some((Verdict::Departed { .. }, _)));
        let Some((worst, times)) = verdicts.pop_last() else { return Ok(Status::Clean) };
        file.findings[index].replay = Some(replay_value(&worst, times, self.times));
        if let Some(path) = path {
            Destination::new(Some(path)).write(terminal, |mut out| file.write(&mut out))?;
        }
        Ok(match worst {
            _ if departed => Status::Program(2),
            Verdict::Benign => Status::Clean,
            _ => Status::Found,
        })
    }

    fn launch(&self, trace: &Trace) -> Launch {
        let number = |key: &str, default| {
            trace.meta().get(key).and_then(|n| n.parse().ok()).unwrap_or(default)
        };
        Launch {
            seed: number("seed", 0),
            quantum: number("quantum", 1000),
            quiet: true,
            input: self.stdin.clone(),
            limit: Some(Duration::from_secs(self.limit)),
            ..Launch::new(self.command.clone())
        }
    }

    /// The findings, and the file to write them back to.
    fn findings(&self, trace: &Trace) -> Result<(Findings, Option<PathBuf>), Failure> {
        let beside = self.trace.with_extension("json");
        let path = match &self.findings {
            Some(path) => path.clone(),
            None if beside.exists() => beside,
            None => return Ok((predicted(&self.trace, trace)?, None)),
        };
        let file = input::findings(&path)?;
        input::same_trace(&path, &file, &self.trace, trace)?;
        Ok((file, Some(path)))
    }

    fn unknown(&self, file: &Findings) -> Failure {
        let ids: Vec<&str> = file.findings.iter().map(|f| f.id.as_str()).take(20).collect();
        let there = match ids.is_empty() {
            true => "nothing was predicted".to_owned(),
            false => format!("there are {}", ids.join(", ")),
        };
        Failure::input(&self.trace, format!("no finding `{}`: {there}", self.finding))
    }
}

fn predicted(path: &Path, trace: &Trace) -> Result<Findings, Failure> {
    let model = Model::auto(trace);
    let prediction = driver::predict(trace, model, &Options::default())
        .map_err(|defects| defective(path, &defects))?;
    Ok(document(path, trace, model, &prediction, None, false))
}

/// Runs the program as it was recorded. Its output counts only if it ends as it did then.
fn reference(launch: &Launch, trace: &Trace) -> Result<Reference, Failure> {
    let run = launch.run().map_err(Error::from)?;
    let ended = trace.meta().get("ended").cloned().unwrap_or_else(|| run.ended());
    let same = ended == run.ended();
    if !same {
        complain(&format!(
            "foretell: run as it was recorded, the program ends with {} instead of {ended}: its output \
             is not compared",
            run.ended()
        ));
    }
    Ok(Reference { ended, ..Reference::of(&run, same.then(|| run.stdout())) })
}

/// What a findings file says about replays.
pub(crate) fn replay_value(verdict: &Verdict, times: u64, of: u64) -> Value {
    json!({"verdict": verdict.name(), "text": verdict.to_string(), "times": times, "of": of})
}
