//! The orders of events in which a finding is replayed.
//!
//! The first witness is that of the findings file: it has only the events that the finding needs,
//! in an order with few context switches. A program that talks to a peer outside may leave that
//! schedule: a client that waits for an answer before it sends the next request is not in the
//! trace. A second witness of the finding is tried then, the one nearest to the recorded run:
//! independent events are in the recorded order, and the threads that the finding is not about do
//! what they did in the recorded run, as long as the checker accepts that.

use std::collections::BTreeSet;

use foretell_predict::witness::{as_recorded, filled};
use foretell_replay::{Goal, Target, orders};
use foretell_report::json::{Finding, Source, accepts};
use foretell_rt_format::WaitingFor;
use foretell_trace::{EventId, EventKind, FindingKind, Model, Op, ThreadId, Trace, conflict};

/// Most threads that are tried one by one.
const MOST_THREADS: usize = 16;

/// Witnesses of a finding.
pub(crate) struct Witnesses<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) model: Model,
    pub(crate) finding: &'a Finding,
}

impl Witnesses<'_> {
    /// Whether the accesses of the finding are next at the same time.
    fn is_race(&self) -> bool {
        self.finding.kind == FindingKind::Race && !self.finding.is_unordered()
    }

    /// Returns the state of the program that confirms the finding.
    pub(crate) fn target(&self) -> Target {
        let mut events = self.finding.events.clone();
        let sources = [self.finding.writer, self.finding.challenger].into_iter().flatten();
        for event in sources.filter_map(Source::event) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        let goal = match (self.finding.kind, &events[..]) {
            (FindingKind::Race, &[a, b]) if self.is_race() => Goal::Together([a, b]),
            (FindingKind::Deadlock, _) => Goal::Blocked(events.clone()),
            (FindingKind::Hang, _) => Goal::Stuck(events.clone()),
            _ => Goal::Along(events.clone()),
        };
        let known = |e: u32| ((e as usize) < self.trace.len()).then_some(EventId(e));
        let conflicts = |a: u32, b: u32| match (known(a), known(b)) {
            (Some(a), Some(b)) => conflict(self.trace, a, b),
            _ => false,
        };
        let pairs = events.iter().enumerate();
        let pairs = pairs.flat_map(|(i, &a)| events[i + 1..].iter().map(move |&b| (a, b)));
        let ended_and_used = |a: u32, b: u32| match (known(a), known(b)) {
            (Some(a), Some(b)) => {
                self.finding.kind == FindingKind::Lifetime && self.uses_one_object(a, b)
            }
            _ => false,
        };
        let same_memory = pairs.filter(|&(a, b)| conflicts(a, b) || ended_and_used(a, b)).collect();
        let waits = events.iter().filter_map(|&e| self.wait(known(e)?));
        let is_hang = self.finding.kind == FindingKind::Hang;
        let stuck = if is_hang { waits.collect() } else { Vec::new() };
        let frees = |e: u32| known(e).is_some_and(|e| self.frees_memory(e));
        let uses_freed = match (self.finding.kind, &self.finding.events[..]) {
            (FindingKind::Lifetime, [end, used @ ..]) if frees(*end) => used.to_vec(),
            _ => Vec::new(),
        };
        Target { goal, same_memory, uses_freed, stuck }
    }

    /// Whether an event gives memory back, rather than ending a lock or a condition in memory that
    /// stays allocated.
    fn frees_memory(&self, e: EventId) -> bool {
        let trace = self.trace;
        let Some(block) = trace.freed_block(e) else { return false };
        let is_allocation = |a: EventId| matches!(trace.event(a).kind, EventKind::Alloc { block: made } if made == block);
        !trace.variables_in(block).is_empty() || trace.ids().any(is_allocation)
    }

    /// Whether the end of a block and an event that uses the block are about one address each. A
    /// wait is about two: its condition and its lock.
    fn uses_one_object(&self, end: EventId, used: EventId) -> bool {
        let waits = matches!(self.trace.op(used), Op::Wait | Op::Woken | Op::TimedOut);
        self.trace.op(end) == Op::Free && !waits
    }

    /// Returns the thread of an event by its number, and what it may wait for before the event.
    fn wait(&self, event: EventId) -> Option<(u32, Vec<WaitingFor>)> {
        let name = self.trace.thread_name(self.trace.thread(event));
        let thread = name.strip_prefix('T')?.parse().ok()?;
        let what = match self.trace.op(event) {
            Op::Acquire => vec![WaitingFor::Lock],
            Op::AcquireShared => vec![WaitingFor::ReadLock, WaitingFor::Lock],
            // One that was notified waits for the lock.
            Op::Woken | Op::TimedOut => vec![WaitingFor::Condition, WaitingFor::Lock],
            Op::Down => vec![WaitingFor::Semaphore],
            Op::Leave => vec![WaitingFor::Barrier],
            Op::Join => vec![WaitingFor::Join],
            _ => Vec::new(),
        };
        Some((thread, what))
    }

    /// Returns the orders of the witness in the findings file.
    pub(crate) fn found(&self) -> Vec<Vec<u32>> {
        orders(&self.finding.witness.schedule, self.is_race())
    }

    /// Returns the orders of the witness that is nearest to the recorded run.
    pub(crate) fn nearest(&self) -> Vec<Vec<u32>> {
        let known = |e: u32| ((e as usize) < self.trace.len()).then_some(EventId(e));
        let schedule: Option<Vec<EventId>> =
            self.finding.witness.schedule.iter().map(|&e| known(e)).collect();
        let own: Option<BTreeSet<ThreadId>> =
            self.finding.events.iter().map(|&e| Some(self.trace.thread(known(e)?))).collect();
        let (Some(schedule), Some(own)) = (schedule, own) else { return Vec::new() };
        let nearest = self.nearest_to(&schedule, &own);
        orders(&nearest.iter().map(|e| e.0).collect::<Vec<_>>(), self.is_race())
    }

    fn nearest_to(&self, schedule: &[EventId], own: &BTreeSet<ThreadId>) -> Vec<EventId> {
        let last = if self.is_race() { 2 } else { 1 };
        let ordered = as_recorded(self.trace, schedule, last);
        if !accepts(self.finding, self.trace, self.model, &ordered) {
            return schedule.to_vec();
        }
        let accepted = |threads: &BTreeSet<ThreadId>| {
            let filled = filled(self.trace, &ordered, last, threads);
            accepts(self.finding, self.trace, self.model, &filled).then_some(filled)
        };
        let threads = (0..self.trace.thread_count()).map(ThreadId::from_index);
        let others: BTreeSet<ThreadId> = threads.filter(|t| !own.contains(t)).collect();
        if let Some(nearest) = accepted(&others) {
            return nearest;
        }
        let mut nearest = ordered.clone();
        let mut with = BTreeSet::new();
        for &thread in others.iter().take(MOST_THREADS) {
            with.insert(thread);
            match accepted(&with) {
                Some(more) => nearest = more,
                None => {
                    with.remove(&thread);
                }
            }
        }
        nearest
    }
}
