//! Making an illegal trace legal by dropping what is not enabled (`--lenient`).
//!
//! The state machine of the check runs over the trace. An event that it refuses is dropped (or, for
//! the end of a wait, read as the other end) before the next event. A dropped acquire takes its
//! release with it, since that one is not enabled either. The result is legal by construction, with
//! two exceptions that look back: a wait whose end cannot be kept must itself go, so the pass
//! starts over without it; and a variable that turns out to be opaque is so from the start, which
//! makes fewer things illegal and none more.
//!
//! It is not a smallest repair: what was refused first is not always what was wrong.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::outlook::{Ending, Outlook};
use super::rule::Rule;
use super::state::State;
use crate::{Event, EventId, EventKind, LockId, ThreadId, Trace, TraceBuilder, VarId};

/// Kind of change that made a trace legal, and the number of such changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repair {
    /// Kind of change.
    pub kind: RepairKind,
    /// Number of changes.
    pub count: usize,
    /// The first event, of the trace as it was, that it was done to.
    pub first: EventId,
}

/// One way to make a trace legal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum RepairKind {
    /// Dropped an acquire of a lock that was held, and the release that belongs to it.
    HeldLock,
    /// Dropped a release of a lock that was not held.
    UnheldLock,
    /// Dropped a wait with a lock that was not owned.
    WaitWithoutLock,
    /// Dropped a wait that did not end, while its thread went on, or that ended while its lock was
    /// held.
    WaitWithoutEnd,
    /// Dropped the end of a wait that was not in progress.
    EndWithoutWait,
    /// Took a wake-up that nothing notified as a time-out.
    WokenToTimedOut,
    /// Took a time-out of a waiter that a notify had to wake as a wake-up.
    TimedOutToWoken,
    /// Dropped a decrement of a semaphore with count 0.
    EmptySemaphore,
    /// Dropped an event of a barrier without a number of parties.
    NoParties,
    /// Dropped a leave of a barrier that the thread could not leave.
    Leave,
    /// Dropped a fork of a thread that was started or forked before.
    Fork,
    /// Dropped a join of a thread that runs on.
    Join,
    /// Dropped an end of a block that did not begin.
    EndWithoutBegin,
    /// Declared a variable opaque.
    Opaque,
    /// Dropped a guard that is false for the recorded values.
    Guard,
    /// Dropped the expression of a write that gives another value than the recorded one.
    Expression,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, many) = match self.kind {
            RepairKind::HeldLock => (
                "dropped # acquire of a lock that was held, with its release",
                "dropped # acquires of locks that were held, with their releases",
            ),
            RepairKind::UnheldLock => (
                "dropped # release of a lock that was not held",
                "dropped # releases of locks that were not held",
            ),
            RepairKind::WaitWithoutLock => (
                "dropped # wait with a lock that was not owned",
                "dropped # waits with locks that were not owned",
            ),
            RepairKind::WaitWithoutEnd => (
                "dropped # wait that did not end as a wait does",
                "dropped # waits that did not end as waits do",
            ),
            RepairKind::EndWithoutWait => (
                "dropped # end of a wait that was not in progress",
                "dropped # ends of waits that were not in progress",
            ),
            RepairKind::WokenToTimedOut => (
                "took # wake-up that nothing notified as a time-out",
                "took # wake-ups that nothing notified as time-outs",
            ),
            RepairKind::TimedOutToWoken => (
                "took # time-out of a notified waiter as a wake-up",
                "took # time-outs of notified waiters as wake-ups",
            ),
            RepairKind::EmptySemaphore => (
                "dropped # decrement of a semaphore with count 0",
                "dropped # decrements of semaphores with count 0",
            ),
            RepairKind::NoParties => (
                "dropped # event of a barrier without a declared number of parties",
                "dropped # events of barriers without a declared number of parties",
            ),
            RepairKind::Leave => (
                "dropped # leave of a barrier that was not complete",
                "dropped # leaves of barriers that were not complete",
            ),
            RepairKind::Fork => (
                "dropped # fork of a thread that had started or was forked before",
                "dropped # forks of threads that had started or were forked before",
            ),
            RepairKind::Join => (
                "dropped # join of a thread that runs on",
                "dropped # joins of threads that run on",
            ),
            RepairKind::EndWithoutBegin => (
                "dropped # end of a block that did not begin",
                "dropped # ends of blocks that did not begin",
            ),
            RepairKind::Opaque => (
                "declared # variable opaque because of a read that no recorded write explains",
                "declared # variables opaque because of reads that no recorded write explains",
            ),
            RepairKind::Guard => (
                "dropped # guard that is false for the recorded values",
                "dropped # guards that are false for the recorded values",
            ),
            RepairKind::Expression => (
                "dropped # expression that gives another value than was written",
                "dropped # expressions that give other values than were written",
            ),
        };
        if self.count == 1 {
            write!(f, "{}, at event {}", one.replace('#', "1"), self.first.0)
        } else {
            let text = many.replace('#', &self.count.to_string());
            write!(f, "{text}, the first at event {}", self.first.0)
        }
    }
}

/// A legal trace that keeps what it can of `trace`, and what had to be done; nothing for a trace
/// that is legal. Names, declarations and the order of the events stay.
pub fn repair(trace: &Trace) -> (Trace, Vec<Repair>) {
    let outlook = Outlook::new(trace);
    // Waits that cannot stay; grows with every pass, so the passes come to an end.
    let mut doomed = FxHashSet::default();
    loop {
        let known = doomed.len();
        let mut pass = Pass::new(trace, &outlook, &mut doomed);
        for event in trace.events() {
            foretell_limit::check();
            pass.take(event);
        }
        let (trace, log) = (pass.builder.build(), pass.log);
        if doomed.len() == known {
            return (trace, log);
        }
    }
}

struct Pass<'t, 'd> {
    outlook: &'t Outlook,
    state: State<'t>,
    builder: TraceBuilder,
    doomed: &'d mut FxHashSet<EventId>,
    /// Number of acquires of a lock, exclusive and shared, that were dropped and not yet released.
    dropped_acquires: FxHashMap<(ThreadId, LockId, bool), u32>,
    log: Vec<Repair>,
}

impl<'t, 'd> Pass<'t, 'd> {
    fn new(trace: &'t Trace, outlook: &'t Outlook, doomed: &'d mut FxHashSet<EventId>) -> Self {
        let mut builder = trace.builder_with_names();
        builder.reserve(trace.len());
        Pass {
            outlook,
            state: State::new(trace),
            builder,
            doomed,
            dropped_acquires: FxHashMap::default(),
            log: Vec::new(),
        }
    }

    fn note(&mut self, kind: RepairKind, e: EventId) {
        match self.log.iter_mut().find(|r| r.kind == kind) {
            Some(repair) => repair.count += 1,
            None => self.log.push(Repair { kind, count: 1, first: e }),
        }
    }

    /// Takes an event over, mended if it has to be, or drops it.
    fn take(&mut self, event: Event) {
        if matches!(event.kind, EventKind::Wait { .. })
            && (self.doomed.contains(&event.id)
                || self.outlook.ending_of(event.id) == Ending::Wrong)
        {
            return self.note(RepairKind::WaitWithoutEnd, event.id);
        }
        if let Err(rule) = self.try_take(event) {
            self.mend(event, rule);
        }
    }

    fn try_take(&mut self, event: Event) -> Result<(), Rule> {
        self.state.step(&event, self.outlook)?;
        self.builder.push_ordered(event.thread, event.kind, event.order, event.site);
        Ok(())
    }

    #[cold]
    fn mend(&mut self, event: Event, rule: Rule) {
        let e = event.id;
        match rule {
            Rule::LockHeld { lock, .. } => match event.kind {
                EventKind::Acquire { .. } | EventKind::TryAcquire { .. } => {
                    self.drop_acquire(event, lock, false)
                }
                EventKind::AcquireShared { .. } | EventKind::TryAcquireShared { .. } => {
                    self.drop_acquire(event, lock, true)
                }
                _ => self.doom_wait(event.thread),
            },
            Rule::NotOwner { lock, .. } => match event.kind {
                EventKind::Wait { .. } => self.note(RepairKind::WaitWithoutLock, e),
                _ => self.drop_release(event, lock, false),
            },
            Rule::NotShared { lock } => self.drop_release(event, lock, true),
            Rule::InsideWait { .. } => self.doom_wait(event.thread),
            Rule::NotWaiting { .. } => self.note(RepairKind::EndWithoutWait, e),
            Rule::NotNotified { .. } => self.change_ending(event, RepairKind::WokenToTimedOut),
            Rule::Notified { .. } => self.change_ending(event, RepairKind::TimedOutToWoken),
            Rule::SemaphoreEmpty => self.note(RepairKind::EmptySemaphore, e),
            Rule::NoParties { .. } => self.note(RepairKind::NoParties, e),
            Rule::NotArrived | Rule::BarrierNotFull { .. } => self.note(RepairKind::Leave, e),
            Rule::ForkedTwice { .. }
            | Rule::ForkedLate
            | Rule::ForksItself
            | Rule::StartsBeforeFork { .. } => self.note(RepairKind::Fork, e),
            Rule::RunsOn { .. } | Rule::JoinsItself => self.note(RepairKind::Join, e),
            Rule::EndWithoutBegin => self.note(RepairKind::EndWithoutBegin, e),
            Rule::WrongValue { var, .. } => self.make_opaque(event, var),
            Rule::GuardFalse { .. } => self.note(RepairKind::Guard, e),
            Rule::WrongExpression { .. } => self.drop_expression(event),
        }
    }

    fn drop_acquire(&mut self, event: Event, lock: LockId, shared: bool) {
        *self.dropped_acquires.entry((event.thread, lock, shared)).or_default() += 1;
        self.note(RepairKind::HeldLock, event.id);
    }

    fn drop_release(&mut self, event: Event, lock: LockId, shared: bool) {
        match self.dropped_acquires.get_mut(&(event.thread, lock, shared)) {
            Some(open) if *open > 0 => *open -= 1,
            _ => self.note(RepairKind::UnheldLock, event.id),
        }
    }

    /// The wait that `t` is in cannot end: another pass has to do without it.
    fn doom_wait(&mut self, t: ThreadId) {
        if let Some(wait) = self.state.wait_of(t) {
            self.doomed.insert(wait);
            self.state.abandon_wait(t);
        }
    }

    fn change_ending(&mut self, event: Event, repair: RepairKind) {
        let kind = match event.kind {
            EventKind::Woken { cond, lock } => EventKind::TimedOut { cond, lock },
            EventKind::TimedOut { cond, lock } => EventKind::Woken { cond, lock },
            other => other,
        };
        match self.try_take(Event { kind, ..event }) {
            Ok(()) => self.note(repair, event.id),
            Err(_) => self.doom_wait(event.thread),
        }
    }

    fn make_opaque(&mut self, event: Event, var: VarId) {
        self.state.make_opaque(var);
        self.builder.set_opaque(var);
        self.note(RepairKind::Opaque, event.id);
        if let Err(rule) = self.try_take(event) {
            self.mend(event, rule);
        }
    }

    fn drop_expression(&mut self, event: Event) {
        self.note(RepairKind::Expression, event.id);
        let mut kind = event.kind;
        if let EventKind::Write { expr, .. } | EventKind::Update { expr, .. } = &mut kind {
            *expr = None;
        }
        if let Err(rule) = self.try_take(Event { kind, ..event }) {
            self.mend(Event { kind, ..event }, rule);
        }
    }
}
