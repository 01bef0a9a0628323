//! Feasibility once more, as a predicate on whole sequences: nothing is carried from event to
//! event, every question is answered by looking back at what came before. The sequences it accepts
//! must be exactly those that the library runs.

mod common;

use std::collections::BTreeSet;

use common::random::{show, small_trace};
use foretell_brute::maximal_interleavings;
use foretell_generate::Family;
use foretell_trace::expr::eval;
use foretell_trace::{
    BarrierId, CondId, EventId, EventKind, LockId, Model, ThreadId, Trace, Value, VarId,
};

/// A sequence, with the waiter that each of its notifies woke.
struct Sequence<'a> {
    trace: &'a Trace,
    model: Model,
    events: &'a [EventId],
    woke: &'a [Option<ThreadId>],
}

impl Sequence<'_> {
    fn kind(&self, i: usize) -> EventKind {
        self.trace.event(self.events[i]).kind
    }

    fn thread(&self, i: usize) -> ThreadId {
        self.trace.thread(self.events[i])
    }

    /// The places before `i` where thread `t` runs.
    fn of(&self, t: ThreadId, i: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..i).filter(move |&j| self.thread(j) == t)
    }

    fn feasible(&self) -> bool {
        (0..self.events.len()).all(|i| {
            let cut = self.of(self.thread(i), i).any(|j| self.broken(j));
            !cut && self.started(i) && self.enabled(i) && self.wakes_as_it_must(i)
        })
    }

    fn started(&self, i: usize) -> bool {
        self.forked(self.thread(i), i)
    }

    /// Whether the fork of `t` is before `i`, or the trace has none.
    fn forked(&self, t: ThreadId, i: usize) -> bool {
        let forks = |e: &EventId| matches!(self.trace.event(*e).kind, EventKind::Fork { thread } if thread == t);
        !self.trace.ids().any(|e| forks(&e)) || self.events[..i].iter().any(forks)
    }

    fn enabled(&self, i: usize) -> bool {
        let me = self.thread(i);
        let threads = || (0..self.trace.thread_count()).map(ThreadId::from_index);
        let owned_by_other = |l| threads().any(|t| t != me && self.depth(t, l, i) > 0);
        let shared = |l| threads().any(|t| self.shared(t, l, i) > 0);
        match self.kind(i) {
            EventKind::Read { var, .. }
            | EventKind::Write { var, .. }
            | EventKind::Update { var, .. } => {
                let later =
                    |e: &EventId| self.trace.variable(*e) == Some(var) && *e > self.events[i];
                !self.trace.is_opaque(var) || !self.events[..i].iter().any(later)
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                !owned_by_other(lock) && (self.depth(me, lock, i) > 0 || !shared(lock))
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                !owned_by_other(lock)
            }
            EventKind::Release { lock } | EventKind::Wait { lock, .. } => {
                self.depth(me, lock, i) > 0
            }
            EventKind::ReleaseShared { lock } => self.shared(me, lock, i) > 0,
            EventKind::Woken { cond, lock } => {
                !self.waits(me, cond, i) && !owned_by_other(lock) && !shared(lock)
            }
            EventKind::TimedOut { cond, lock } => {
                self.waits(me, cond, i) && !owned_by_other(lock) && !shared(lock)
            }
            EventKind::Down { sem } => {
                let posts = (0..i).filter(|&j| self.kind(j) == EventKind::Post { sem }).count();
                let downs = (0..i).filter(|&j| self.kind(j) == EventKind::Down { sem }).count();
                self.trace.initial_count(sem) as usize + posts > downs
            }
            EventKind::Leave { barrier } => self.open(barrier, i),
            EventKind::Join { thread } => {
                let mut events = self.trace.ids().filter(|&e| self.trace.thread(e) == thread);
                self.forked(thread, i)
                    && events.all(|e| self.events[..i].contains(&e))
                    && !self.of(thread, i).any(|j| self.broken(j))
            }
            EventKind::Guard { expr } => {
                self.model != Model::Symbolic
                    || eval(self.trace.exprs(), expr, |r| self.register(r, i)).truth() == Some(true)
            }
            _ => true,
        }
    }

    /// Depth at which `t` owns the lock before `i`. A wait gives it back, the end of the wait
    /// restores it.
    fn depth(&self, t: ThreadId, l: LockId, i: usize) -> usize {
        let (mut depth, mut former) = (0, 0);
        for j in self.of(t, i) {
            match self.kind(j) {
                EventKind::Acquire { lock } | EventKind::TryAcquire { lock } if lock == l => {
                    depth += 1
                }
                EventKind::Release { lock } if lock == l => depth -= 1,
                EventKind::Wait { lock, .. } if lock == l => (depth, former) = (0, depth),
                EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } if lock == l => {
                    depth = former;
                }
                _ => {}
            }
        }
        depth
    }

    fn shared(&self, t: ThreadId, lock: LockId, i: usize) -> usize {
        let count = |kind| self.of(t, i).filter(|&j| self.kind(j) == kind).count();
        count(EventKind::AcquireShared { lock }) + count(EventKind::TryAcquireShared { lock })
            - count(EventKind::ReleaseShared { lock })
    }

    /// Whether `t` is in the wait set of `c` before `i`.
    fn waits(&self, t: ThreadId, c: CondId, i: usize) -> bool {
        let waited = self
            .of(t, i)
            .rfind(|&j| matches!(self.kind(j), EventKind::Wait { cond, .. } if cond == c));
        waited.is_some_and(|w| {
            !(w + 1..i).any(|j| match self.kind(j) {
                EventKind::Woken { .. } | EventKind::TimedOut { .. } => self.thread(j) == t,
                EventKind::NotifyAll { cond } => cond == c,
                EventKind::Notify { cond } => cond == c && self.woke[j] == Some(t),
                _ => false,
            })
        })
    }

    fn wakes_as_it_must(&self, i: usize) -> bool {
        let EventKind::Notify { cond } = self.kind(i) else { return self.woke[i].is_none() };
        match self.woke[i] {
            Some(t) => self.waits(t, cond, i),
            None => (0..self.trace.thread_count())
                .all(|t| !self.waits(ThreadId::from_index(t), cond, i)),
        }
    }

    /// Whether the generation of the thread's last arrival is full, and it has not left it.
    fn open(&self, barrier: BarrierId, i: usize) -> bool {
        let arrive = EventKind::Arrive { barrier };
        let arrivals = |i| (0..i).filter(|&j| self.kind(j) == arrive).count();
        let parties = self.trace.parties(barrier).expect("declared") as usize;
        let Some(arrived) = self.of(self.thread(i), i).rfind(|&j| self.kind(j) == arrive) else {
            return false;
        };
        let left = self.of(self.thread(i), i).any(|j| j > arrived && self.kind(j) == self.kind(i));
        !left && arrivals(i) >= (arrivals(arrived) / parties + 1) * parties
    }

    fn broken(&self, i: usize) -> bool {
        let e = self.events[i];
        let others = || {
            let threads = (0..self.trace.thread_count()).map(ThreadId::from_index);
            threads.filter(|&t| t != self.thread(i))
        };
        match self.kind(i) {
            EventKind::TryFailed { lock } => {
                !others().any(|t| self.depth(t, lock, i) > 0 || self.shared(t, lock, i) > 0)
            }
            EventKind::TryFailedShared { lock } => !others().any(|t| self.depth(t, lock, i) > 0),
            EventKind::Read { var, .. } | EventKind::Update { var, .. } => {
                let here = self.last_write(var, i);
                let poisoned = here.is_some_and(|j| self.broken(j));
                let same = here.map(|j| self.events[j]) == self.write_in_trace(e, var);
                let value = match here {
                    Some(j) => self.trace.written_value(self.events[j]),
                    None => self.initial(var),
                };
                let equal = value.is_some() && value == self.trace.read_value(e);
                let hidden_state = self.trace.is_opaque(var) && self.writes(e, var);
                match self.model {
                    _ if hidden_state => poisoned || !same,
                    Model::View => poisoned || !same,
                    Model::Value => poisoned || !(same || equal),
                    Model::Symbolic => poisoned,
                }
            }
            _ => false,
        }
    }

    fn last_write(&self, x: VarId, i: usize) -> Option<usize> {
        (0..i).rfind(|&j| self.writes(self.events[j], x))
    }

    fn writes(&self, e: EventId, x: VarId) -> bool {
        self.trace.variable(e) == Some(x) && self.trace.op(e).writes()
    }

    fn write_in_trace(&self, e: EventId, x: VarId) -> Option<EventId> {
        self.trace.ids().rfind(|&w| w < e && self.writes(w, x))
    }

    fn initial(&self, x: VarId) -> Option<foretell_trace::ValueId> {
        self.trace.declared_initial_value(x).or_else(|| {
            let early = |e: &EventId| self.write_in_trace(*e, x).is_none();
            let mut reads = self.trace.ids().filter(|&e| self.trace.variable(e) == Some(x));
            reads.find_map(|e| self.trace.read_value(e).filter(|_| early(&e)))
        })
    }

    /// `symbolic`: the value of `x` before `i`.
    fn value(&self, x: VarId, i: usize) -> Option<Value> {
        let known = |v: Option<_>| v.and_then(|v| self.trace.values().get(v));
        let Some(j) = self.last_write(x, i) else { return known(self.initial(x)) };
        match self.kind(j) {
            EventKind::Write { expr: Some(expr), .. } => {
                eval(self.trace.exprs(), expr, |r| self.register(r, j)).value()
            }
            EventKind::Update { expr: Some(expr), .. } => {
                eval(self.trace.exprs(), expr, |r| self.register(r, j + 1)).value()
            }
            EventKind::Update { old: Some(_), new, .. } => {
                let old = known(self.trace.read_value(self.events[j]));
                known(new).filter(|_| self.value(x, j) == old)
            }
            // Without a recorded value to compare, the write it sees decides.
            EventKind::Update { new, .. } => {
                let here = self.last_write(x, j).map(|w| self.events[w]);
                known(new).filter(|_| here == self.write_in_trace(self.events[j], x))
            }
            EventKind::Write { value, .. } => known(value),
            _ => None,
        }
    }

    /// `symbolic`: what a register holds before `i`.
    fn register(&self, r: foretell_trace::RegId, i: usize) -> Option<Value> {
        let sets = |j: &usize| match self.kind(*j) {
            EventKind::Read { register, .. } | EventKind::Update { register, .. } => {
                register == Some(r)
            }
            _ => false,
        };
        let set = (0..i).rfind(sets)?;
        self.value(self.trace.variable(self.events[set])?, set)
    }
}

/// Whether some choice of waiters makes the sequence feasible.
fn feasible(trace: &Trace, model: Model, events: &[EventId]) -> bool {
    let mut choices: Vec<Vec<Option<ThreadId>>> = vec![Vec::new()];
    for &e in events {
        let mut here = vec![None];
        if matches!(trace.event(e).kind, EventKind::Notify { .. }) {
            here.extend((0..trace.thread_count()).map(|t| Some(ThreadId::from_index(t))));
        }
        choices = choices
            .into_iter()
            .flat_map(|c| here.iter().map(move |&w| [&c[..], &[w]].concat()))
            .collect();
    }
    choices.iter().any(|woke| Sequence { trace, model, events, woke }.feasible())
}

/// Every feasible sequence that starts with `sequence`, by the predicate alone.
fn collect(
    trace: &Trace,
    model: Model,
    sequence: &mut Vec<EventId>,
    all: &mut BTreeSet<Vec<EventId>>,
) {
    all.insert(sequence.clone());
    for t in (0..trace.thread_count()).map(ThreadId::from_index) {
        let next = trace.ids().find(|e| trace.thread(*e) == t && !sequence.contains(e));
        let Some(next) = next else { continue };
        sequence.push(next);
        if feasible(trace, model, sequence) {
            collect(trace, model, sequence, all);
        }
        sequence.pop();
    }
}

fn compare(seeds: std::ops::Range<u64>, model: Model) {
    for (seed, &family) in seeds.flat_map(|s| Family::ALL.iter().map(move |f| (s, f))) {
        let trace = small_trace(family, seed, 8);
        let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
        collect(&trace, model, &mut Vec::new(), &mut expected);
        for maximal in maximal_interleavings(&trace, model) {
            found.extend((0..=maximal.len()).map(|n| maximal[..n].to_vec()));
        }
        assert_eq!(found, expected, "{model} {family} {seed}:\n{}", show(&trace));
    }
}

#[test]
fn the_library_runs_the_sequences_of_the_definition_in_view() {
    compare(3000..3060, Model::View);
}

#[test]
fn the_library_runs_the_sequences_of_the_definition_in_value() {
    compare(4000..4060, Model::Value);
}

#[test]
fn the_library_runs_the_sequences_of_the_definition_in_symbolic() {
    compare(5000..5060, Model::Symbolic);
}
