//! The loop: follow a lead, record, find the leads of the new run.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::frontier::{Frontier, crowd};
use crate::history::{Counted, Entry, History, ThreadKey, hash_of, thread_keys};
use crate::leads::{Candidate, Cause, Flip, Leads, Limits};
use crate::{Ended, Lead, Open, Pending, Program};

/// Options of an exploration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Most runs, the first one included.
    pub runs: Option<usize>,
    /// Time at which the exploration ends.
    pub deadline: Option<Instant>,
    /// Whether to stop at the first run that fails.
    pub first: bool,
    /// Most other observations of one place by one thread that are followed in a run.
    pub loop_bound: u32,
    /// Most states of an explicit search.
    pub states: usize,
    /// Time limit of one query.
    pub query: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            runs: None,
            deadline: None,
            first: false,
            loop_bound: 100,
            states: 20_000,
            query: Duration::from_secs(3),
        }
    }
}

/// State of an exploration that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Runs so far.
    pub runs: usize,
    /// Leads that have not been followed.
    pub open: usize,
    /// Runs that failed.
    pub failures: usize,
    /// Pairs of place and observation that runs have shown.
    pub places: usize,
}

/// Result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exploration {
    /// Runs that were recorded.
    pub runs: usize,
    /// Runs with the same histories as an earlier one.
    pub redundant: usize,
    /// Runs that left their lead.
    pub departed: usize,
    /// Reasons why the exploration is not complete; none if it is.
    pub open: BTreeSet<Open>,
    /// Reason for which the exploration ended before all was done.
    pub stopped: Option<String>,
}

impl Exploration {
    /// Whether every execution has been seen.
    pub fn is_complete(&self) -> bool {
        self.open.is_empty() && self.stopped.is_none()
    }
}

/// A recorded run.
#[derive(Debug)]
struct Known {
    trace: Arc<Trace>,
    keys: Vec<ThreadKey>,
    pending: Vec<(ThreadId, Pending)>,
    limited: Arc<FxHashSet<EventId>>,
}

/// States of the shortest search for states in which no thread can go on.
const LEAST_STUCK_STATES: usize = 1_000;

/// Questions of one run that are asked at once. The others wait until the leads that were found are
/// followed: a run of many threads has thousands, and the first answers may do.
const QUESTIONS_AT_ONCE: usize = 24;

/// Questions of a run that have not been asked.
#[derive(Debug)]
struct Unasked {
    run: usize,
    flips: VecDeque<Flip>,
}

/// A lead that other leads may keep more than.
#[derive(Debug)]
struct Wider {
    run: usize,
    candidate: Candidate,
}

/// Explores a program. `watch` is called after each run.
///
/// # Errors
/// If the program cannot be run.
pub fn explore<P: Program>(
    program: &mut P,
    options: &Options,
    mut watch: impl FnMut(&Progress),
) -> Result<Exploration, P::Error> {
    let mut explorer = Explorer::new(options.clone());
    let mut lead = None;
    loop {
        let mut ended = program.run(lead.as_ref())?;
        if lead.is_some() && matches!(ended, Ended::Departed(_)) {
            ended = program.run(lead.as_ref())?;
        }
        explorer.add(ended);
        watch(&explorer.progress());
        lead = explorer.next_lead();
        if lead.is_none() {
            return Ok(explorer.finish());
        }
    }
}

/// An exploration that is under way: it takes runs, and says where to go next.
#[derive(Debug)]
pub struct Explorer {
    options: Options,
    runs: Vec<Known>,
    frontier: Frontier,
    /// Questions that wait until the frontier is empty, those of the last run first.
    unasked: Vec<Unasked>,
    /// States of the next search for states in which no thread can go on.
    stuck_states: usize,
    /// Leads that have not been asked yet whether others keep more.
    wider: VecDeque<Wider>,
    /// Hashes of the questions that were asked: run, cause and required events.
    required: BTreeSet<u64>,
    counted: Counted,
    result: Exploration,
    failures: usize,
    /// Runs whose leads were not all looked for, because a budget was used up.
    unfinished: bool,
}

impl Explorer {
    /// Returns an exploration without runs. The first run has no lead.
    pub fn new(options: Options) -> Explorer {
        Explorer {
            unasked: Vec::new(),
            stuck_states: options.states,
            options,
            runs: Vec::new(),
            frontier: Frontier::default(),
            wider: VecDeque::new(),
            required: BTreeSet::new(),
            counted: Counted::default(),
            result: Exploration::default(),
            failures: 0,
            unfinished: false,
        }
    }

    /// Adds the outcome of the last lead. A lead that the program departs from should be tried
    /// again once before.
    pub fn add(&mut self, ended: Ended) {
        match ended {
            Ended::Run(run) => {
                self.add_run(run);
                if self.failures > 0 && self.options.first {
                    self.result.stopped = Some("a run failed".to_owned());
                }
            }
            Ended::Departed(how) => {
                self.result.departed += 1;
                self.result.open.insert(Open::Departed(how));
            }
            Ended::Stopped(reason) => self.result.stopped = Some(reason),
        }
    }

    /// Returns the lead to follow next; `None` if nothing is left to follow, or a budget is used
    /// up.
    pub fn next_lead(&mut self) -> Option<Lead> {
        if self.result.stopped.is_some() {
            return None;
        }
        if let Some(reason) = self.budget() {
            if self.is_anything_left() {
                self.result.stopped = Some(reason);
            }
            return None;
        }
        let next = self.next();
        if next.is_none() && self.is_anything_left() {
            self.result.stopped = self.budget();
        }
        next.map(|candidate| candidate.lead)
    }

    /// Returns leads that will probably be followed next, at most `most`. They may be run ahead:
    /// the result of one counts when [`next_lead`](Explorer::next_lead) returns it.
    pub fn upcoming(&self, most: usize) -> Vec<Lead> {
        self.frontier.upcoming(most).into_iter().map(|candidate| candidate.lead.clone()).collect()
    }

    /// Returns the number of runs that the options still allow.
    pub fn runs_left(&self) -> usize {
        let done = self.result.runs + self.result.departed;
        self.options.runs.map_or(usize::MAX, |most| most.saturating_sub(done))
    }

    fn is_anything_left(&mut self) -> bool {
        self.frontier.tidy();
        self.frontier.len() > 0
            || !self.wider.is_empty()
            || !self.unasked.is_empty()
            || self.unfinished
    }

    /// Ends the exploration.
    pub fn finish(mut self) -> Exploration {
        if self.is_anything_left() {
            self.result.open.insert(Open::Leads(self.frontier.len()));
        }
        self.result
    }

    /// Returns how far the exploration has come.
    pub fn progress(&self) -> Progress {
        Progress {
            runs: self.result.runs,
            open: self.frontier.len(),
            failures: self.failures,
            places: self.frontier.shown.len(),
        }
    }

    /// Sets the time at which the exploration ends.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// Returns the budget that is used up.
    fn budget(&self) -> Option<String> {
        if self.runs_left() == 0 {
            return Some("out of runs".to_owned());
        }
        self.options.deadline.filter(|&end| Instant::now() >= end).map(|_| "out of time".to_owned())
    }

    fn limits(&self) -> Limits {
        let Options { loop_bound, states, query, deadline, .. } = self.options;
        Limits { loop_bound, states, query, deadline }
    }

    /// Adds a run and its leads.
    fn add_run(&mut self, run: crate::Run) {
        self.result.runs += 1;
        self.failures += usize::from(run.failed);
        let number = self.runs.len();
        let keys = thread_keys(&run.trace);
        if let Some(why) = run.cut_short {
            self.result.open.insert(Open::CutShort(why));
        }
        self.result.open.extend(run.unexplored);
        if run.shares_output {
            self.result.open.insert(Open::OutputOrder);
        }
        let stuck = !run.pending.is_empty();
        let limited = Arc::new(run.limited.into_iter().collect());
        self.runs.push(Known { trace: run.trace, keys, pending: run.pending, limited });
        let before = self.counted.len();
        let new = self.index(number, stuck);
        if !new {
            self.result.redundant += 1;
        }
        if self.counted.len() > before {
            // A loop that was taken for a spin is none: what was skipped has to be done.
            self.reindex();
        } else {
            self.find(number);
        }
    }

    /// Adds the histories of a run. Returns whether they are new.
    fn index(&mut self, number: usize, stuck: bool) -> bool {
        let known = &self.runs[number];
        let trace = &known.trace;
        let mut histories = vec![History::default(); trace.thread_count()];
        for e in trace.ids() {
            let entry = Entry::of(trace, e);
            self.frontier.shown.insert(hash_of((entry.place, entry.seen)));
            histories[trace.thread(e).index()].push(entry, &mut self.counted);
        }
        let cut = |t: usize| known.pending.iter().any(|(thread, _)| thread.index() == t);
        let mut key = crate::history::CutKey::new();
        for (t, history) in histories.iter_mut().enumerate() {
            if !cut(t) {
                history.end(&mut self.counted);
            }
            if let Some(&last) = history.beginnings().last() {
                key.insert(known.keys[t], last);
            }
        }
        let new = stuck || !self.frontier.is_covered(&key);
        for (t, history) in histories.iter().enumerate() {
            self.frontier.add_history(number, known.keys[t], &history.beginnings());
        }
        new
    }

    /// Computes everything again that depends on which loops count.
    fn reindex(&mut self) {
        loop {
            let before = self.counted.len();
            self.frontier.forget();
            for number in 0..self.runs.len() {
                self.index(number, true);
            }
            if self.counted.len() == before {
                break;
            }
        }
        self.required.clear();
        self.wider.clear();
        self.unasked.clear();
        for number in 0..self.runs.len() {
            self.find(number);
        }
    }

    /// Finds the leads of a run.
    fn find(&mut self, number: usize) {
        let known = &self.runs[number];
        let trace = Arc::clone(&known.trace);
        let (keys, pending) = (known.keys.clone(), known.pending.clone());
        let limited = Arc::clone(&known.limited);
        let model = TraceModel::new(&trace, Model::Value);
        let counted = self.counted.clone();
        let sets = (&counted, &*limited);
        let mut leads = Leads::new(&model, &keys, sets, number, self.limits());
        let mut flips = leads.flips();
        // What no run has shown comes first. Then one place after the other has its turn: a loop
        // must not keep the rest waiting.
        let mut times: FxHashMap<u64, u32> = FxHashMap::default();
        flips.sort_by_cached_key(|flip| {
            let times = times.entry(leads.flipped_place(flip)).or_default();
            *times += 1;
            let is_shown = self.frontier.shown.contains(&leads.novelty(flip));
            (leads.is_internal(flip), is_shown, crowd(*times))
        });
        let mut flips: VecDeque<Flip> = flips.into();
        let mut found = self.ask(&mut leads, &mut flips);
        if !flips.is_empty() {
            self.unasked.push(Unasked { run: number, flips });
        }
        let stuck = leads.stuck(self.stuck_states);
        if stuck.is_none() {
            // A longer search would not come to an end in the next run either.
            self.stuck_states = (self.stuck_states / 4).max(LEAST_STUCK_STATES);
        }
        found.extend(stuck.into_iter().flatten());
        for (thread, what) in pending {
            found.extend(leads.go_on(thread, what, &[]));
        }
        self.result.open.extend(leads.open);
        for candidate in found {
            self.offer(number, candidate);
        }
    }

    /// Asks the first of these questions. Returns the leads.
    fn ask(&mut self, leads: &mut Leads<'_>, flips: &mut VecDeque<Flip>) -> Vec<Candidate> {
        let mut found = Vec::new();
        for _ in 0..QUESTIONS_AT_ONCE {
            if self.budget().is_some() {
                self.unfinished |= !flips.is_empty();
                break;
            }
            let Some(flip) = flips.pop_front() else { break };
            found.extend(leads.flip(&flip, &[]));
        }
        found
    }

    /// Asks the next questions that wait. Returns whether there were any.
    fn ask_more(&mut self) -> bool {
        let Some(Unasked { run, mut flips }) = self.unasked.pop() else { return false };
        let known = &self.runs[run];
        let (trace, keys) = (Arc::clone(&known.trace), known.keys.clone());
        let limited = Arc::clone(&known.limited);
        let model = TraceModel::new(&trace, Model::Value);
        let counted = self.counted.clone();
        let mut leads = Leads::new(&model, &keys, (&counted, &*limited), run, self.limits());
        let found = self.ask(&mut leads, &mut flips);
        if !flips.is_empty() {
            self.unasked.push(Unasked { run, flips });
        }
        self.result.open.extend(leads.open);
        for candidate in found {
            self.offer(run, candidate);
        }
        true
    }

    fn offer(&mut self, run: usize, candidate: Candidate) {
        if candidate.cause != Cause::Stuck {
            self.wider.push_back(Wider { run, candidate: candidate.clone() });
        }
        self.frontier.add(candidate);
    }

    /// Returns the lead to follow next. Where the frontier is empty, leads that keep more of other
    /// threads are looked for.
    fn next(&mut self) -> Option<Candidate> {
        loop {
            if let Some(candidate) = self.frontier.pop() {
                return Some(candidate);
            }
            if self.budget().is_some() {
                return None;
            }
            if self.ask_more() {
                continue;
            }
            let Wider { run, candidate } = self.wider.pop_front()?;
            self.widen(run, &candidate);
        }
    }

    /// Finds the leads with the same observation that keep more of some other thread.
    fn widen(&mut self, run: usize, candidate: &Candidate) {
        let trace = Arc::clone(&self.runs[run].trace);
        let keys = self.runs[run].keys.clone();
        let limited = Arc::clone(&self.runs[run].limited);
        let model = TraceModel::new(&trace, Model::Value);
        let counted = self.counted.clone();
        let sets = (&counted, &*limited);
        let mut leads = Leads::new(&model, &keys, sets, run, self.limits());
        let mut found = Vec::new();
        for e in leads.beyond(candidate) {
            let mut required = candidate.required.clone();
            required.push(e);
            required.sort_unstable();
            let cause = match &candidate.cause {
                Cause::Flip(flip) => (flip.event.0, flip.seen, 0),
                Cause::GoOn(thread, _) => (thread.0, 0, 1),
                Cause::Stuck => continue,
            };
            let events: Vec<u32> = required.iter().map(|e| e.0).collect();
            if !self.required.insert(hash_of((run, cause, events))) {
                continue;
            }
            found.extend(match &candidate.cause {
                Cause::Flip(flip) => leads.flip(flip, &required),
                Cause::GoOn(thread, pending) => leads.go_on(*thread, *pending, &required),
                Cause::Stuck => None,
            });
        }
        self.result.open.extend(leads.open);
        for candidate in found {
            self.offer(run, candidate);
        }
    }
}
