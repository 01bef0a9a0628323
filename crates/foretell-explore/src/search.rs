//! Explicit search through the partial executions of a run, for what the order engine has no query
//! for: flipped try-locks and waits, stuck states, and operations that a stuck thread could have
//! gone on with.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, ThreadId};
use rustc_hash::FxHashSet;

use crate::Pending;
use crate::execution::{Execution, Step};

/// Goal of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal<'a> {
    /// This event has run flipped, and all of these have run.
    Flip(EventId, &'a [EventId]),
    /// Some thread is not done, and none can go on.
    Stuck,
    /// This thread is done, and could go on with this operation; all of these have run.
    GoOn(ThreadId, Pending, &'a [EventId]),
}

/// Answer of a search.
#[derive(Debug)]
pub(crate) enum Found {
    /// Sequences that reach the goal: one, or every distinct stuck state.
    Sequences(Vec<Vec<EventId>>),
    /// The limit of states was reached before the search was over. These were found before.
    Unknown(Vec<Vec<EventId>>),
}

/// Searches for a goal, through at most `limit` states and until the deadline.
pub(crate) fn search(
    (model, limited): (&TraceModel<'_>, &FxHashSet<EventId>),
    goal: Goal<'_>,
    limit: usize,
    deadline: Instant,
) -> Found {
    let start = Execution::new(model, limited);
    let mut search = Search {
        model,
        goal,
        seen: FxHashSet::default(),
        found: Vec::new(),
        path: Vec::new(),
        limit,
        deadline,
        over: false,
    };
    search.visit(&start);
    if search.over && (search.found.is_empty() || matches!(goal, Goal::Stuck)) {
        Found::Unknown(search.found)
    } else {
        Found::Sequences(search.found)
    }
}

/// Whether it is easy to see that no state is stuck. Threads then wait for nothing but locks, and
/// for the ends of threads, which they do without a lock; they keep no lock for ever; and the order
/// in which they take a lock while they hold another has no cycle. So of the threads that wait for
/// a lock, the one that holds the last lock of that order can go on.
pub(crate) fn never_stuck(model: &TraceModel<'_>) -> bool {
    let TraceModel { trace, chains, .. } = model;
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); trace.lock_count()];
    for t in (0..chains.thread_count()).map(ThreadId::from_index) {
        // With the number of times that the thread has taken it.
        let mut held: BTreeMap<usize, u32> = BTreeMap::new();
        for &e in chains.events(t) {
            match trace.event(e).kind {
                EventKind::Acquire { lock } | EventKind::AcquireShared { lock } => {
                    let lock = lock.index();
                    for &before in held.keys() {
                        after[before].insert(lock);
                    }
                    *held.entry(lock).or_default() += 1;
                }
                EventKind::TryAcquire { lock } | EventKind::TryAcquireShared { lock } => {
                    *held.entry(lock.index()).or_default() += 1;
                }
                EventKind::Release { lock } | EventKind::ReleaseShared { lock } => {
                    let Some(depth) = held.get_mut(&lock.index()) else { return false };
                    *depth -= 1;
                    if *depth == 0 {
                        held.remove(&lock.index());
                    }
                }
                EventKind::Join { .. } if !held.is_empty() => return false,
                EventKind::Wait { .. }
                | EventKind::Woken { .. }
                | EventKind::TimedOut { .. }
                | EventKind::Down { .. }
                | EventKind::Leave { .. } => return false,
                _ => {}
            }
        }
        if !held.is_empty() {
            return false;
        }
    }
    // Locks that no lock comes after are taken away, until none is left.
    let mut left: BTreeSet<usize> = (0..after.len()).collect();
    loop {
        let before = left.len();
        let last = |lock: &usize| after[*lock].iter().all(|next| !left.contains(next));
        let ended: Vec<usize> = left.iter().copied().filter(last).collect();
        for lock in ended {
            left.remove(&lock);
        }
        if left.is_empty() || left.len() == before {
            return left.is_empty();
        }
    }
}

struct Search<'a> {
    model: &'a TraceModel<'a>,
    goal: Goal<'a>,
    seen: FxHashSet<u64>,
    found: Vec<Vec<EventId>>,
    path: Vec<EventId>,
    limit: usize,
    deadline: Instant,
    over: bool,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.over || !self.found.is_empty() && !matches!(self.goal, Goal::Stuck)
    }

    fn have_run(&self, state: &Execution<'_>, events: &[EventId]) -> bool {
        let TraceModel { trace, chains, .. } = self.model;
        events.iter().all(|&e| chains.position(e) < state.counts[trace.thread(e).index()])
    }

    fn visit(&mut self, state: &Execution<'_>) {
        foretell_limit::check();
        if self.is_over() || !self.seen.insert(state.hash()) {
            return;
        }
        let is_late = self.seen.len().is_multiple_of(64) && Instant::now() >= self.deadline;
        if self.seen.len() > self.limit || is_late {
            self.over = true;
            return;
        }
        let threads = state.counts.len();
        let trace = self.model.trace;
        match self.goal {
            Goal::Flip(e, required) => {
                let t = trace.thread(e).index();
                if state.is_cut(t) && self.have_run(state, required) {
                    self.found.push(self.path.clone());
                    return;
                }
                if state.next(t) == Some(e) && state.can_flip(e) {
                    self.enter(state, e, true);
                }
            }
            Goal::Stuck => {}
            Goal::GoOn(thread, pending, required) => {
                if state.is_done(thread.index())
                    && state.could(thread.index(), pending)
                    && self.have_run(state, required)
                {
                    self.found.push(self.path.clone());
                    return;
                }
            }
        }
        // The order of the trace first: most goals are near.
        let mut next: Vec<EventId> = (0..threads).filter_map(|t| state.next(t)).collect();
        next.sort_unstable();
        next.retain(|&e| state.step(e) == Step::Same);
        if let Goal::Flip(e, _) = self.goal
            && state.next(trace.thread(e).index()) == Some(e)
        {
            next.retain(|&n| n != e);
        }
        if matches!(self.goal, Goal::Stuck) {
            if next.is_empty() {
                let all_seen = (0..threads).filter_map(|t| state.next(t));
                let waits = |e: EventId| state.step(e) == Step::Blocked;
                let mut rest = all_seen.peekable();
                if rest.peek().is_some() && rest.all(waits) {
                    self.found.push(self.path.clone());
                }
                return;
            }
            if let Some(&e) = next.iter().find(|&&e| state.commutes(e)) {
                self.enter(state, e, false);
                return;
            }
        }
        for e in next {
            self.enter(state, e, false);
        }
    }

    fn enter(&mut self, state: &Execution<'_>, e: EventId, flipped: bool) {
        let mut after = state.clone();
        after.run(e, flipped);
        self.path.push(e);
        self.visit(&after);
        self.path.pop();
    }
}
