//! Exploration of a real program: driving it along leads, and the distinct outcomes of its runs.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foretell_build::ScratchDirectory;
use foretell_explore::{Ended, Exploration, Explorer, Lead, Options, Run as ExploredRun};
use foretell_launch::{Launch, Mode};
use foretell_rt_format::DEPARTURE_STATUS;
use foretell_trace::{FailureKind, RunFailure, Trace};
use foretell_translate::{Blocks, Goal, Steps};

use crate::record::{Recorded, record};
use crate::{Error, TraceOutput, failure};

/// Note of a trace: the schedule that the run followed first, its lines joined by `; `.
pub(crate) const SCHEDULE: &str = "schedule";

/// A run along a lead that takes so many times longer than the first run is left.
const TIMES_LONGER: u32 = 20;
/// Time that every run along a lead has.
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);

/// Options of an exploration.
#[derive(Clone, Debug)]
pub struct ExploreOptions {
    /// Most runs, the first one included.
    pub runs: Option<usize>,
    /// Most time after the first run.
    pub time: Option<Duration>,
    /// Whether to stop at the first run that fails.
    pub first: bool,
    /// Most other observations of one place by one thread that are followed in a run.
    pub loop_bound: u32,
    /// Whether the exploration comes first: the prediction on the first run then leaves
    /// nondeterministic reads to it, and has a time limit.
    pub in_depth: bool,
}

/// One outcome of a program, and the runs that had it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// End of the program: `exit 0`, `signal 6`, `deadlock`.
    pub ended: String,
    /// The failure in one line, if it is one.
    pub failure: Option<String>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Number of runs.
    pub runs: u64,
    /// Number of the first of them, from 1.
    pub first: u64,
}

/// Result of an exploration of a real program.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Distinct outcomes, in the order in which they came.
    pub outcomes: Vec<Outcome>,
    /// Runs, and what was left open.
    pub exploration: Exploration,
}

impl Explored {
    /// Whether every execution has been seen.
    pub fn is_complete(&self) -> bool {
        self.exploration.is_complete()
    }
}

/// A recorded run that can be led from.
#[derive(Debug)]
struct KnownRun {
    steps: Arc<Steps>,
}

/// A run along a lead.
pub(crate) struct Driven {
    pub(crate) recorded: Recorded,
    pub(crate) trace: Arc<Trace>,
    /// Whether the run has locations that no earlier run had.
    pub(crate) has_new_places: bool,
}

/// An exploration of a real program that is under way.
#[derive(Debug)]
pub(crate) struct RealExploration {
    explorer: Explorer,
    /// Time of the exploration.
    time: Option<Duration>,
    /// End of that time, once the exploration has begun.
    deadline: Option<Instant>,
    /// Time limit of a run.
    limit: Duration,
    /// The first run, until the exploration begins.
    first: Option<ExploredRun>,
    runs: Vec<KnownRun>,
    outcomes: Vec<Outcome>,
    by_outcome: HashMap<(String, Option<String>, Vec<u8>), usize>,
    places: BTreeSet<String>,
}

impl RealExploration {
    /// Begins an exploration whose first run took `duration`.
    pub(crate) fn new(options: &ExploreOptions, duration: Duration) -> RealExploration {
        let explorer_options = Options {
            runs: options.runs,
            first: options.first,
            loop_bound: options.loop_bound,
            ..Options::default()
        };
        RealExploration {
            explorer: Explorer::new(explorer_options),
            time: options.time,
            deadline: None,
            limit: SHORTEST_LIMIT.max(duration * TIMES_LONGER),
            first: None,
            runs: Vec::new(),
            outcomes: Vec::new(),
            by_outcome: HashMap::new(),
            places: BTreeSet::new(),
        }
    }

    /// Adds a recorded run. Returns whether it has locations that no earlier run had.
    pub(crate) fn add(&mut self, recorded: &Recorded, trace: &Arc<Trace>) -> bool {
        let Recorded { run, translated, failure, .. } = recorded;
        self.runs.push(KnownRun { steps: Arc::new(translated.steps.clone()) });
        let ended = match failure {
            Some(failure) if failure.kind == FailureKind::Deadlock => "deadlock".to_owned(),
            _ => run.ended(),
        };
        let message = failure.as_ref().map(|f| format!("{}: {}", f.kind, f.message));
        let key = (ended, message, run.stdout());
        let number = self.runs.len() as u64;
        match self.by_outcome.get(&key) {
            Some(&i) => self.outcomes[i].runs += 1,
            None => {
                self.by_outcome.insert(key.clone(), self.outcomes.len());
                let (ended, failure, stdout) = key;
                self.outcomes.push(Outcome { ended, failure, stdout, runs: 1, first: number });
            }
        }
        let before = self.places.len();
        for e in trace.ids() {
            if let Some(site) = trace.site(e) {
                let location = trace.location(site);
                if !self.places.contains(location) {
                    self.places.insert(location.to_owned());
                }
            }
        }
        let trace = Arc::clone(trace);
        let cut_short = cut_short(recorded);
        let failed = failure.is_some();
        let shares_output = run.has_shared_output() && trace.thread_count() > 1;
        let run = ExploredRun {
            trace,
            pending: Vec::new(),
            cut_short,
            shares_output,
            has_timed_waits: run.has_timed_waits(),
            failed,
        };
        // Its leads are looked for when the exploration begins: time counts from then on.
        if number == 1 {
            self.first = Some(run);
        } else {
            self.explorer.add(Ended::Run(run));
        }
        self.places.len() > before
    }

    /// Runs the program along the next lead that it follows; `None` if nothing is left to do.
    pub(crate) fn next(
        &mut self,
        launch: &Launch,
        blocks: &Blocks,
    ) -> Result<Option<Driven>, Error> {
        self.begin();
        let limit = launch.limit.unwrap_or(self.limit).min(self.limit);
        let launch = &Launch { limit: Some(limit), ..launch.clone() };
        while let Some(lead) = self.explorer.next_lead() {
            let schedule = self.schedule(&lead);
            let mut departure = None;
            for _ in 0..2 {
                let mut recorded = follow(launch, blocks, &schedule)?;
                if recorded.run.timed_out {
                    let seconds = limit.as_secs();
                    departure = Some(format!("it did not end within {seconds} seconds"));
                    break;
                }
                if recorded.run.interrupted {
                    self.explorer.add(Ended::Stopped("interrupted".to_owned()));
                    return Ok(None);
                }
                if let Some(how) = departed(&recorded) {
                    departure = Some(how);
                    continue;
                }
                if recorded.failure.is_none() && self.first_ended_well() {
                    recorded.failure = failure::of_status(&recorded.run);
                    let failure = recorded.failure.iter();
                    for (key, value) in failure.flat_map(RunFailure::properties) {
                        recorded.translated.trace.set_meta(&key, &value);
                    }
                }
                let number = self.runs.len() + 1;
                recorded.translated.trace.set_meta("run", &number.to_string());
                recorded.translated.trace.set_meta(SCHEDULE, &schedule.trim().replace('\n', "; "));
                let trace = Arc::new(match &recorded.translated.trace {
                    TraceOutput::Packed(packed) => packed.unpack(),
                    TraceOutput::Whole(trace) => trace.clone(),
                });
                let has_new_places = self.add(&recorded, &trace);
                return Ok(Some(Driven { recorded, trace, has_new_places }));
            }
            if let Some(how) = departure {
                self.explorer.add(Ended::Departed(how));
            }
        }
        Ok(None)
    }

    /// Whether the first run ended with exit status 0.
    fn first_ended_well(&self) -> bool {
        self.outcomes.first().is_some_and(|o| o.ended == "exit 0" && o.failure.is_none())
    }

    /// Adds the first run to the exploration.
    fn begin(&mut self) {
        if let Some(run) = self.first.take() {
            self.deadline = self.time.map(|time| Instant::now() + time);
            self.explorer.set_deadline(self.deadline);
            self.explorer.add(Ended::Run(run));
        }
    }

    fn schedule(&self, lead: &Lead) -> String {
        let steps = &self.runs[lead.run].steps;
        let events: Vec<u32> = lead.events.iter().map(|e| e.0).collect();
        steps.plan(&events, &Goal::Along(Vec::new())).schedule.to_string()
    }

    /// The time at which the exploration ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Number of runs so far.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Ends the exploration. Returns its result if it has begun.
    pub(crate) fn finish(self) -> Option<Explored> {
        let Self { explorer, outcomes, first, .. } = self;
        first.is_none().then(|| Explored { outcomes, exploration: explorer.finish() })
    }
}

/// Records a run that follows a schedule first.
pub(crate) fn follow(launch: &Launch, blocks: &Blocks, schedule: &str) -> Result<Recorded, Error> {
    let directory: &Path = &launch.directory;
    let scratch =
        ScratchDirectory::new_in(directory, ".foretell-").map_err(Error::file(directory))?;
    let path = scratch.path().join("schedule");
    std::fs::write(&path, schedule).map_err(Error::file(&path))?;
    let mode = Mode::Replay { schedule: path, stop: false };
    record(&Launch { mode, quiet: true, records_on: true, ..launch.clone() }, blocks)
}

/// Returns how a run left its schedule, if it did.
fn departed(recorded: &Recorded) -> Option<String> {
    let run = &recorded.run;
    if run.status.code() != Some(DEPARTURE_STATUS) {
        return None;
    }
    let stderr = run.stderr();
    let line = stderr.lines().find(|line| line.contains("foretell")).unwrap_or("");
    Some(line.trim_start_matches("foretell: ").to_owned())
}

/// Returns why a run does not show the end of all its threads, if it does not.
fn cut_short(recorded: &Recorded) -> Option<String> {
    let Recorded { run, translated, failure, .. } = recorded;
    let living = translated.living.len();
    match failure {
        Some(RunFailure { kind: FailureKind::Deadlock | FailureKind::Hang, .. }) => {
            Some(format!("{living} threads were stuck"))
        }
        // The thread that ended the program, and others.
        // Code that is not recorded took part: another process, or a thread of the kernel.
        _ if !translated.repairs.is_empty() => Some("its trace had to be repaired".to_owned()),
        _ if living > 1 => Some(format!("{living} threads had not ended at {}", run.ended())),
        _ => None,
    }
}
