//! Wait sets, and which waiter a notify wakes.
//!
//! A schedule does not say which waiter a notify woke, and it is feasible if some choice makes
//! every event enabled (semantics section 6). The whole schedule is known, so each waiter's future
//! is too: it is *wanted* by the position of its `woken`; or it stays where it is, *free*, to the
//! end of the schedule; or it *times out*, or *stays* for ever (a hang), and must not be woken at
//! all. Waking the wanted waiter
//! whose `woken` comes first, else a free one, else one that must not be woken, is always the best
//! choice:
//!
//! Take choices that make every event enabled, and a notify that wakes w where the rule says v.
//! Both are in the wait set then, and v ranks no later than w.
//! - w cannot be one that must not be woken: its `timed-out` would not be enabled, or it would not
//!   stay. So v is wanted or free.
//! - If v is never woken by a later notify, then v is free (a wanted one must be), and so is w (it
//!   ranks no earlier, and may be woken). Wake v instead and leave w: w has no event to come,
//!   and every later notify finds its own choice still there.
//! - If v is woken later, by p: wake v now and let p wake w. Between the two, the set has w in the
//!   place of v, so it is empty for neither or both, and other choices are untouched; p comes
//!   before v's `woken`, which is no later than w's `woken`, so w is out of the set in time. If p
//!   is a notify-all, both leave with it anyway.
//!
//! Either way every event stays enabled and one more notify follows the rule; repeat. So if the
//! rule's choice fails, every choice does. Each step costs O(log waiters).

use std::collections::BTreeSet;

use foretell_trace::ThreadId;

/// Fate of a waiter, in the order in which a notify prefers them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Future {
    /// Its `woken` stands at this position of the schedule.
    Wanted(usize),
    /// It has no more events in the schedule.
    Free,
    /// It times out.
    TimesOut,
    /// It stays in the wait set when the schedule is over.
    Stays,
}

/// The wait set of one condition.
#[derive(Clone, Default, Debug)]
pub(crate) struct WaitSet(BTreeSet<(Future, ThreadId)>);

impl WaitSet {
    /// Adds a waiter.
    pub(crate) fn enter(&mut self, t: ThreadId, future: Future) {
        self.0.insert((future, t));
    }

    /// Whether this waiter is in the set.
    pub(crate) fn holds(&self, t: ThreadId, future: Future) -> bool {
        self.0.contains(&(future, t))
    }

    /// Takes a waiter that timed out from the set; false if it is not there.
    pub(crate) fn leave(&mut self, t: ThreadId, future: Future) -> bool {
        self.0.remove(&(future, t))
    }

    /// Wakes the waiter that the rule above chooses, if there is any.
    pub(crate) fn notify(&mut self) {
        self.0.pop_first();
    }

    /// Wakes every waiter.
    pub(crate) fn notify_all(&mut self) {
        self.0.clear();
    }
}
