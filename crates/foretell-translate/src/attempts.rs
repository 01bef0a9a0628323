//! What was attempted in vain: compare-and-exchanges that failed, and what else would have changed something.
//!
//! Such an *attempt* is a read. If it is broken it may in truth have succeeded, and written; the trace has no event for that.
//! Its thread goes no further, but the others would see what was written. So each variable that somebody attempted to
//! change in vain gets a lock, held around every attempt together with the guards on what it saw. Every other event that
//! reads the variable, plain or atomic, is followed by an empty section of that lock:
//! - A thread that is stopped by its attempt, by a broken read or a guard that is false, holds the lock for good. Who reads the
//!   variable after that may see something else than in the trace: it runs, and goes no further, as after a broken
//!   read. So the attempt can be in the middle of a finding, and an update of the variable that comes next in its end.
//! - Who only writes depends on nothing that it sees there, and goes on. (Who reads what it wrote is right, and stopped all the
//!   same: missed, not false.)
//! - An attempt that fails again changes nothing: its section can run in one go, and others can pass before or after it. Every
//!   interleaving in which no attempt is broken is still there.
//!
//! A thread waits for no other lock while it holds one of these, so they are in no deadlock. Nothing in a section races with
//! anything in another, so they hide no race. Blocks made of lock scopes come from what the program locks, which these
//! are not. What nobody attempts in vain does not pay for any of this.

use foretell_trace::{EventKind, LockId, TraceBuilder};

/// What an access does to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Read,
    /// A read that would have been an update if it had seen something else.
    Attempt,
    Write,
    Update,
}

impl Action {
    pub(crate) fn reads(self) -> bool {
        self != Action::Write
    }

    pub(crate) fn writes(self) -> bool {
        matches!(self, Action::Write | Action::Update)
    }

    /// Whether a section of the attempts' lock comes after it.
    pub(crate) fn passes(self) -> bool {
        matches!(self, Action::Read | Action::Update)
    }
}

/// The lock of the attempts at a variable.
pub(crate) fn lock(builder: &mut TraceBuilder, variable: &str) -> LockId {
    builder.lock(&format!("attempts at {variable}"))
}

/// The begin and the end of a section of such a lock.
pub(crate) fn section(lock: LockId) -> [EventKind; 2] {
    [EventKind::Acquire { lock }, EventKind::Release { lock }]
}
