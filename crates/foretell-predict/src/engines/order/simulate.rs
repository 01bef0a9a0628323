//! Running a candidate: which rules of feasibility does a proposed interleaving break?
//!
//! The order engine proposes sequences that respect program order and whatever constraints it has
//! learnt so far. This module runs one from start to end, as if every event succeeded, and reports
//! the rules of semantics sections 1 and 2 that are broken on the way, all or the first few
//! hundred. No report means that the sequence is feasible. It is not the checker: `foretell-verify`
//! shares no code with it and has the last word.

use foretell_model::{Section, SectionId, TraceModel, WaitId};
use foretell_trace::{BarrierId, CondId, EventId, EventKind, LockId, Op, SemId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::linearize::Proposal;

/// A run that breaks more rules than this goes no further. In a long trace one event in the wrong
/// place can break the views of all that follow; what comes first is what has to be learnt, and
/// rules out the proposal.
const MOST_VIOLATIONS: usize = 256;

/// A rule that a candidate breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Violation {
    /// This read is not preserved although its thread goes on; it sees `seen`.
    Read { read: EventId, seen: Option<EventId> },
    /// `entering` starts while `held` is open and excludes it.
    Lock { entering: SectionId, held: SectionId },
    /// This try-lock should fail, but no other thread holds the lock in a way that makes it.
    TryFailed(EventId),
    /// No choice of notified waiters explains the order of the events of this condition, on which
    /// these waiters were woken.
    Condition { cond: CondId, woken: Vec<WaitId> },
    /// The semaphore is at 0: these earlier downs (this one included) have used these posts up.
    Semaphore { down: EventId, downs: Vec<EventId>, posts: Vec<EventId> },
    /// Not all parties have arrived: `earlier` put the arrival in its generation, `arrived` is
    /// the arrivals so far.
    Barrier { leave: EventId, earlier: Vec<EventId>, arrived: Vec<EventId> },
    /// Two accesses of an opaque variable, in the order of the trace, ran the other way round.
    Opaque { first: EventId, second: EventId },
}

/// Which events of a candidate must have their view preserved.
pub(crate) trait Demands {
    /// Whether the view of this event must be preserved although it is the last of its thread.
    fn must_be_preserved(&self, e: EventId) -> bool;

    /// The write that a read is to see, if that is decided.
    fn source(&self, _read: EventId) -> Option<Option<EventId>> {
        None
    }

    /// The reads of a variable that are decided to see this write.
    fn readers(&self, _x: VarId, _writer: Option<EventId>) -> Vec<EventId> {
        Vec::new()
    }

    /// Whether it is decided, by the order, which thread owns the lock when this try-lock fails.
    fn has_owner(&self, _tried: EventId) -> bool {
        false
    }
}

/// Runs candidates. Keeps its tables between runs.
pub(crate) struct Simulator {
    /// Last write of each variable and the run it belongs to.
    last_write: Vec<(u32, EventId)>,
    /// Open sections of each lock and the run they belong to.
    holders: Vec<(u32, Vec<SectionId>)>,
    run: u32,
}

/// Outcome of a simulation.
#[derive(Default, Debug)]
pub(crate) struct Outcome {
    /// The rules broken, in the order of the sequence.
    pub(crate) violations: Vec<Violation>,
    /// The write that each watched read saw, and whether that breaks it.
    pub(crate) watched: Vec<(EventId, Option<EventId>, bool)>,
}

impl Simulator {
    pub(crate) fn new(trace_model: &TraceModel<'_>) -> Self {
        Self {
            last_write: vec![(0, EventId(0)); trace_model.trace.variable_count()],
            holders: vec![(0, Vec::new()); trace_model.locks.lock_count()],
            run: 0,
        }
    }

    /// Runs a proposal; `watch` are reads whose view the caller wants to know. Its prefix is the
    /// beginning of the trace, so it breaks nothing and only its effects matter; each is looked up
    /// when something in the tail asks for it.
    pub(crate) fn run(
        &mut self,
        trace_model: &TraceModel<'_>,
        proposal: &Proposal,
        demands: &impl Demands,
        watch: &[EventId],
    ) -> Outcome {
        self.run += 1;
        let counts = &proposal.counts;
        let mut run = SimulationRun {
            simulator: self,
            trace_model,
            prefix: proposal.prefix,
            counts,
            demands,
            watch,
            poisoned: FxHashSet::default(),
            conditions: FxHashMap::default(),
            counters: FxHashMap::default(),
            opaque: FxHashMap::default(),
            outcome: Outcome::default(),
        };
        for &read in watch.iter().filter(|r| r.0 < proposal.prefix) {
            run.outcome.watched.push((read, trace_model.reads_from.observed(read), false));
        }
        for &e in &proposal.tail {
            foretell_limit::check();
            run.step(e);
            if run.outcome.violations.len() >= MOST_VIOLATIONS {
                return run.outcome;
            }
        }
        let mut conditions: Vec<_> = std::mem::take(&mut run.conditions).into_iter().collect();
        conditions.sort_unstable_by_key(|(c, _)| *c);
        for (cond, events) in conditions {
            if !notifications_explain(trace_model, &events, counts, &[]) {
                let woken = events.iter().filter(|&&e| trace_model.trace.op(e) == Op::Woken);
                let woken = woken.filter_map(|&e| trace_model.waits.at(e)).collect();
                run.outcome.violations.push(Violation::Condition { cond, woken });
            }
        }
        run.outcome
    }
}

struct SimulationRun<'a, D> {
    simulator: &'a mut Simulator,
    trace_model: &'a TraceModel<'a>,
    /// The first events of the trace, this many, have run before the first step.
    prefix: u32,
    counts: &'a [u32],
    demands: &'a D,
    watch: &'a [EventId],
    /// Broken updates.
    poisoned: FxHashSet<EventId>,
    /// The events of each condition, in order.
    conditions: FxHashMap<CondId, Vec<EventId>>,
    /// Events so far of each semaphore and barrier.
    counters: FxHashMap<(Op, u32), Vec<EventId>>,
    /// The latest access (in the trace's order) of each opaque variable so far.
    opaque: FxHashMap<u32, EventId>,
    outcome: Outcome,
}

impl<D: Demands> SimulationRun<'_, D> {
    fn step(&mut self, e: EventId) {
        let op = self.trace_model.trace.op(e);
        if op.is_access() {
            return self.access(e, op);
        }
        if op == Op::Free {
            return self.free(e);
        }
        match self.trace_model.trace.event(e).kind {
            EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock } => {
                let trace_model = self.trace_model;
                let thread = trace_model.trace.thread(e);
                let owned = self.holders(lock.index()).iter().any(|&s| {
                    let section = trace_model.locks.get(s);
                    trace_model.locks.makes_fail(trace_model.trace, s, e)
                        && !(section.shared && mutated!(OnlyWritersFailTryLocks))
                        || mutated!(ReadersFailReaders) && section.thread != thread
                });
                if !owned && self.must_be_preserved(e) && !mutated!(TryLocksNeedNoOwner) {
                    self.outcome.violations.push(Violation::TryFailed(e));
                }
            }
            EventKind::Acquire { .. }
            | EventKind::AcquireShared { .. }
            | EventKind::TryAcquire { .. }
            | EventKind::TryAcquireShared { .. } => self.enter(e),
            EventKind::Release { lock } | EventKind::ReleaseShared { lock } => {
                self.leave(e, lock.index());
                self.enter(e);
            }
            EventKind::Wait { cond, lock } => {
                self.leave(e, lock.index());
                self.enter(e);
                self.condition(cond, e);
            }
            EventKind::Woken { cond, .. } | EventKind::TimedOut { cond, .. } => {
                self.enter(e);
                self.condition(cond, e);
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                self.condition(cond, e);
            }
            EventKind::Post { sem } => match self.trace_model.locks.of_semaphore(sem) {
                Some(lock) => self.leave(e, lock.index()),
                None => self.count(Op::Post, sem.0, e),
            },
            EventKind::Down { sem } => match self.trace_model.locks.of_semaphore(sem) {
                Some(_) => self.enter(e),
                None => self.down(e, sem),
            },
            EventKind::Arrive { barrier } => self.count(Op::Arrive, barrier.0, e),
            EventKind::Leave { barrier } => self.leave_barrier(e, barrier),
            _ => {}
        }
    }

    fn must_be_preserved(&self, e: EventId) -> bool {
        let thread = self.trace_model.trace.thread(e);
        let goes_on = self.trace_model.chains.position(e) + 1 < self.counts[thread.index()];
        let relied_on = match goes_on {
            true => !mutated!(BrokenReadsGoOn),
            false if mutated!(BrokenThreadsAreJoined) => false,
            false => self.trace_model.is_relied_on(e, self.counts),
        };
        relied_on || self.demands.must_be_preserved(e)
    }

    fn access(&mut self, e: EventId, op: Op) {
        let trace = self.trace_model.trace;
        let Some(x) = trace.variable(e) else { return };
        if op.reads() {
            let seen = self.last_write(x);
            let preserved = self.trace_model.reads_from.preserves(trace, e, seen)
                && seen.is_none_or(|w| {
                    !self.poisoned.contains(&w) || mutated!(BrokenUpdatesAreIntact)
                });
            if !preserved && !mutated!(ReadsNeedNoView) {
                if self.must_be_preserved(e) {
                    self.outcome.violations.push(Violation::Read { read: e, seen });
                } else if op.writes() {
                    self.poisoned.insert(e);
                }
            }
            if self.watch.contains(&e) {
                self.outcome.watched.push((e, seen, !preserved));
            }
        }
        self.write(e, op, x);
    }

    /// A `free` writes every variable in its block.
    fn free(&mut self, e: EventId) {
        for x in self.trace_model.trace.accessed_variables(e) {
            self.write(e, Op::Free, x);
        }
    }

    /// The effects of an access on a variable.
    fn write(&mut self, e: EventId, op: Op, x: VarId) {
        if op.writes() {
            self.simulator.last_write[x.index()] = (self.simulator.run, e);
        }
        if self.trace_model.trace.is_opaque(x) {
            let accesses = self.trace_model.reads_from.accesses(x);
            let before = &accesses[..accesses.partition_point(|a| a.0 < self.prefix)];
            let latest = self.opaque.entry(x.0).or_insert(*before.last().unwrap_or(&e));
            if *latest > e && !mutated!(OpaqueInAnyOrder) {
                self.outcome.violations.push(Violation::Opaque { first: e, second: *latest });
            } else {
                *latest = e;
            }
        }
    }

    fn last_write(&self, x: VarId) -> Option<EventId> {
        let (run, write) = self.simulator.last_write[x.index()];
        if run == self.simulator.run {
            return Some(write);
        }
        let writes = self.trace_model.reads_from.writes(x);
        writes[..writes.partition_point(|w| w.0 < self.prefix)].last().copied()
    }

    fn holders(&mut self, lock: usize) -> &mut Vec<SectionId> {
        let (run, holders) = &mut self.simulator.holders[lock];
        if *run != self.simulator.run {
            *run = self.simulator.run;
            *holders = self.trace_model.locks.open_at(LockId::from_index(lock), self.prefix);
        }
        holders
    }

    fn condition(&mut self, cond: CondId, e: EventId) {
        let (trace_model, prefix) = (self.trace_model, self.prefix);
        let events = self.conditions.entry(cond).or_insert_with(|| {
            let mut events = trace_model.waits.events(cond);
            events.retain(|e| e.0 < prefix);
            events
        });
        events.push(e);
    }

    fn enter(&mut self, e: EventId) {
        let Some(entering) = self.trace_model.locks.entered_at(e) else { return };
        let section = *self.trace_model.locks.get(entering);
        let trace_model = self.trace_model;
        let held: Vec<SectionId> = self
            .holders(section.lock.index())
            .iter()
            .copied()
            .filter(|&s| excludes(&section, trace_model.locks.get(s)))
            .collect();
        for held in held {
            self.outcome.violations.push(Violation::Lock { entering, held });
        }
        self.holders(section.lock.index()).push(entering);
    }

    fn leave(&mut self, e: EventId, lock: usize) {
        let trace_model = self.trace_model;
        self.holders(lock).retain(|&s| trace_model.locks.get(s).exit != Some(e));
    }

    fn count(&mut self, op: Op, object: u32, e: EventId) {
        self.counted(op, object).push(e);
    }

    /// The events of this kind on a semaphore or barrier so far.
    fn counted(&mut self, op: Op, object: u32) -> &mut Vec<EventId> {
        let (counters, prefix) = (&self.trace_model.counters, self.prefix);
        self.counters.entry((op, object)).or_insert_with(|| {
            let all = match op {
                Op::Post => counters.posts(SemId(object)),
                Op::Down => counters.downs(SemId(object)),
                _ => counters.arrivals(BarrierId(object)),
            };
            all[..all.partition_point(|e| e.0 < prefix)].to_vec()
        })
    }

    fn down(&mut self, e: EventId, sem: SemId) {
        self.count(Op::Down, sem.0, e);
        let posts = self.counted(Op::Post, sem.0).len() as u64;
        let tokens = self.trace_model.trace.initial_count(sem).saturating_add(posts);
        let tokens = if mutated!(SemaphoresHaveOneMore) { tokens + 1 } else { tokens };
        let downs = self.counted(Op::Down, sem.0);
        if downs.len() as u64 > tokens {
            // One down more than there are tokens is enough to tell, and `e` is one of them.
            let mut some = downs[..tokens as usize].to_vec();
            some.push(e);
            let posts = self.counted(Op::Post, sem.0).clone();
            self.outcome.violations.push(Violation::Semaphore { down: e, downs: some, posts });
        }
    }

    fn leave_barrier(&mut self, e: EventId, barrier: BarrierId) {
        let parties = self.trace_model.trace.parties(barrier).unwrap_or(1).max(1) as usize;
        let Some(arrival) = self.trace_model.counters.arrival_of(e) else { return };
        let arrived = self.counted(Op::Arrive, barrier.0);
        let Some(place) = arrived.iter().position(|&a| a == arrival) else { return };
        let generation = place / parties;
        if arrived.len() < (generation + 1) * parties && !mutated!(BarriersLetThrough) {
            let earlier = arrived[..generation * parties].to_vec();
            let arrived = arrived.clone();
            self.outcome.violations.push(Violation::Barrier { leave: e, earlier, arrived });
        }
    }
}

/// Whether two sections of one lock cannot be open at the same time.
fn excludes(a: &Section, b: &Section) -> bool {
    match (a.shared, b.shared) {
        (true, true) => mutated!(ReadersExcludeReaders),
        (false, false) => !mutated!(LocksLetEverybodyIn),
        _ => !mutated!(ReadersLetWritersIn),
    }
}

/// Whether some choice of waiters explains a sequence of events of one condition.
///
/// Each notify must wake a waiter if there is one. The waiter may be chosen by the deadline:
/// first a waiter that is woken later in the sequence, the one whose `woken` comes first; else one
/// that never leaves; a waiter that times out, or is before one of `staying`, must not be chosen.
/// Swapping two choices of any valid
/// explanation into this order keeps it valid, so if this one fails, all do.
pub(crate) fn notifications_explain(
    trace_model: &TraceModel<'_>,
    events: &[EventId],
    counts: &[u32],
    staying: &[EventId],
) -> bool {
    let trace = trace_model.trace;
    let place: FxHashMap<EventId, usize> =
        events.iter().enumerate().map(|(i, &e)| (e, i)).collect();
    let runs = |e: EventId| trace_model.chains.position(e) < counts[trace.thread(e).index()];
    // Waiters in the wait set.
    let mut waiting: Vec<WaitId> = Vec::new();
    let exit_place = |w: WaitId| {
        trace_model.waits.get(w).exit.filter(|&e| runs(e)).and_then(|e| place.get(&e).copied())
    };
    let stays = |w: WaitId| {
        let exit = trace_model.waits.get(w).exit;
        exit.is_some_and(|exit| !runs(exit) && staying.contains(&exit))
    };
    for &e in events {
        foretell_limit::check();
        match trace.op(e) {
            Op::Wait => waiting.extend(trace_model.waits.at(e)),
            Op::Woken => {
                let still_waits = trace_model.waits.at(e).is_some_and(|w| waiting.contains(&w));
                if still_waits && !mutated!(WokenNeedsNoNotify) {
                    return false;
                }
            }
            Op::TimedOut => {
                let Some(w) = trace_model.waits.at(e) else { continue };
                match waiting.iter().position(|&v| v == w) {
                    Some(i) => waiting.swap_remove(i),
                    None if mutated!(NotifiedMayTimeOut) => continue,
                    None => return false,
                };
            }
            Op::NotifyAll => waiting.clear(),
            Op::Notify if mutated!(NotifyWakesAll) => waiting.clear(),
            _ => {
                let best = (0..waiting.len()).min_by_key(|&i| {
                    let w = waiting[i];
                    match exit_place(w) {
                        Some(p) if !trace_model.waits.get(w).timed_out => (0, p),
                        None if stays(w) => (3, i),
                        None => (1, i),
                        Some(p) => (2, p),
                    }
                });
                let times_out = |i: usize| {
                    let w = waiting[i];
                    exit_place(w).is_some() && trace_model.waits.get(w).timed_out
                };
                if let Some(i) = best.filter(|&i| !(mutated!(NotifyMaySkip) && times_out(i))) {
                    waiting.swap_remove(i);
                }
            }
        }
    }
    let waits = &trace_model.waits;
    let of_condition = |w: &WaitId| place.contains_key(&waits.get(*w).enter);
    let mut staying = staying.iter().filter_map(|&e| waits.at(e)).filter(of_condition);
    staying.all(|w| waiting.contains(&w))
}
