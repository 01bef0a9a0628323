//! A partial execution of the events of a trace: the state after some events have run, by the
//! table of semantics section 1.
//!
//! An event may also run *flipped*: it observes something else than in the trace, and its thread
//! stops there. A failed try-lock that is flipped takes the lock; a successful one does not. A wait
//! with a time limit that is flipped times out, or is woken.

use std::hash::{Hash, Hasher};

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, LockId, Op, ThreadId};
use rustc_hash::{FxHashSet, FxHasher};

use crate::Pending;

/// No write: the initial value.
const INITIAL: u32 = u32::MAX;

/// State after a sequence of events.
#[derive(Clone)]
pub(crate) struct Execution<'t> {
    model: &'t TraceModel<'t>,
    /// Events of waits that could have ended otherwise.
    limited: &'t FxHashSet<EventId>,
    /// Number of events of each thread that have run.
    pub(crate) counts: Vec<u32>,
    /// Whether the last event of the thread was flipped.
    cut: Vec<bool>,
    forked: Vec<bool>,
    /// Last write of each variable, or `INITIAL`.
    last: Vec<u32>,
    /// Variables that hold an unknown value, which a flipped update has left.
    unknown: Vec<bool>,
    /// Last access to each opaque variable, plus one.
    opaque: Vec<u32>,
    locks: Vec<Lock>,
    /// Depth that a waiting thread gets back.
    waiting: Vec<u32>,
    conditions: Vec<Condition>,
    semaphores: Vec<u64>,
    arrivals: Vec<u64>,
    /// Number of the arrival of each thread at the barrier that it has to leave.
    arrived: Vec<u64>,
}

#[derive(Clone, Default, Hash)]
struct Lock {
    /// The writer and its depth.
    owner: Option<(u32, u32)>,
    readers: Vec<(u32, u32)>,
}

/// Waiters and notifications of a condition, by a clock of its events.
#[derive(Clone, Default, Hash)]
struct Condition {
    clock: u32,
    /// Waiting threads, each with the time of its wait and whether a notify-all woke it.
    waiters: Vec<(u32, u32, bool)>,
    /// Times of notifications that no woken waiter has used.
    notifies: Vec<u32>,
}

impl Lock {
    fn is_held_besides(&self, thread: u32) -> bool {
        self.owner.is_some_and(|(owner, _)| owner != thread)
            || self.readers.iter().any(|&(reader, _)| reader != thread)
    }

    fn is_free_for_writer(&self, thread: u32) -> bool {
        let own = self.owner.is_some_and(|(owner, _)| owner == thread);
        own || !self.is_held_besides(thread) && self.readers.is_empty()
    }

    fn is_owned_besides(&self, thread: u32) -> bool {
        self.owner.is_some_and(|(owner, _)| owner != thread)
    }

    fn take(&mut self, thread: u32) {
        let depth = self.owner.map_or(0, |(_, depth)| depth);
        self.owner = Some((thread, depth + 1));
    }

    fn take_shared(&mut self, thread: u32) {
        match self.readers.iter_mut().find(|(reader, _)| *reader == thread) {
            Some((_, depth)) => *depth += 1,
            None => {
                self.readers.push((thread, 1));
                self.readers.sort_unstable();
            }
        }
    }

    fn give_back(&mut self) {
        self.owner = self.owner.filter(|(_, depth)| *depth > 1).map(|(o, depth)| (o, depth - 1));
    }

    fn give_back_shared(&mut self, thread: u32) {
        if let Some(i) = self.readers.iter().position(|(reader, _)| *reader == thread) {
            self.readers[i].1 -= 1;
            if self.readers[i].1 == 0 {
                self.readers.remove(i);
            }
        }
    }
}

/// Result of an event that could run now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// It observes what it did in the trace, or observes nothing.
    Same,
    /// It observes something else.
    Other,
    /// It waits.
    Blocked,
}

impl<'t> Execution<'t> {
    /// Returns the state before the first event.
    pub(crate) fn new(model: &'t TraceModel<'t>, limited: &'t FxHashSet<EventId>) -> Self {
        let trace = model.trace;
        let threads = model.chains.thread_count();
        let thread = ThreadId::from_index;
        Self {
            model,
            limited,
            counts: vec![0; threads],
            cut: vec![false; threads],
            forked: (0..threads).map(|t| model.chains.fork(thread(t)).is_none()).collect(),
            last: vec![INITIAL; trace.variable_count()],
            unknown: vec![false; trace.variable_count()],
            opaque: vec![0; trace.variable_count()],
            locks: vec![Lock::default(); trace.lock_count()],
            waiting: vec![0; threads],
            conditions: vec![Condition::default(); trace.condition_count()],
            semaphores: (0..trace.semaphore_count())
                .map(|s| trace.initial_count(foretell_trace::SemId::from_index(s)))
                .collect(),
            arrivals: vec![0; trace.barrier_count()],
            arrived: vec![0; threads],
        }
    }

    /// Returns the next event of a thread, if it has one and is not cut.
    pub(crate) fn next(&self, thread: usize) -> Option<EventId> {
        if self.cut[thread] || !self.forked[thread] {
            return None;
        }
        let events = self.model.chains.events(ThreadId::from_index(thread));
        events.get(self.counts[thread] as usize).copied()
    }

    /// Whether a thread has run all its events.
    pub(crate) fn is_done(&self, thread: usize) -> bool {
        let events = self.model.chains.events(ThreadId::from_index(thread));
        self.counts[thread] as usize == events.len()
    }

    /// Whether a thread stopped at a flipped event.
    pub(crate) fn is_cut(&self, thread: usize) -> bool {
        self.cut[thread]
    }

    /// Returns the write that a read would see now; the outer `None`: an unknown value.
    pub(crate) fn seen(&self, read: EventId) -> Option<Option<EventId>> {
        let x = self.model.trace.variable(read)?.index();
        let last = self.last[x];
        (!self.unknown[x]).then_some((last != INITIAL).then_some(EventId(last)))
    }

    /// Returns what the next event of its thread would do now.
    pub(crate) fn step(&self, e: EventId) -> Step {
        let trace = self.model.trace;
        let event = trace.event(e);
        let t = event.thread.index();
        let me = t as u32;
        let when = |enabled: bool| if enabled { Step::Same } else { Step::Blocked };
        let sight = |same: bool| if same { Step::Same } else { Step::Other };
        match event.kind {
            EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Update { .. } => {
                let x = trace.variable(e).map_or(0, |x| x.index());
                if self.opaque[x] > e.0 {
                    return Step::Blocked;
                }
                if !trace.op(e).reads() {
                    return Step::Same;
                }
                let preserves = |w| self.model.reads_from.preserves(trace, e, w);
                sight(self.seen(e).is_some_and(preserves))
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                let free = self.locks[lock.index()].is_free_for_writer(me);
                if trace.op(e) == Op::TryAcquire { sight(free) } else { when(free) }
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                let free = !self.locks[lock.index()].is_owned_besides(me);
                if trace.op(e) == Op::TryAcquireShared { sight(free) } else { when(free) }
            }
            EventKind::TryFailed { lock } => sight(self.locks[lock.index()].is_held_besides(me)),
            EventKind::TryFailedShared { lock } => {
                sight(self.locks[lock.index()].is_owned_besides(me))
            }
            EventKind::Woken { cond, lock } => {
                let free = self.locks[lock.index()].is_free_for_writer(me);
                when(free && self.conditions[cond.index()].may_wake(me))
            }
            EventKind::TimedOut { cond, lock } => {
                let free = self.locks[lock.index()].is_free_for_writer(me);
                when(free && self.conditions[cond.index()].may_time_out(me))
            }
            EventKind::Down { sem } => when(self.semaphores[sem.index()] > 0),
            EventKind::Leave { barrier } => {
                let parties = u64::from(trace.parties(barrier).unwrap_or(1)).max(1);
                let full = (self.arrived[t] / parties + 1) * parties;
                when(self.arrivals[barrier.index()] >= full)
            }
            EventKind::Join { thread } => {
                let u = thread.index();
                when(self.forked[u] && self.is_done(u) && !self.cut[u])
            }
            _ => Step::Same,
        }
    }

    /// Whether the next event of its thread could observe something else now.
    pub(crate) fn can_flip(&self, e: EventId) -> bool {
        let event = self.model.trace.event(e);
        let me = event.thread.index() as u32;
        match event.kind {
            EventKind::Woken { cond, lock } => {
                self.limited.contains(&e)
                    && self.locks[lock.index()].is_free_for_writer(me)
                    && self.conditions[cond.index()].may_time_out(me)
            }
            EventKind::TimedOut { cond, lock } => {
                self.limited.contains(&e)
                    && self.locks[lock.index()].is_free_for_writer(me)
                    && self.conditions[cond.index()].may_wake(me)
            }
            EventKind::Down { sem } => {
                self.limited.contains(&e) && self.semaphores[sem.index()] == 0
            }
            _ => self.step(e) == Step::Other,
        }
    }

    /// Runs an event, the next of its thread, flipped or not.
    pub(crate) fn run(&mut self, e: EventId, flipped: bool) {
        let trace = self.model.trace;
        let event = trace.event(e);
        let t = event.thread.index();
        let me = t as u32;
        self.counts[t] += 1;
        self.cut[t] |= flipped;
        match event.kind {
            EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Update { .. } => {
                let Some(x) = trace.variable(e) else { return };
                if trace.is_opaque(x) {
                    self.opaque[x.index()] = e.0 + 1;
                }
                if trace.op(e).writes() {
                    self.last[x.index()] = e.0;
                    self.unknown[x.index()] = flipped;
                }
            }
            EventKind::TryAcquire { .. } | EventKind::TryAcquireShared { .. } if flipped => {}
            EventKind::TryFailed { lock } if flipped => self.locks[lock.index()].take(me),
            EventKind::TryFailedShared { lock } if flipped => {
                self.locks[lock.index()].take_shared(me);
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.locks[lock.index()].take(me);
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.locks[lock.index()].take_shared(me);
            }
            EventKind::Release { lock } => self.locks[lock.index()].give_back(),
            EventKind::ReleaseShared { lock } => self.locks[lock.index()].give_back_shared(me),
            EventKind::Wait { cond, lock } => {
                let lock = &mut self.locks[lock.index()];
                self.waiting[t] = lock.owner.map_or(1, |(_, depth)| depth);
                lock.owner = None;
                let condition = &mut self.conditions[cond.index()];
                condition.clock += 1;
                condition.waiters.push((me, condition.clock, false));
            }
            EventKind::Woken { cond, lock } | EventKind::TimedOut { cond, lock } => {
                self.locks[lock.index()].owner = Some((me, self.waiting[t]));
                let woken = (trace.op(e) == Op::Woken) != flipped;
                self.conditions[cond.index()].leave(me, woken);
            }
            EventKind::Notify { cond } => {
                let condition = &mut self.conditions[cond.index()];
                if !condition.waiters.is_empty() {
                    condition.clock += 1;
                    condition.notifies.push(condition.clock);
                }
            }
            EventKind::NotifyAll { cond } => {
                let condition = &mut self.conditions[cond.index()];
                condition.waiters.iter_mut().for_each(|(_, _, all)| *all = true);
                condition.notifies.clear();
            }
            EventKind::Post { sem } => self.semaphores[sem.index()] += 1,
            EventKind::Down { .. } if flipped => {}
            EventKind::Down { sem } => {
                let count = &mut self.semaphores[sem.index()];
                *count = count.saturating_sub(1);
            }
            EventKind::Arrive { barrier } => {
                self.arrived[t] = self.arrivals[barrier.index()];
                self.arrivals[barrier.index()] += 1;
            }
            EventKind::Fork { thread } => self.forked[thread.index()] = true,
            _ => {}
        }
    }

    /// Whether a thread could go on with an operation now.
    pub(crate) fn could(&self, thread: usize, pending: Pending) -> bool {
        let me = thread as u32;
        match pending {
            Pending::Acquire(lock) => self.locks[lock.index()].is_free_for_writer(me),
            Pending::AcquireShared(lock) => !self.locks[lock.index()].is_owned_besides(me),
            Pending::Woken(cond, lock) => {
                self.locks[lock.index()].is_free_for_writer(me)
                    && self.conditions[cond.index()].may_wake(me)
            }
            Pending::EndOfWait(_, lock) => self.locks[lock.index()].is_free_for_writer(me),
            Pending::Down(sem) => self.semaphores[sem.index()] > 0,
            Pending::Join(_) => false,
        }
    }

    /// Returns a hash of the state.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (&self.counts, &self.cut, &self.last, &self.conditions).hash(&mut hasher);
        self.arrived.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the next event of its thread commutes with all that the others still do, and can
    /// only help them: it may run at once without losing a stuck state.
    pub(crate) fn commutes(&self, e: EventId) -> bool {
        let TraceModel { trace, reads_from, chains, .. } = self.model;
        let event = trace.event(e);
        match event.kind {
            EventKind::Begin { .. } | EventKind::End { .. } | EventKind::Guard { .. } => true,
            EventKind::Fork { .. } | EventKind::Join { .. } => true,
            // It can only let threads go on that wait, but for tries that fail.
            EventKind::Release { lock } | EventKind::ReleaseShared { lock } => {
                !self.has_failed_try(lock, event.thread)
            }
            EventKind::Read { var, .. } | EventKind::Write { var, .. } => {
                let own = event.thread;
                let writes = trace.op(e).writes();
                let lists = if writes {
                    reads_from.accesses_by_thread(var)
                } else {
                    reads_from.writes_by_thread(var)
                };
                let over = |list: &[EventId], t: ThreadId| {
                    list.last().is_none_or(|&l| chains.position(l) < self.counts[t.index()])
                };
                lists.iter().all(|(t, list)| *t == own || over(list, *t))
            }
            _ => false,
        }
    }

    /// Whether a thread but this one still tries a lock in vain.
    fn has_failed_try(&self, lock: LockId, besides: ThreadId) -> bool {
        let TraceModel { trace, chains, .. } = self.model;
        let tries = |&e: &EventId| {
            matches!(
                trace.event(e).kind,
                EventKind::TryFailed { lock: tried } | EventKind::TryFailedShared { lock: tried }
                    if tried == lock
            )
        };
        (0..self.counts.len()).map(ThreadId::from_index).filter(|&t| t != besides).any(|t| {
            let rest = &chains.events(t)[self.counts[t.index()] as usize..];
            rest.iter().any(tries)
        })
    }
}

impl Condition {
    fn may_wake(&self, thread: u32) -> bool {
        let Some(&(_, since, all)) = self.waiters.iter().find(|w| w.0 == thread) else {
            return false;
        };
        all || self.notifies.iter().any(|&n| n > since)
    }

    /// Whether a waiter may not have been woken: the others can have used all notifications.
    fn may_time_out(&self, thread: u32) -> bool {
        let Some(&(_, _, all)) = self.waiters.iter().find(|w| w.0 == thread) else {
            return false;
        };
        let others = |n: u32| {
            let could = |w: &&(u32, u32, bool)| w.0 != thread && !w.2 && w.1 < n;
            self.waiters.iter().filter(could).count()
        };
        // The notifications are in the order of their times.
        !all && self.notifies.iter().enumerate().all(|(before, &n)| others(n) > before)
    }

    /// A waiter leaves, perhaps because of a notification: the earliest that can have woken it.
    fn leave(&mut self, thread: u32, woken: bool) {
        let Some(i) = self.waiters.iter().position(|w| w.0 == thread) else { return };
        let (_, since, all) = self.waiters.remove(i);
        if woken
            && !all
            && let Some(n) = self.notifies.iter().position(|&n| n > since)
        {
            self.notifies.remove(n);
        }
        if self.waiters.is_empty() {
            self.notifies.clear();
        }
    }
}
