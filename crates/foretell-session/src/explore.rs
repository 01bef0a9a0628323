//! Exploration of a real program: driving it along leads, and the distinct outcomes of its runs.
//!
//! A lead becomes a *work item*: the schedule to drive the program along. Three steps make the
//! exploration, and each is a function of its own: taking the next work item
//! ([`Explorer::next_lead`]), running it (`obtain`), and committing its result
//! ([`Explorer::add`]). Running an item depends on nothing but its schedule. So with several jobs
//! the items that will probably come next are run ahead, and their results wait for their turn:
//! whatever the number of jobs, the same results are committed in the same order.

mod followed;
mod outcome;
mod pooled;
mod state_directory;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foretell_build::ScratchDirectory;
use foretell_explore::{Ended, Exploration, Explorer, Lead, Options, Run as ExploredRun};
use foretell_launch::Launch;
use foretell_limit::{Limit, deadline, within};
use foretell_rt_format::Kind;
use foretell_trace::{RunFailure, Trace};
use foretell_translate::{Blocks, Goal, Steps};

use crate::{Error, failure};
use followed::{Followed, follow_to_end};
pub(crate) use followed::{FollowedRun, follow};
pub use outcome::Outcome;
use outcome::Outcomes;
pub(crate) use pooled::run_to_directory;
use pooled::{PooledRuns, fleeting_state};
use state_directory::{StateDirectory, hash};

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
    /// Most runs at the same time.
    pub jobs: usize,
    /// Directory that keeps the results of runs, and has those of an exploration to go on with.
    pub state: Option<PathBuf>,
    /// Socket of a pool that does the runs; see `pool`.
    pub pool: Option<PathBuf>,
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

/// Time between two looks of others at the frontier.
const FRONTIER_PERIOD: Duration = Duration::from_secs(1);
/// Most work items in the file of the frontier.
const MOST_ITEMS: usize = 1000;
/// Most results that wait for their turn, for each job.
const MOST_AHEAD: usize = 16;

/// A run along a lead.
pub(crate) struct Driven {
    pub(crate) followed: FollowedRun,
    /// Whether the run has locations that no earlier run had.
    pub(crate) has_new_places: bool,
    /// Whether no earlier run ended like this.
    pub(crate) has_new_outcome: bool,
}

/// A recorded run that can be led from.
#[derive(Debug)]
struct KnownRun {
    steps: Steps,
    trace: Arc<Trace>,
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
    jobs: usize,
    state: Option<StateDirectory>,
    /// Directory of the state if nobody wants it.
    _scratch: Option<ScratchDirectory>,
    /// Socket of the pool that does the runs.
    pool: Option<PathBuf>,
    /// Connection to it, from the first work item on.
    pooled: Option<PooledRuns>,
    /// Time at which the frontier was last written to the directory.
    written: Option<Instant>,
    /// Results of work items that were run ahead, by schedule.
    ahead: HashMap<String, Followed>,
    /// The first run, until the exploration begins.
    first: Option<ExploredRun>,
    /// The runs so far.
    runs: Vec<KnownRun>,
    outcomes: Outcomes,
    places: BTreeSet<String>,
    /// Number of findings that were reported, for the progress.
    findings: usize,
}

impl RealExploration {
    /// Begins an exploration whose first run took `duration`. `identity` says which program is
    /// explored, and how.
    pub(crate) fn new(
        options: &ExploreOptions,
        duration: Duration,
        identity: &str,
    ) -> Result<RealExploration, Error> {
        let explorer_options = Options {
            runs: options.runs,
            first: options.first,
            loop_bound: options.loop_bound,
            ..Options::default()
        };
        let (state, scratch) = match (&options.state, &options.pool) {
            (Some(path), _) => (Some(StateDirectory::open(path, identity)?), None),
            (None, Some(_)) => {
                fleeting_state(identity).map(|(state, place)| (Some(state), place))?
            }
            (None, None) => (None, None),
        };
        Ok(RealExploration {
            explorer: Explorer::new(explorer_options),
            time: options.time,
            deadline: None,
            limit: SHORTEST_LIMIT.max(duration * TIMES_LONGER),
            jobs: options.jobs.max(1),
            state,
            _scratch: scratch,
            pool: options.pool.clone(),
            pooled: None,
            written: None,
            ahead: HashMap::new(),
            first: None,
            runs: Vec::new(),
            outcomes: Outcomes::default(),
            places: BTreeSet::new(),
            findings: 0,
        })
    }

    /// Notes that a run has so many new findings.
    pub(crate) fn note_findings(&mut self, count: usize) {
        self.findings += count;
    }

    /// Adds a recorded run. Returns whether it has locations that no earlier run had, and whether
    /// its outcome is new.
    pub(crate) fn add(&mut self, followed: &FollowedRun, schedule: Option<&str>) -> (bool, bool) {
        let FollowedRun { run, trace, steps, failure, cut_short, pending, limited } = followed;
        self.runs.push(KnownRun { steps: steps.clone(), trace: Arc::clone(trace) });
        let number = self.runs.len() as u64;
        let new_outcome = self.outcomes.add(number, followed, schedule);
        let before = self.places.len();
        for e in trace.ids() {
            if let Some(site) = trace.site(e) {
                let location = trace.location(site);
                if !self.places.contains(location) {
                    self.places.insert(location.to_owned());
                }
            }
        }
        let run = ExploredRun {
            trace: Arc::clone(trace),
            pending: pending.clone(),
            cut_short: cut_short.clone(),
            shares_output: run.has_shared_output() && trace.thread_count() > 1,
            limited: limited.clone(),
            unexplored: followed.unexplored(),
            failed: failure.is_some(),
        };
        // Its leads are looked for when the exploration begins: time counts from then on.
        if number == 1 {
            self.first = Some(run);
        } else {
            self.explorer.add(Ended::Run(run));
        }
        (self.places.len() > before, new_outcome)
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
            self.write_frontier()?;
            let mut followed = match self.obtain(launch, blocks, &schedule)? {
                Followed::Run(followed) => *followed,
                Followed::Departed(how) => {
                    self.explorer.add(Ended::Departed(how));
                    continue;
                }
                Followed::Interrupted => {
                    self.explorer.add(Ended::Stopped("interrupted".to_owned()));
                    return Ok(None);
                }
            };
            let mut notes = Vec::new();
            if followed.failure.is_none() && self.outcomes.first_ended_well() {
                followed.failure = failure::of_status(&followed.run);
                notes.extend(followed.failure.iter().flat_map(RunFailure::properties));
            }
            notes.push(("run".to_owned(), (self.runs.len() + 1).to_string()));
            notes.push((SCHEDULE.to_owned(), schedule.trim().replace('\n', "; ")));
            let trace = std::mem::take(&mut followed.trace);
            let trace = Arc::try_unwrap(trace).unwrap_or_else(|shared| (*shared).clone());
            let mut builder = trace.into_builder();
            notes.iter().for_each(|(key, value)| builder.set_meta(key, value));
            followed.trace = Arc::new(builder.build());
            // A temporary directory has another name in each exploration.
            let directory = launch.directory.to_string_lossy();
            let shown = schedule.replace(&*directory, ".");
            let (has_new_places, has_new_outcome) = self.add(&followed, Some(&shown));
            return Ok(Some(Driven { followed, has_new_places, has_new_outcome }));
        }
        Ok(None)
    }

    /// Returns the result of a work item: the one that was run ahead, or of a new run, with which
    /// other jobs run ahead.
    fn obtain(
        &mut self,
        launch: &Launch,
        blocks: &Blocks,
        schedule: &str,
    ) -> Result<Followed, Error> {
        if self.pool.is_some() {
            return self.obtain_from_pool(launch, blocks, schedule);
        }
        if let Some(followed) = self.ahead.remove(schedule) {
            return Ok(followed);
        }
        let state = self.state.as_ref();
        let work = |schedule: &str| run_item(launch, blocks, state, schedule);
        let mut others = Vec::new();
        if self.jobs > 1 {
            if self.ahead.len() >= self.jobs * MOST_AHEAD {
                self.ahead.clear();
            }
            let next = self.explorer.upcoming(2 * self.jobs).into_iter();
            let next = next.map(|lead| self.schedule(&lead));
            others.extend(next.filter(|s| s != schedule && !self.ahead.contains_key(s)));
            others.truncate(self.jobs - 1);
        }
        let end = Limit { deadline: deadline(), ..Limit::none() };
        let (own, theirs) = std::thread::scope(|scope| {
            let (end, work) = (&end, &work);
            let spawn = |item: &'_ String| {
                let item = item.clone();
                scope.spawn(move || within(end, || work(&item)))
            };
            let handles: Vec<_> = others.iter().map(spawn).collect();
            let own = work(schedule);
            let theirs: Vec<_> = handles.into_iter().map(|handle| handle.join()).collect();
            (own, theirs)
        });
        for (item, result) in others.into_iter().zip(theirs) {
            // What failed is run again when its turn comes.
            if let Ok(Ok(Ok(followed @ (Followed::Run(_) | Followed::Departed(_))))) = result {
                self.ahead.insert(item, followed);
            }
        }
        own
    }

    /// Writes the next work items to the state directory, from time to time.
    fn write_frontier(&mut self) -> Result<(), Error> {
        let is_due = self.written.is_none_or(|written| written.elapsed() >= FRONTIER_PERIOD);
        if let Some(state) = self.state.as_ref().filter(|_| is_due) {
            let next = self.explorer.upcoming(MOST_ITEMS).into_iter();
            let next: Vec<String> = next.map(|lead| self.schedule(&lead)).collect();
            state.write_frontier(&next)?;
            self.written = Some(Instant::now());
        }
        Ok(())
    }

    /// Adds the first run to the exploration.
    fn begin(&mut self) {
        if let Some(run) = self.first.take() {
            self.deadline = self.time.map(|time| Instant::now() + time);
            self.explorer.set_deadline(self.deadline);
            self.explorer.add(Ended::Run(run));
        }
    }

    /// Returns the work item of a lead.
    fn schedule(&self, lead: &Lead) -> String {
        let KnownRun { steps, trace } = &self.runs[lead.run];
        let events: Vec<u32> = lead.events.iter().map(|e| e.0).collect();
        let mut schedule = steps.plan(&events, &Goal::Along(Vec::new())).schedule;
        // A wait that ends otherwise is a step of another kind.
        if let Some(flipped) = lead.flipped.and_then(|e| steps.events.get(e.0 as usize)) {
            let is_flipped = |step: &&mut foretell_rt_format::ScheduledStep| {
                (step.step.thread, step.step.ordinal) == (flipped.thread, flipped.ordinal)
            };
            if let Some(step) = schedule.steps.iter_mut().rev().find(is_flipped) {
                step.step.kind = match step.step.kind {
                    Kind::Woken => Kind::TimedOut,
                    Kind::TimedOut => Kind::Woken,
                    kind => kind,
                };
            }
        }
        schedule.first = lead.then.and_then(|thread| {
            let mut events = trace.ids().filter(|&e| trace.thread(e) == thread);
            events.find_map(|e| steps.events.get(e.0 as usize)).map(|step| step.thread)
        });
        schedule.to_string()
    }

    /// The time limit of a run.
    pub(crate) fn run_limit(&self) -> Duration {
        self.limit
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
    pub(crate) fn finish(mut self) -> Option<Explored> {
        self.written = None;
        // What is kept of the frontier is for other programs: the report does not need it.
        let _ = self.write_frontier();
        let Self { explorer, outcomes, first, .. } = self;
        let outcomes = outcomes.list;
        first.is_none().then(|| Explored { outcomes, exploration: explorer.finish() })
    }
}

/// Runs a work item, or takes its result from the state directory.
fn run_item(
    launch: &Launch,
    blocks: &Blocks,
    state: Option<&StateDirectory>,
    schedule: &str,
) -> Result<Followed, Error> {
    let Some(state) = state else { return follow_to_end(launch, blocks, schedule) };
    if let Some(followed) = state.load(schedule) {
        return Ok(followed);
    }
    let followed = follow_to_end(launch, blocks, schedule)?;
    state.store(schedule, &followed)?;
    Ok(followed)
}

/// Returns the identity of an exploration: of the program's files, its arguments, its input and
/// its seed.
pub(crate) fn identity(files: &[PathBuf], launch: &Launch) -> String {
    let mut bytes = Vec::new();
    let mut add = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    };
    let program = launch.command.first().map(Path::new);
    for file in files.iter().map(PathBuf::as_path).chain(program).chain(launch.input.as_deref()) {
        add(&std::fs::read(file).unwrap_or_default());
    }
    for word in &launch.command {
        add(word.as_encoded_bytes());
    }
    for number in [launch.seed, launch.quantum, launch.exit_steps] {
        add(&number.to_le_bytes());
    }
    format!("{:016x}", hash(&bytes))
}
