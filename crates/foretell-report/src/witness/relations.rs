//! Dependencies between the steps of a schedule: the write that a read sees, the release before an
//! acquire.

use std::collections::HashMap;

use foretell_trace::{EventId, EventKind, LockId, Trace, VarId};

use super::fold;
use crate::json::Finding;

/// For each position of a schedule the position that it depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Relations {
    /// The write that a read sees; none for the initial value.
    pub(crate) reads_from: Vec<Option<usize>>,
    /// The release by another thread that an acquire comes after.
    pub(crate) hand_over: Vec<Option<usize>>,
}

impl Relations {
    pub(crate) fn new(trace: &Trace, schedule: &[EventId]) -> Self {
        let mut writer: HashMap<VarId, usize> = HashMap::new();
        let mut released: HashMap<LockId, usize> = HashMap::new();
        let mut relations = Relations { reads_from: Vec::new(), hand_over: Vec::new() };
        for (position, &e) in schedule.iter().enumerate() {
            let op = trace.op(e);
            let var = trace.variable(e);
            relations
                .reads_from
                .push(var.filter(|_| op.reads()).and_then(|v| writer.get(&v).copied()));
            if let Some(var) = var.filter(|_| op.writes()) {
                writer.insert(var, position);
            }
            let mut hand = None;
            if let Some(lock) = fold::lock(trace, e) {
                match trace.event(e).kind {
                    EventKind::Release { .. }
                    | EventKind::ReleaseShared { .. }
                    | EventKind::Wait { .. } => {
                        released.insert(lock, position);
                    }
                    _ => hand = released.get(&lock).copied(),
                }
            }
            relations
                .hand_over
                .push(hand.filter(|&h| trace.thread(schedule[h]) != trace.thread(e)));
        }
        relations
    }
}

/// The schedule of a finding, with the events that a deadlock or hang is stuck at after it; and how
/// many of the steps are the schedule itself. Events that the trace does not have are left out.
pub(crate) fn steps(finding: &Finding, trace: &Trace) -> (Vec<EventId>, usize) {
    let known = |events: &[u32]| -> Vec<EventId> {
        events.iter().filter(|&&e| (e as usize) < trace.len()).map(|&e| EventId(e)).collect()
    };
    let mut steps = known(&finding.witness.schedule);
    let count = steps.len();
    if finding.kind.ends_blocked() {
        let stuck: Vec<EventId> =
            known(&finding.events).into_iter().filter(|e| !steps.contains(e)).collect();
        steps.extend(stuck);
    }
    (steps, count)
}

#[cfg(test)]
mod tests {
    use foretell_trace::{TraceBuilder, conflict};

    use super::*;

    #[test]
    fn reads_see_the_last_write_and_locks_change_hands() {
        let mut b = TraceBuilder::new();
        let (t1, t2, var, lock) = (b.thread("T1"), b.thread("T2"), b.variable("x"), b.lock("l"));
        let write = EventKind::Write { var, atomic: false, value: None, expr: None };
        let read = EventKind::Read { var, atomic: false, value: None, register: None };
        for (thread, kind) in [
            (t2, read),
            (t1, EventKind::Acquire { lock }),
            (t1, write),
            (t1, EventKind::Release { lock }),
            (t2, EventKind::Acquire { lock }),
            (t2, read),
            (t2, EventKind::Release { lock }),
            (t2, EventKind::Acquire { lock }),
        ] {
            b.push(thread, kind, None);
        }
        let trace = b.build();
        let schedule: Vec<EventId> = trace.ids().collect();
        let relations = Relations::new(&trace, &schedule);
        let mut from = [None; 8];
        from[5] = Some(2);
        assert_eq!(relations.reads_from, from);
        let mut hand = [None; 8];
        hand[4] = Some(3);
        assert_eq!(relations.hand_over, hand);
        assert!(conflict(&trace, EventId(2), EventId(5)));
        assert!(!conflict(&trace, EventId(0), EventId(5)));
    }
}
