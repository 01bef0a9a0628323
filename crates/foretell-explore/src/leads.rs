//! Leads of a run: for each event that observes state and each other observation of it, sequences
//! that end the event's thread with that observation.
//!
//! One sequence for each observation would lose executions. It says nothing of how far the other
//! threads had come, and what they observed there may be impossible to combine with the new
//! observation later. So the leads of an observation are *maximal*: no other sequence with this
//! observation keeps all that the other threads observed in the lead, and more. There may be
//! several such sequences. The first is found, and extended by every event that can follow. Any
//! other contains an event that the first does not: for each thread, the next event that observes
//! is required, and so on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use foretell_model::TraceModel;
use foretell_predict::engines::order::{OrderEngine, Sight};
use foretell_predict::query::{Limit, Query, Verdict};
use foretell_trace::{EventId, Op, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::execution::{Execution, Step};
use crate::history::{
    Counted, CutKey, Entry, History, TIMED_OUT, ThreadKey, cut_key, hash_of, value_hash,
};
use crate::search::{Found, Goal, never_stuck, search};
use crate::{Lead, Open, Pending};

/// Longest trace that is searched explicitly.
const LONGEST_SEARCH: usize = 2_000;

/// Most events of another thread that are put before a read at once, such as those of a section.
const LONGEST_SECTION: usize = 64;

/// Another observation of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flip {
    pub(crate) event: EventId,
    /// Hash of the observation.
    pub(crate) seen: u64,
    kind: FlipKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum FlipKind {
    /// A read sees one of these writes.
    Read(Vec<Option<EventId>>),
    /// A try-lock or a wait with a time limit fails, or does not.
    Try,
}

/// Reason for a lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// An event observes something else.
    Flip(Flip),
    /// No thread can go on.
    Stuck,
    /// A thread goes on where it was stuck.
    GoOn(ThreadId, Pending),
}

/// A lead with its key.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) lead: Lead,
    pub(crate) cause: Cause,
    /// Histories that a run which has followed the lead begins with.
    pub(crate) key: CutKey,
    /// Hash of place and observation that are new.
    pub(crate) novelty: Option<u64>,
    /// Hash of the place whose observation is new.
    pub(crate) place: Option<u64>,
    /// Whether a standard library observes something else that it has for itself.
    pub(crate) is_internal: bool,
    /// Number of events of each thread in the lead.
    pub(crate) counts: Vec<u32>,
    /// Events that the lead had to contain.
    pub(crate) required: Vec<EventId>,
}

/// Limits of the search for leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) loop_bound: u32,
    pub(crate) states: usize,
    pub(crate) query: Duration,
    pub(crate) deadline: Option<Instant>,
}

impl Limits {
    /// Returns the time at which a question that is asked now ends.
    fn end(&self) -> Instant {
        let end = Instant::now() + self.query;
        self.deadline.map_or(end, |deadline| end.min(deadline))
    }
}

/// Finder of the leads of one run.
pub(crate) struct Leads<'t> {
    model: &'t TraceModel<'t>,
    engine: OrderEngine<'t>,
    keys: &'t [ThreadKey],
    counted: &'t Counted,
    /// Events of waits that could have ended otherwise.
    limited: &'t FxHashSet<EventId>,
    run: usize,
    limits: Limits,
    pub(crate) open: Vec<Open>,
}

impl<'t> Leads<'t> {
    pub(crate) fn new(
        model: &'t TraceModel<'t>,
        keys: &'t [ThreadKey],
        (counted, limited): (&'t Counted, &'t FxHashSet<EventId>),
        run: usize,
        limits: Limits,
    ) -> Self {
        let engine = OrderEngine::new(model);
        Leads { model, engine, keys, counted, limited, run, limits, open: Vec::new() }
    }

    fn trace(&self) -> &'t Trace {
        self.model.trace
    }

    fn place(&self, e: EventId) -> String {
        let trace = self.trace();
        trace.site(e).map_or_else(|| format!("event {}", e.0), |s| trace.location(s).to_owned())
    }

    /// Returns the other observations of the events of the run.
    pub(crate) fn flips(&mut self) -> Vec<Flip> {
        let trace = self.trace();
        let mut flips = Vec::new();
        let mut counted = self.counted.clone();
        for t in (0..trace.thread_count()).map(ThreadId::from_index) {
            let mut history = History::default();
            let mut times: FxHashMap<u64, u32> = FxHashMap::default();
            for &e in self.model.chains.events(t) {
                foretell_limit::check();
                let entry = Entry::of(trace, e);
                let stutters_before = history.stutters;
                history.push(entry, &mut counted);
                if history.stutters && stutters_before {
                    continue;
                }
                let others = self.others(e);
                if others.is_empty() {
                    continue;
                }
                let times = times.entry(entry.place).or_default();
                *times += 1;
                if *times > self.limits.loop_bound {
                    self.open.push(Open::LoopBound(self.place(e)));
                    continue;
                }
                flips.extend(others);
            }
        }
        flips.sort_by_key(|flip| flip.event);
        flips
    }

    /// Returns the other observations of one event.
    fn others(&mut self, e: EventId) -> Vec<Flip> {
        let trace = self.trace();
        match trace.op(e) {
            op if op.reads() => {
                let opaque = trace.variable(e).filter(|&x| trace.is_opaque(x));
                let challengers = self.engine.challengers(e);
                if let Some(x) = opaque {
                    if !challengers.is_empty() {
                        let name = trace.variable_name(x).to_owned();
                        self.open.push(Open::HiddenState(name));
                    }
                    return Vec::new();
                }
                if trace.read_value(e).is_none() && !challengers.is_empty() {
                    self.open.push(Open::NoValues(self.place(e)));
                    return Vec::new();
                }
                let mut by_value: BTreeMap<u64, Vec<Option<EventId>>> = BTreeMap::new();
                for writer in challengers {
                    let value = match writer {
                        Some(w) => trace.written_value(w),
                        None => trace.variable(e).and_then(|x| self.model.reads_from.initial(x)),
                    };
                    let seen = match value {
                        Some(_) => value_hash(trace, value),
                        None => hash_of(("unknown", writer.map(|w| w.0))),
                    };
                    by_value.entry(seen).or_default().push(writer);
                }
                by_value
                    .into_iter()
                    .map(|(seen, writers)| Flip { event: e, seen, kind: FlipKind::Read(writers) })
                    .collect()
            }
            op if op.is_failed_try() => vec![Flip { event: e, seen: 0, kind: FlipKind::Try }],
            Op::TryAcquire | Op::TryAcquireShared => {
                vec![Flip { event: e, seen: hash_of("failed"), kind: FlipKind::Try }]
            }
            Op::Woken if self.limited.contains(&e) => {
                vec![Flip { event: e, seen: hash_of(TIMED_OUT), kind: FlipKind::Try }]
            }
            Op::TimedOut if self.limited.contains(&e) => {
                vec![Flip { event: e, seen: 0, kind: FlipKind::Try }]
            }
            Op::TimedOut => {
                self.open.push(Open::TimedWaits(self.place(e)));
                Vec::new()
            }
            Op::Down if self.limited.contains(&e) => {
                vec![Flip { event: e, seen: hash_of("failed"), kind: FlipKind::Try }]
            }
            _ => Vec::new(),
        }
    }

    /// Returns a maximal lead to another observation that contains the events of `required`.
    pub(crate) fn flip(&mut self, flip: &Flip, required: &[EventId]) -> Option<Candidate> {
        let sequence = match &flip.kind {
            FlipKind::Read(writers) => {
                let run = required.iter().copied().chain([flip.event]).collect();
                let query = Query { run, ..Query::default() };
                let trace = self.trace();
                let kept: Vec<EventId> =
                    required.iter().copied().filter(|&e| trace.op(e).observes()).collect();
                let sight = Sight { read: flip.event, writers, kept: &kept };
                let limit = Limit { deadline: Some(self.limits.end()), stop: None };
                match self.engine.decide_sight(&query, &sight, &limit) {
                    Verdict::Witness(sequence) => sequence,
                    Verdict::Impossible => return None,
                    Verdict::Undecided(reason) => {
                        let place = self.place(flip.event);
                        self.open.push(Open::Undecided(format!("{place} ({reason})")));
                        return None;
                    }
                }
            }
            FlipKind::Try => self.search(Goal::Flip(flip.event, required)).into_iter().next()?,
        };
        Some(self.candidate(sequence, Cause::Flip(flip.clone()), required))
    }

    /// Returns the hash of the place and the observation of a flip.
    pub(crate) fn novelty(&self, flip: &Flip) -> u64 {
        let entry = Entry::with(self.trace(), flip.event, flip.seen);
        hash_of((entry.place, entry.seen))
    }

    /// Returns the hash of the place of a flip.
    pub(crate) fn flipped_place(&self, flip: &Flip) -> u64 {
        Entry::with(self.trace(), flip.event, flip.seen).place
    }

    /// Whether a flip is of a variable that a standard library has for itself.
    pub(crate) fn is_internal(&self, flip: &Flip) -> bool {
        let trace = self.trace();
        let variable = trace.variable(flip.event);
        variable.is_some_and(|variable| trace.is_internal(trace.variable_name(variable)))
    }

    /// Returns leads to states in which no thread can go on, found in at most `states` states;
    /// `None` if the search found none and did not come to an end.
    pub(crate) fn stuck(&mut self, states: usize) -> Option<Vec<Candidate>> {
        let trace = self.trace();
        let waits = |op: Op| matches!(op, Op::Acquire | Op::AcquireShared | Op::Woken | Op::Down);
        if !trace.ids().any(|e| waits(trace.op(e))) || never_stuck(self.model) {
            return Some(Vec::new());
        }
        let before = self.open.len();
        let all = std::mem::replace(&mut self.limits.states, states);
        let found = self.search(Goal::Stuck);
        self.limits.states = all;
        if found.is_empty() && self.open.len() > before {
            return None;
        }
        Some(found.into_iter().map(|s| self.candidate(s, Cause::Stuck, &[])).collect())
    }

    /// Returns a maximal lead after which a stuck thread goes on.
    pub(crate) fn go_on(
        &mut self,
        thread: ThreadId,
        pending: Pending,
        required: &[EventId],
    ) -> Option<Candidate> {
        let sequence = self.search(Goal::GoOn(thread, pending, required)).into_iter().next()?;
        Some(self.candidate(sequence, Cause::GoOn(thread, pending), required))
    }

    fn search(&mut self, goal: Goal<'_>) -> Vec<Vec<EventId>> {
        let what = match goal {
            Goal::Flip(e, _) => self.place(e),
            Goal::Stuck => "states in which no thread can go on".to_owned(),
            Goal::GoOn(..) => "what a stuck thread would do".to_owned(),
        };
        if self.trace().len() > LONGEST_SEARCH {
            self.open.push(Open::Undecided(what));
            return Vec::new();
        }
        match search((self.model, self.limited), goal, self.limits.states, self.limits.end()) {
            Found::Sequences(sequences) => sequences,
            Found::Unknown(sequences) => {
                self.open.push(Open::Undecided(what));
                sequences
            }
        }
    }

    /// Puts as much as possible before the last events of the thread whose read observes something
    /// else. What other threads do in a section with the same lock can only come before, and what
    /// they observe there would be lost otherwise. Returns the sequence unchanged if it cannot run
    /// step by step.
    fn extend_before(&self, sequence: Vec<EventId>, flip: &Flip) -> Vec<EventId> {
        let FlipKind::Read(writers) = &flip.kind else { return sequence };
        let trace = self.trace();
        let own = trace.thread(flip.event);
        // The read, and the locks that its thread takes immediately before.
        let events = self.model.chains.events(own);
        let read = self.model.chains.position(flip.event) as usize;
        let takes = |e: &&EventId| matches!(trace.op(**e), Op::Acquire | Op::AcquireShared);
        let taken = events[..read].iter().rev().take_while(takes).count();
        let last = &events[read - taken..=read];
        let mut state = Execution::new(self.model, self.limited);
        let mut before = Vec::with_capacity(sequence.len());
        for &e in sequence.iter().filter(|e| !last.contains(e)) {
            if state.next(trace.thread(e).index()) != Some(e) || state.step(e) != Step::Same {
                return sequence;
            }
            state.run(e, false);
            before.push(e);
        }
        // The same write, too: an equal value may come again much later.
        let writer = state.seen(flip.event);
        let can_end = |state: &Execution<'_>| {
            last[..taken].iter().all(|&e| state.step(e) == Step::Same)
                && state.seen(flip.event) == writer
        };
        if !writer.is_some_and(|writer| writers.contains(&writer)) || !can_end(&state) {
            return sequence;
        }
        let mut grew = true;
        while grew {
            grew = false;
            for t in (0..state.counts.len()).filter(|&t| t != own.index()) {
                let mut after = state.clone();
                let mut more = Vec::new();
                while let Some(e) = after.next(t)
                    && more.len() < LONGEST_SECTION
                    // They take what the flipped thread may take instead.
                    && !matches!(trace.op(e), Op::Woken | Op::TimedOut | Op::Down)
                    && after.step(e) == Step::Same
                {
                    after.run(e, false);
                    more.push(e);
                    if can_end(&after) {
                        before.append(&mut more);
                        state = after.clone();
                        grew = true;
                    }
                }
            }
        }
        before.extend_from_slice(last);
        before
    }

    /// Extends a sequence as far as possible.
    fn candidate(&self, sequence: Vec<EventId>, cause: Cause, required: &[EventId]) -> Candidate {
        let trace = self.trace();
        let sequence = match &cause {
            Cause::Flip(flip) => self.extend_before(sequence, flip),
            _ => sequence,
        };
        let flipped = match &cause {
            Cause::Flip(flip) => Some(flip.event),
            _ => None,
        };
        let mut state = Execution::new(self.model, self.limited);
        let mut events = Vec::with_capacity(sequence.len());
        let mut consistent = true;
        for &e in &sequence {
            match (Some(e) == flipped, state.step(e)) {
                (true, _) => state.run(e, true),
                (false, Step::Same) => state.run(e, false),
                // The last event of a thread, which no other event needs.
                (false, Step::Other) => continue,
                (false, Step::Blocked) => {
                    consistent = false;
                    state.run(e, false);
                }
            }
            events.push(e);
        }
        if consistent && cause != Cause::Stuck {
            let mut grew = true;
            while grew {
                grew = false;
                let mut next: Vec<EventId> =
                    (0..state.counts.len()).filter_map(|t| state.next(t)).collect();
                next.sort_unstable();
                for e in next {
                    if state.step(e) != Step::Same {
                        continue;
                    }
                    let mut after = state.clone();
                    after.run(e, false);
                    if let Cause::GoOn(thread, pending) = cause
                        && !after.could(thread.index(), pending)
                    {
                        continue;
                    }
                    state = after;
                    events.push(e);
                    grew = true;
                }
            }
        }
        let flip = match &cause {
            Cause::Flip(flip) => Some((flip.event, flip.seen)),
            _ => None,
        };
        let mut key = cut_key(self.model, self.keys, &state.counts, flip, self.counted);
        if let Cause::GoOn(thread, _) = cause {
            let of = self.keys[thread.index()];
            let history = key.get(&of).copied().unwrap_or_default();
            key.insert(hash_of((of, "more")), history);
        }
        let (novelty, place, is_internal) = match &cause {
            Cause::Flip(flip) => {
                (Some(self.novelty(flip)), Some(self.flipped_place(flip)), self.is_internal(flip))
            }
            _ => (None, None, false),
        };
        let preemptions = preemptions(trace, &events, flipped);
        let then = match cause {
            Cause::GoOn(thread, _) => Some(thread),
            _ => None,
        };
        let lead = Lead { run: self.run, events, flipped, then, preemptions };
        let counts = state.counts;
        let required = required.to_vec();
        Candidate { lead, cause, key, novelty, place, is_internal, counts, required }
    }

    /// Returns the events of which one is in every lead that keeps more than this one: for each
    /// thread, the first event after the lead that observes, or takes a notification or a token.
    pub(crate) fn beyond(&self, candidate: &Candidate) -> Vec<EventId> {
        let trace = self.trace();
        let own = candidate.lead.flipped.map(|e| trace.thread(e));
        let own = own.or(match candidate.cause {
            Cause::GoOn(thread, _) => Some(thread),
            _ => None,
        });
        let observes = |e: EventId| {
            let op = trace.op(e);
            op.observes()
                || matches!(op, Op::TryAcquire | Op::TryAcquireShared | Op::TimedOut)
                // They take what another thread may take instead.
                || matches!(op, Op::Woken | Op::Down)
        };
        (0..candidate.counts.len())
            .filter(|&t| Some(ThreadId::from_index(t)) != own)
            .filter_map(|t| {
                let events = self.model.chains.events(ThreadId::from_index(t));
                let rest = &events[candidate.counts[t] as usize..];
                rest.iter().copied().find(|&e| observes(e))
            })
            .collect()
    }
}

/// Number of switches away from threads that run on later.
fn preemptions(trace: &Trace, events: &[EventId], flipped: Option<EventId>) -> u32 {
    let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for (i, &e) in events.iter().enumerate() {
        last.insert(trace.thread(e), i);
    }
    let mut count = 0;
    for (i, pair) in events.windows(2).enumerate() {
        let (a, b) = (trace.thread(pair[0]), trace.thread(pair[1]));
        let goes_on = last[&a] > i || Some(pair[0]) == flipped;
        let waits = matches!(trace.op(pair[0]), Op::Wait | Op::Arrive);
        count += u32::from(a != b && goes_on && !waits);
    }
    count
}
