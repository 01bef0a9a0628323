//! Hangs: no event can come next, no thread is cut, and every thread waits or has ended.

use std::collections::BTreeSet;

use foretell_trace::{EventId, Op, ThreadId};

use crate::rules::{Rules, State};

/// Adds the next events of a state in which every thread waits or has ended, if one of them waits
/// for something other than a lock or the end of a thread.
///
/// An event that only the recorded order of hidden state, or a guard, keeps from running does not
/// wait: the program goes on there. A try for a lock and a time-out do not wait either.
pub(crate) fn hangs(
    rules: &Rules,
    state: &State,
    next: &[Option<EventId>],
    found: &mut BTreeSet<Vec<EventId>>,
) {
    if !rules.trace.knows_ended() {
        return;
    }
    let waits = |op| {
        let for_a_thread = matches!(op, Op::Acquire | Op::AcquireShared | Op::Join);
        for_a_thread || matches!(op, Op::Woken | Op::Down | Op::Leave)
    };
    for (t, e) in next.iter().enumerate() {
        let t = ThreadId::from_index(t);
        let is_stuck = match *e {
            Some(e) => waits(rules.op(e)) && !rules.enabled(state, e),
            None => rules.trace.has_ended(t),
        };
        if rules.is_cut(state, t) || !is_stuck {
            return;
        }
    }
    let mut blocked: Vec<EventId> = next.iter().copied().flatten().collect();
    if blocked.iter().any(|&e| matches!(rules.op(e), Op::Woken | Op::Down | Op::Leave)) {
        blocked.sort_unstable();
        found.insert(blocked);
    }
}
