//! Replaying a finding on the real program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use foretell_launch::{Java, Launch};
use foretell_limit::{Limit, deadline};
use foretell_replay::{Error as ReplayError, Reference, Replay, Verdict};
use foretell_report::json::{Finding, Findings};
use foretell_report::observed;
use foretell_rt_format::EXIT_STEPS;
use foretell_trace::{FailureKind, Model, RunFailure, Trace};
use foretell_translate::{Blocks, FORKED, ID, Steps};
use serde_json::{Value, json};

use crate::Error;
use crate::explore::{SCHEDULE, follow};
use crate::failure::of_status;
use crate::record::{EXCLUDE, INCLUDE, RESOURCE_ANNOTATIONS, RESOURCES, Recorded, record};
use crate::witnesses::Witnesses;

/// Most names that [`find`] lists in its error.
const LISTED: usize = 20;

/// Verdicts of the replays of a finding.
#[derive(Clone, Default, Debug)]
pub struct Replayed {
    /// Number of replays with each verdict, the most harmless first.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Remark for the user, one line.
    pub note: Option<String>,
    /// Whether this process was asked to end, or its time was over, before the last replay.
    pub interrupted: bool,
}

impl Replayed {
    /// Returns the worst verdict and the number of replays with it.
    pub fn worst(&self) -> Option<(&Verdict, u64)> {
        self.verdicts.last_key_value().map(|(verdict, &times)| (verdict, times))
    }

    /// Whether a replay reached the finding, and so confirms it.
    pub fn confirmed(&self) -> bool {
        self.verdicts.keys().any(Verdict::confirms)
    }

    /// Returns the value of the field `replay` of a finding.
    pub fn to_json(&self) -> Option<Value> {
        let of = self.verdicts.values().sum();
        self.worst().map(|(worst, times)| replay_json(worst, times, of))
    }
}

/// A finding and all that a replay of it needs.
#[derive(Debug)]
pub struct ReplayRequest<'a> {
    /// The trace that was analysed.
    pub trace: &'a Trace,
    /// Steps behind the events of the trace; see [`load_steps`].
    pub steps: &'a Steps,
    /// Model that the finding was predicted in.
    pub model: Model,
    /// The finding.
    pub finding: &'a Finding,
    /// The program, launched as it was recorded; see [`launch_as_recorded`].
    pub launch: &'a Launch,
    /// Time after which a run counts as hanging.
    pub limit: Duration,
}

/// Replays a finding `times` times on the real program.
///
/// The program first runs as it was recorded, for comparison; then along the schedule, and freely
/// after the last step of the schedule.
///
/// # Errors
/// If the program cannot be run.
pub fn replay(request: &ReplayRequest<'_>, times: u64) -> Result<Replayed, Error> {
    if observed::is_observed(request.finding) {
        return repeat(request, times);
    }
    let witnesses = request.witnesses();
    let (target, orders) = (witnesses.target(), witnesses.found());
    let mut replayed = Replayed::default();
    let Some((reference, note)) = reference(request.launch, request.trace)? else {
        replayed.interrupted = true;
        return Ok(replayed);
    };
    let replay = request.replay(&reference);
    replayed.note = note;
    for _ in 0..times {
        if is_over() {
            replayed.interrupted = true;
            break;
        }
        match replay.run(&target, &orders, || witnesses.nearest()) {
            Ok(verdict) => *replayed.verdicts.entry(verdict).or_default() += 1,
            Err(ReplayError::Interrupted) => {
                replayed.interrupted = true;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(replayed)
}

/// Whether a limit of the caller is reached.
fn is_over() -> bool {
    Limit { deadline: deadline(), ..Limit::none() }.reached().is_some()
}

/// Runs the program `times` times as it was recorded, to see whether it fails as it did then.
fn repeat(request: &ReplayRequest<'_>, times: u64) -> Result<Replayed, Error> {
    let launch = Launch { limit: Some(request.limit), ..request.launch.clone() };
    let before = RunFailure::of(request.trace);
    // A run of an exploration has followed a schedule first.
    let schedule = request.trace.meta().get(SCHEDULE).map(|lines| lines.replace("; ", "\n"));
    let mut replayed = Replayed::default();
    for _ in 0..times {
        if is_over() {
            replayed.interrupted = true;
            break;
        }
        let blocks = Blocks::default();
        let Recorded { run, failure, .. } = match &schedule {
            Some(schedule) => follow(&launch, &blocks, schedule)?,
            None => record(&launch, &blocks)?,
        };
        if run.interrupted {
            replayed.interrupted = true;
            break;
        }
        let expected = before.as_ref().map(|before| before.kind);
        let failure = match expected {
            Some(FailureKind::Status) => failure.or_else(|| of_status(&run)),
            _ => failure,
        };
        let verdict = match failure {
            Some(failure) if expected == Some(failure.kind) => {
                Verdict::of_failure(&failure, &run, request.limit)
            }
            Some(failure) => Verdict::NotReached { message: failure.message },
            None => {
                Verdict::NotReached { message: format!("the program ended with {}", run.ended()) }
            }
        };
        *replayed.verdicts.entry(verdict).or_default() += 1;
    }
    Ok(replayed)
}

/// Runs the program under gdb, stopped right before the last step of the finding's witness.
///
/// # Errors
/// If gdb cannot be run.
pub fn debug(request: &ReplayRequest<'_>) -> Result<(), Error> {
    if observed::is_observed(request.finding) {
        return Err(Error::Unsupported(
            "--gdb is for predicted findings: a failure of the recorded run has no last step"
                .to_owned(),
        ));
    }
    let reference = Reference { ended: String::new(), stdout: None, uncaught: Vec::new() };
    let witnesses = request.witnesses();
    let orders = witnesses.found();
    let Some(order) = orders.first() else { return Ok(()) };
    request.replay(&reference).debug(&witnesses.target(), order)?;
    Ok(())
}

impl ReplayRequest<'_> {
    fn witnesses(&self) -> Witnesses<'_> {
        Witnesses { trace: self.trace, model: self.model, finding: self.finding }
    }

    fn replay<'a>(&'a self, reference: &'a Reference) -> Replay<'a> {
        Replay { launch: self.launch, steps: self.steps, reference, limit: self.limit }
    }
}

/// Loads the steps beside the trace in `path`.
///
/// # Errors
/// If there are none, or they are not those of the trace.
pub fn load_steps(path: &Path, trace: &Trace) -> Result<Steps, Error> {
    let beside = Steps::path_for(path);
    if !beside.exists() {
        return Err(Error::NoSteps { trace: path.to_path_buf() });
    }
    Ok(Steps::load(&beside, trace.len(), trace.meta().get(ID).map(String::as_str))?)
}

/// Returns the launch of `command` with the seed and the quantum that the trace was recorded
/// with. The program's output goes to files.
pub fn launch_as_recorded(trace: &Trace, command: Vec<OsString>) -> Launch {
    let number =
        |key: &str, default| trace.meta().get(key).and_then(|n| n.parse().ok()).unwrap_or(default);
    let list = |key: &str, default: Vec<String>| match trace.meta().get(key) {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => default,
    };
    let usual = Java::default();
    let java = Java {
        include: list(INCLUDE, usual.include),
        exclude: list(EXCLUDE, usual.exclude),
        resources: list(RESOURCES, usual.resources),
        resource_annotations: list(RESOURCE_ANNOTATIONS, usual.resource_annotations),
        ..Java::default()
    };
    Launch {
        java,
        seed: number("seed", 0),
        quantum: number("quantum", 1000),
        exit_steps: number("exit steps", EXIT_STEPS),
        forked: trace.meta().get(FORKED).cloned(),
        quiet: true,
        ..Launch::new(command)
    }
}

/// Returns the index of the finding named `id`.
///
/// # Errors
/// If there is none; the message names the trace in `path` and the findings that exist.
pub fn find(findings: &Findings, id: &str, path: &Path) -> Result<usize, Error> {
    let findings = &findings.findings;
    findings.iter().position(|finding| finding.id == id).ok_or_else(|| Error::NoFinding {
        trace: path.to_path_buf(),
        id: id.to_owned(),
        known: findings.iter().map(|finding| finding.id.clone()).take(LISTED).collect(),
    })
}

/// Runs the program as it was recorded. Its output is compared only if the program ends as it did
/// when it was recorded; a remark says so otherwise.
/// `None`: this process was asked to end meanwhile, or its time was over.
fn reference(launch: &Launch, trace: &Trace) -> Result<Option<(Reference, Option<String>)>, Error> {
    if is_over() {
        return Ok(None);
    }
    let run = launch.run()?;
    if run.interrupted {
        return Ok(None);
    }
    let ended = trace.meta().get("ended").cloned().unwrap_or_else(|| run.ended());
    let same = ended == run.ended();
    let note = (!same).then(|| {
        format!(
            "run as it was recorded, the program ends with {} instead of {ended}: its output \
             is not compared",
            run.ended()
        )
    });
    Ok(Some((Reference { ended, ..Reference::of(&run, same.then(|| run.stdout())) }, note)))
}

/// The value of the field `replay` of a finding.
pub(crate) fn replay_json(verdict: &Verdict, times: u64, of: u64) -> Value {
    json!({"verdict": verdict.name(), "text": verdict.to_string(), "times": times, "of": of})
}
