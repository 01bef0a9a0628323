//! The whole job in one go: build, record, predict, replay.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use foretell_build::ScratchDirectory;
use foretell_launch::{Launch, Run};
use foretell_limit::{Limit, apart, check_now, deadline, shielded, within};
use foretell_replay::{Error as ReplayError, Reference, Replay, Verdict};
use foretell_report::cause;
use foretell_report::json::{Finding, Findings};
use foretell_report::observed;
use foretell_trace::{EventId, FindingKind, Model, Op, RunFailure, Trace};
use foretell_translate::{Blocks, Steps, TraceOutput};
use serde_json::Value;

use crate::explore::{Driven, ExploreOptions, Explored, FollowedRun, RealExploration, identity};
use crate::record::saving;
use crate::replay::replay_json;
use crate::witnesses::Witnesses;
use crate::{Error, Observer, PredictOptions, Program, Watch, predict_watched, record};

/// Number of explored runs that are analysed even if they show no new place.
const WHOLE_RUNS: usize = 20;

/// Time limit of the prediction on the first run of an exploration in depth.
const FIRST_BUDGET: Duration = Duration::from_secs(10);
/// Time limit of the prediction on the first run of a check that explores a little: the failures
/// that other runs show are not to wait for the last undecided query.
const CHECK_BUDGET: Duration = Duration::from_secs(30);
/// Time limit of the prediction on an explored run.
const LATER_BUDGET: Duration = Duration::from_secs(3);
/// Time for the replays of an explored run, if the exploration has no time limit.
const LATER_TIME: Duration = Duration::from_secs(60);
/// Most findings of an explored run that are replayed.
const LATER_REPLAYS: usize = 10;

/// Options of a check.
#[derive(Clone, Debug)]
pub struct CheckOptions<'a> {
    /// The program to build; without sources, `launch` has the whole command.
    pub program: Program,
    /// Directory for the program that is built, which stays; `None` is a temporary one.
    pub keep: Option<PathBuf>,
    /// Seed, quantum and the other options of the first run. `command` holds the arguments of the
    /// program; `directory`, `quiet` and `limit` are set by the check.
    pub launch: Launch,
    /// Blocks that are meant to be atomic.
    pub blocks: Blocks,
    /// Number of runs to record freely, each with the next seed.
    pub seeds: u64,
    /// Exploration that starts from the first run; `None` is none.
    pub explore: Option<ExploreOptions>,
    /// Time after which a run counts as hanging.
    pub limit: Duration,
    /// Options of the prediction.
    pub predict: PredictOptions<'a>,
    /// Most findings of a run to replay.
    pub replays: usize,
    /// Whether nondeterministic reads are of interest by themselves, and not only when their
    /// replay goes wrong.
    pub nondeterminism: bool,
    /// Name of the trace in findings documents.
    pub trace_path: PathBuf,
}

impl CheckOptions<'_> {
    /// Returns the default options for a program: one run, all analyses, 20 seconds for a run, 60
    /// for a query, up to 100 replays.
    pub fn new(program: Program) -> Self {
        let mut predict = PredictOptions::default();
        predict.driver.timeout = Some(Duration::from_secs(60));
        CheckOptions {
            program,
            keep: None,
            launch: Launch::new(Vec::new()),
            blocks: Blocks::default(),
            seeds: 1,
            explore: None,
            limit: Duration::from_secs(20),
            predict,
            replays: 100,
            nondeterminism: false,
            trace_path: PathBuf::from("foretell.ft"),
        }
    }
}

/// One recorded run with its findings.
#[derive(Debug)]
pub struct CheckedRun {
    /// Number of the run, from 1.
    pub number: u64,
    /// The run of the program.
    pub run: Run,
    /// The trace of the run.
    pub trace: Arc<Trace>,
    /// Steps behind the events of the trace; see [`save_trace`](crate::save_trace).
    pub steps: Steps,
    /// The findings document, with the verdicts of the replays.
    pub findings: Findings,
    /// Indices of the findings that are worth showing: those that no earlier run had at the same
    /// source locations, without the nondeterministic reads that correct programs have too, and
    /// without those that are folded into the failure of the recorded run.
    pub shown: Vec<usize>,
    /// Whether no earlier run of the exploration ended like this one.
    pub has_new_outcome: bool,
}

/// The runs of a check: an iterator that records the next run and analyses it at each step.
#[derive(Debug)]
pub struct Check<'a> {
    options: CheckOptions<'a>,
    /// The command that runs the program.
    command: Vec<OsString>,
    /// Directory of the program and of the files of its runs.
    directory: ScratchDirectory,
    /// Number of free runs so far.
    done: u64,
    /// The exploration, from the first run on.
    exploration: Option<RealExploration>,
    /// Kind and source locations of the findings of earlier runs.
    seen: BTreeSet<(FindingKind, Vec<Option<String>>)>,
    /// Whether this process was asked to end while the program ran.
    interrupted: bool,
}

/// Builds a program and returns the check of it. Each call of [`Check::next_run`] then records a
/// run, predicts, and replays every new finding on the real program. The limits of the caller
/// ([`foretell_limit`]) hold for the compiler, too.
///
/// # Errors
/// If the program cannot be built.
pub fn check<'a>(
    options: CheckOptions<'a>,
    observer: &mut dyn Observer,
) -> Result<Check<'a>, Error> {
    let parent = std::env::temp_dir();
    // Reports do not name a command in such a directory, which is gone by then.
    let directory =
        ScratchDirectory::new_in(&parent, "foretell-check-").map_err(Error::file(&parent))?;
    let place = options.keep.clone().unwrap_or_else(|| directory.path().to_path_buf());
    let program = options.program.clone();
    let work = move || {
        let mut warnings = Vec::new();
        if program.sources.is_empty() {
            return (Ok(Vec::new()), warnings);
        }
        (program.build(&place, |message| warnings.push(message.to_owned())), warnings)
    };
    let built = apart(&Limit::none(), work, || {});
    // A limit that ended the compiler is the caller's.
    check_now();
    let (built, warnings) = built.map_err(Error::CutShort)?;
    warnings.iter().for_each(|warning| observer.warning(warning));
    let mut command = built?;
    command.extend(options.launch.command.iter().cloned());
    Ok(Check {
        options,
        command,
        directory,
        done: 0,
        exploration: None,
        seen: BTreeSet::new(),
        interrupted: false,
    })
}

impl Check<'_> {
    /// Whether the check was asked to end early: by a signal while the program ran, or through the
    /// flag of the prediction's options.
    pub fn is_interrupted(&self) -> bool {
        let stop = self.options.predict.driver.stop;
        self.interrupted || stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Ends the check early.
    fn interrupt(&mut self) {
        self.interrupted = true;
        if let Some(stop) = self.options.predict.driver.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Records and analyses the next run; `None` after the last one, or after an interruption.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace cannot be analysed.
    pub fn next_run(&mut self, observer: &mut dyn Observer) -> Result<Option<CheckedRun>, Error> {
        if self.is_interrupted() {
            return Ok(None);
        }
        if self.done == self.options.seeds {
            return self.explore_next(observer);
        }
        let launch = self.launch(self.done);
        self.done += 1;
        let start = Instant::now();
        let mut recorded = record(&launch, &self.options.blocks)?;
        let duration = start.elapsed();
        observer.recorded(&recorded);
        if recorded.run.interrupted {
            self.interrupt();
        }
        let trace = Arc::new(match &recorded.translated.trace {
            TraceOutput::Packed(packed) => saving(&recorded.run, || packed.unpack()),
            TraceOutput::Whole(trace) => trace.clone(),
        });
        let number = self.done;
        if self.done == 1
            && !self.is_interrupted()
            && recorded.others.is_empty()
            && !launch.symbolic
            && let Some(options) = &self.options.explore
        {
            let identity = identity(&self.options.program.sources, &launch);
            self.exploration = Some(RealExploration::new(options, duration, &identity)?);
        }
        recorded.translated.trace = TraceOutput::Whole(Trace::default());
        let followed = FollowedRun::of(recorded, trace);
        if let Some(exploration) = self.exploration.as_mut().filter(|_| number == 1) {
            exploration.add(&followed, None);
        }
        let mut predict = self.options.predict.clone();
        if let Some(explore) = self.options.explore.as_ref() {
            if explore.in_depth && !self.options.nondeterminism {
                predict.driver.analyses.remove(&FindingKind::Nondeterminism);
            }
            let budget = if explore.in_depth { FIRST_BUDGET } else { CHECK_BUDGET };
            predict.driver.budget = predict.driver.budget.or(Some(budget));
        }
        let replays = self.options.replays;
        let job = Analysis {
            launch: &launch,
            number,
            predict,
            replays,
            until: None,
            has_new_outcome: number == 1,
        };
        self.analyse(&job, followed, observer).map(Some)
    }

    /// Returns the launch of a free run.
    fn launch(&self, seed: u64) -> Launch {
        let options = &self.options;
        Launch {
            command: self.command.clone(),
            seed: options.launch.seed.wrapping_add(seed),
            directory: self.directory.path().to_path_buf(),
            quiet: true,
            limit: Some(options.limit),
            ..options.launch.clone()
        }
    }

    /// Follows the next lead of the exploration.
    fn explore_next(&mut self, observer: &mut dyn Observer) -> Result<Option<CheckedRun>, Error> {
        let launch = self.launch(0);
        let Some(exploration) = &mut self.exploration else { return Ok(None) };
        let Some(driven) = exploration.next(&launch, &self.options.blocks)? else {
            return Ok(None);
        };
        let Driven { followed, has_new_places, has_new_outcome } = driven;
        let runs = exploration.runs();
        let number = runs as u64;
        let until = exploration.deadline().unwrap_or_else(|| Instant::now() + LATER_TIME);
        observer.explored(runs);
        // Another read of a known place is what the exploration follows by itself.
        let mut predict = self.options.predict.clone();
        let analyses = &mut predict.driver.analyses;
        analyses.remove(&FindingKind::Nondeterminism);
        if !has_new_places && runs > WHOLE_RUNS || followed.failure.is_some() {
            analyses.clear();
        }
        predict.explain_order = false;
        let left = until.saturating_duration_since(Instant::now());
        predict.driver.budget = Some(LATER_BUDGET.min(left));
        let replays = self.options.replays.min(LATER_REPLAYS);
        let until = Some(until);
        let job = Analysis { launch: &launch, number, predict, replays, until, has_new_outcome };
        self.analyse(&job, followed, observer).map(Some)
    }

    /// Ends the exploration and returns its result; `None` if none has begun.
    pub fn explored(&mut self) -> Option<Explored> {
        self.exploration.take().and_then(RealExploration::finish)
    }

    /// Predicts on a recorded run, and replays what is found.
    fn analyse(
        &mut self,
        job: &Analysis<'_>,
        followed: FollowedRun,
        observer: &mut dyn Observer,
    ) -> Result<CheckedRun, Error> {
        let Analysis { launch, number, ref predict, replays: left, until, has_new_outcome } = *job;
        let FollowedRun { run, trace, steps, failure, .. } = followed;
        let reference = Reference::of(&run, Some(run.stdout()));
        let interrupted = self.is_interrupted();
        let options = &self.options;
        // A replay that hangs runs twice until its limit: exploring is a better use of that time.
        let own = self.exploration.as_ref().map(RealExploration::run_limit);
        let limit = own.map_or(options.limit, |own| own.min(options.limit));
        let mut replays = Replays {
            options,
            replay: Replay { launch, steps: &steps, reference: &reference, limit },
            failure: failure.as_ref(),
            seen: &mut self.seen,
            observer,
            left: if interrupted { 0 } else { left },
            until,
            has_hung: false,
            count: 0,
            known: 0,
            observed: None,
            folded: Vec::new(),
            shown: Vec::new(),
            outcome: Ok(()),
        };
        let predicted = predict_watched(&options.trace_path, &trace, predict, &mut replays);
        let Replays { folded, shown, outcome, .. } = replays;
        let mut findings = predicted?.findings;
        match outcome {
            Ok(()) => {}
            Err(ReplayError::Interrupted) => self.interrupt(),
            Err(error) => return Err(error.into()),
        }
        let failed = findings.findings.iter_mut().find(|f| observed::is_observed(f));
        if let Some(failed) = failed {
            observed::set_folded(failed, folded);
        }
        // A consequence that a replay has shown stands for its cause.
        cause::assign(&mut findings.findings);
        if let Some(exploration) = &mut self.exploration {
            exploration.note_findings(shown.len());
        }
        Ok(CheckedRun { number, run, trace, steps, findings, shown, has_new_outcome })
    }
}

/// Analysis of one run.
struct Analysis<'a> {
    launch: &'a Launch,
    /// Number of the run.
    number: u64,
    predict: PredictOptions<'a>,
    /// Most findings to replay.
    replays: usize,
    /// The end of the exploration, for a run of one.
    until: Option<Instant>,
    /// Whether no earlier run of the exploration ended like this one.
    has_new_outcome: bool,
}

/// Replays the findings of a run that no earlier run had, while the others are looked for.
struct Replays<'a> {
    options: &'a CheckOptions<'a>,
    replay: Replay<'a>,
    /// The failure of the recorded run.
    failure: Option<&'a RunFailure>,
    /// Kind and source locations of the findings so far.
    seen: &'a mut BTreeSet<(FindingKind, Vec<Option<String>>)>,
    observer: &'a mut dyn Observer,
    /// Number of replays that may still be done.
    left: usize,
    /// The end of the exploration, for a run of one: findings that are not confirmed by then are
    /// not shown.
    until: Option<Instant>,
    /// Whether a replay has hung: it takes long, and other reads would hang as well.
    has_hung: bool,
    /// Number of findings that were looked at.
    count: usize,
    /// Number of findings so far, with those that come next.
    known: usize,
    /// The finding that the recorded run failed.
    observed: Option<String>,
    /// Entries of the findings that are folded into it.
    folded: Vec<Value>,
    /// Indices of the findings that are worth showing.
    shown: Vec<usize>,
    /// The error that ended the replays.
    outcome: Result<(), ReplayError>,
}

impl Replays<'_> {
    /// Replays a finding. `None` if that is not to be, or did not come to an end.
    fn replay(&mut self, trace: &Trace, model: Model, finding: &Finding) -> Option<Verdict> {
        let earliest = deadline().into_iter().chain(self.until).min();
        let limit = Limit { deadline: earliest, ..Limit::none() };
        let stop = self.options.predict.driver.stop;
        let stopped = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.left == 0 || stopped || limit.reached().is_some() {
            self.left = 0;
            return None;
        }
        if self.has_hung
            && finding.kind == FindingKind::Nondeterminism
            && !self.options.nondeterminism
        {
            return None;
        }
        self.left -= 1;
        let witnesses = Witnesses { trace, model, finding };
        let replayed = within(&limit, || {
            let orders = witnesses.found();
            self.replay.run(&witnesses.target(), &orders, || witnesses.nearest())
        });
        match replayed {
            Ok(Ok(verdict)) => {
                self.has_hung |= matches!(verdict, Verdict::Hang { .. });
                Some(verdict)
            }
            Ok(Err(error)) => {
                self.left = 0;
                self.outcome = Err(error);
                None
            }
            Err(_) => None,
        }
    }

    /// Whether a finding is worth showing. Replays it before.
    fn shows(&mut self, trace: &Trace, model: Model, finding: &mut Finding) -> bool {
        let places = match self.failure {
            // One failure may come at the end of many schedules.
            Some(failure) if observed::is_observed(finding) => {
                vec![Some(format!("{}: {}", failure.kind, failure.message))]
            }
            // A deadlock is a cycle, which may be told from any of its threads; the accesses of a
            // race, and the threads of a hang, come in any order.
            _ if finding.kind == FindingKind::Race || finding.kind.ends_blocked() => {
                let mut places = finding.locations.clone();
                places.sort();
                places
            }
            _ => finding.locations.clone(),
        };
        if !self.seen.insert((finding.kind, places)) {
            return false;
        }
        if observed::is_observed(finding) {
            self.observed = Some(finding.id.clone());
            // A deadlock or hang that an earlier run predicted, and a replay has shown.
            let known = |failure: &RunFailure| {
                let mut waits =
                    [true, false].map(|for_locks| waits_of(failure, for_locks)).to_vec();
                // A state of a Java thread has no place.
                if !failure.threads.iter().any(|(_, state)| state.contains(" at ")) {
                    let mut places = finding.locations.clone();
                    places.sort();
                    waits.push(places);
                }
                let seen = |w: &mut Vec<_>| {
                    !w.is_empty() && self.seen.contains(&(FindingKind::Observed, std::mem::take(w)))
                };
                waits.iter_mut().any(seen)
            };
            return !self.failure.is_some_and(known);
        }
        if self.left > 0 {
            self.observer.replaying(self.count + 1, self.known, finding);
        }
        let verdict = self.replay(trace, model, finding);
        if let Some(worst) = &verdict {
            self.observer.replayed(finding, worst);
            finding.set_replay(replay_json(worst, 1, 1), worst.confirms());
            if finding.kind.ends_blocked() && worst.confirms() {
                let roots = finding.events.iter().map(|&e| {
                    let op = trace.op(EventId(e));
                    matches!(op, Op::Woken | Op::Down | Op::Leave)
                });
                let is_hang = finding.kind == FindingKind::Hang;
                let places = finding.locations.iter().zip(roots);
                let places = places.filter(|(_, is_root)| *is_root || !is_hang);
                let mut places: Vec<_> = places.map(|(place, _)| place.clone()).collect();
                places.sort();
                self.seen.insert((FindingKind::Observed, places));
            }
            if let (Some(failure), Some(into)) = (self.failure, &self.observed)
                && worst.repeats(failure)
            {
                observed::fold(finding, into);
                if finding.kind != FindingKind::Nondeterminism {
                    self.folded.push(observed::line(finding));
                }
                return false;
            }
        }
        if self.until.is_some() && !verdict.as_ref().is_some_and(Verdict::confirms) {
            return false;
        }
        self.options.is_worth_showing(finding, verdict.as_ref())
    }
}

/// Returns the locations at which threads of a deadlock or hang wait, sorted: for locks, or for
/// what no thread holds.
fn waits_of(failure: &RunFailure, for_locks: bool) -> Vec<Option<String>> {
    let place = |state: &String| {
        let is_asked = state.contains("held by") == for_locks && !state.contains("the end of");
        let (_, rest) = state.split_once(" at ").filter(|_| is_asked)?;
        Some(rest.split(',').next()?.to_owned())
    };
    let mut places: Vec<_> =
        failure.threads.iter().filter_map(|(_, state)| place(state)).map(Some).collect();
    places.sort();
    places
}

impl Watch for Replays<'_> {
    fn decided(&mut self, trace: &Trace, model: Model, findings: &mut [Finding]) {
        self.known = self.count + findings.len();
        for finding in findings {
            if self.shows(trace, model, finding) {
                self.shown.push(self.count);
                shielded(|| self.observer.decided(trace, model, finding));
            }
            self.count += 1;
        }
    }
}

impl CheckOptions<'_> {
    /// Whether to show a finding. Correct programs have nondeterministic reads, too: they are of
    /// interest if something goes wrong then.
    fn is_worth_showing(&self, finding: &Finding, verdict: Option<&Verdict>) -> bool {
        finding.kind != FindingKind::Nondeterminism
            || self.nondeterminism
            || verdict.is_some_and(Verdict::is_failure)
    }
}
