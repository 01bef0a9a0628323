//! Folding: the rows of a long witness that are shown.
//!
//! Most of a long witness only leads up to the decisive part. Shown are the finding's own events
//! with the block, writer and challenger they name; the last accesses to their variables and uses
//! of their locks; the events that took the locks still held at the end; the last guards that their
//! threads passed; and the events on both sides of the last context switches. Each stretch between
//! them is one row with its length.

use std::collections::HashMap;

use foretell_trace::{EventId, EventKind, LockId, ThreadId, Trace, VarId};

use crate::json::{Finding, Source};

/// Witnesses of this many events are shown whole.
const WHOLE: usize = 24;
/// Number of the last events on the finding's objects that are shown.
const LAST_ON_OBJECTS: usize = 8;
/// Number of the last guards of each thread that are shown.
const LAST_GUARDS: usize = 2;
/// Number of the last context switches that are shown.
const LAST_SWITCHES: usize = 6;

/// One row of a shown witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    /// The event at this position of the schedule.
    Event(usize),
    /// This part of the schedule, folded.
    Folded(std::ops::Range<usize>),
}

/// The whole schedule, a row for each event.
pub(crate) fn unfolded(schedule: &[EventId]) -> Vec<Row> {
    (0..schedule.len()).map(Row::Event).collect()
}

/// The rows to show of a finding's witness.
pub(crate) fn folded(
    finding: &Finding,
    pattern: &[EventId],
    schedule: &[EventId],
    trace: &Trace,
) -> Vec<Row> {
    if schedule.len() <= WHOLE {
        return unfolded(schedule);
    }
    let mut shown = vec![false; schedule.len()];
    mark_named(finding, pattern, schedule, &mut shown);
    mark_objects(pattern, schedule, trace, &mut shown);
    mark_guards(pattern, schedule, trace, &mut shown);
    mark_switches(schedule, trace, &mut shown);
    for hold in held_at_end(schedule, trace) {
        shown[hold.position] |= pattern.iter().any(|&e| trace.thread(e) == hold.thread);
    }
    rows(&shown)
}

fn mark_named(finding: &Finding, pattern: &[EventId], schedule: &[EventId], shown: &mut [bool]) {
    let block = finding.block.into_iter().flat_map(|b| [Some(b.begin), b.end]).flatten();
    let sources = [finding.writer, finding.challenger].into_iter().flatten();
    let named: Vec<u32> =
        pattern.iter().map(|e| e.0).chain(block).chain(sources.filter_map(Source::event)).collect();
    for (position, e) in schedule.iter().enumerate() {
        shown[position] |= named.contains(&e.0);
    }
}

fn mark_objects(pattern: &[EventId], schedule: &[EventId], trace: &Trace, shown: &mut [bool]) {
    let variables: Vec<VarId> = pattern.iter().filter_map(|&e| trace.variable(e)).collect();
    let locks: Vec<LockId> = pattern.iter().filter_map(|&e| lock(trace, e)).collect();
    let on_objects = |e: EventId| {
        trace.variable(e).is_some_and(|v| variables.contains(&v))
            || lock(trace, e).is_some_and(|l| locks.contains(&l))
    };
    let positions = (0..schedule.len()).rev().filter(|&position| on_objects(schedule[position]));
    for position in positions.take(LAST_ON_OBJECTS) {
        shown[position] = true;
    }
}

fn mark_guards(pattern: &[EventId], schedule: &[EventId], trace: &Trace, shown: &mut [bool]) {
    let mut threads: Vec<ThreadId> = pattern.iter().map(|&e| trace.thread(e)).collect();
    threads.sort_unstable();
    threads.dedup();
    for thread in threads {
        let guard = |position: &usize| {
            let event = trace.event(schedule[*position]);
            event.thread == thread && matches!(event.kind, EventKind::Guard { .. })
        };
        for position in (0..schedule.len()).rev().filter(guard).take(LAST_GUARDS) {
            shown[position] = true;
        }
    }
}

fn mark_switches(schedule: &[EventId], trace: &Trace, shown: &mut [bool]) {
    let switch = |position: &usize| {
        trace.thread(schedule[position - 1]) != trace.thread(schedule[*position])
    };
    for position in (1..schedule.len()).rev().filter(switch).take(LAST_SWITCHES) {
        shown[position - 1] = true;
        shown[position] = true;
    }
}

/// Rows for what is shown, and for the gaps; a gap of one event is shown as itself.
fn rows(shown: &[bool]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut position = 0;
    while position < shown.len() {
        let gap = shown[position..].iter().take_while(|&&s| !s).count();
        match gap {
            0 | 1 => rows.push(Row::Event(position)),
            _ => rows.push(Row::Folded(position..position + gap)),
        }
        position += gap.max(1);
    }
    rows
}

/// A lock that a thread holds at the end of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeldLock {
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    /// The position in the schedule of the event that took it.
    pub(crate) position: usize,
}

/// The locks held at the end of a schedule, in the order they were taken.
pub(crate) fn held_at_end(schedule: &[EventId], trace: &Trace) -> Vec<HeldLock> {
    // Depth and the position where it rose from zero. A wait gives the lock up whatever the depth;
    // leaving the wait takes it again to the same depth.
    let mut held: HashMap<(ThreadId, LockId), (u64, usize)> = HashMap::new();
    let mut waiting: HashMap<(ThreadId, LockId), u64> = HashMap::new();
    for (position, &e) in schedule.iter().enumerate() {
        let thread = trace.thread(e);
        match trace.event(e).kind {
            EventKind::Acquire { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock } => {
                held.entry((thread, lock)).or_insert((0, position)).0 += 1;
            }
            EventKind::Release { lock } | EventKind::ReleaseShared { lock } => {
                if let Some(hold) = held.get_mut(&(thread, lock)) {
                    hold.0 -= 1;
                    if hold.0 == 0 {
                        held.remove(&(thread, lock));
                    }
                }
            }
            EventKind::Wait { lock, .. } => {
                if let Some((depth, _)) = held.remove(&(thread, lock)) {
                    waiting.insert((thread, lock), depth);
                }
            }
            EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } => {
                let depth = waiting.remove(&(thread, lock)).unwrap_or(1);
                held.insert((thread, lock), (depth, position));
            }
            _ => {}
        }
    }
    let mut holds: Vec<HeldLock> = held
        .into_iter()
        .map(|((thread, lock), (_, position))| HeldLock { thread, lock, position })
        .collect();
    holds.sort_by_key(|hold| hold.position);
    holds
}

/// The lock that an event takes or gives back.
pub(crate) fn lock(trace: &Trace, e: EventId) -> Option<LockId> {
    match trace.event(e).kind {
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::Wait { lock, .. }
        | EventKind::Woken { lock, .. }
        | EventKind::TimedOut { lock, .. } => Some(lock),
        _ => None,
    }
}
