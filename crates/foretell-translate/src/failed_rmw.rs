//! Read-modify-writes that failed: compare-and-exchanges that did not exchange, and other
//! operations that would have changed something.
//!
//! A failed read-modify-write is a read. If that read is broken, the operation may in truth have
//! succeeded and written; the trace has no event for that write. Its thread goes no further, but
//! other threads would see the write. So each variable with a failed update has a lock of its own,
//! held around every failed update together with the guards on its value. Every other event that
//! reads the variable, plain or atomic, is followed by an empty section of that lock:
//!
//! - A thread that its failed update stops, by a broken read or a guard that is false, holds the
//!   lock for good. A thread that reads the variable after that may see another value than in the
//!   trace: it runs, and goes no further, as after a broken read. So the failed update can be in
//!   the middle of a finding, and an update of the variable that comes next can be its end.
//! - A thread that only writes depends on no value of the variable, and goes on. A thread that
//!   reads this write is stopped all the same: a missed finding, not a false one.
//! - An update that fails again changes nothing: its section can run as a whole, and other threads
//!   can pass before or after it. Every interleaving in which no failed update is broken remains.
//!
//! The lock is order-only: it stands for no synchronisation of the program, so the races that
//! memory orders leave open beside a failed update are found.
//!
//! A thread waits for no other lock while it holds one of these, so they are in no deadlock. No
//! event in such a section races with an event in another, so they hide no race. Blocks made from
//! lock scopes come from the locks of the program, which these are not. Variables without failed
//! updates have no such lock.

use foretell_trace::{EventKind, LockId, TraceBuilder};

/// Returns the lock around failed updates of a variable.
pub(crate) fn lock(builder: &mut TraceBuilder, variable: &str) -> LockId {
    let lock = builder.lock(&format!("attempts at {variable}"));
    builder.set_order_only(lock);
    lock
}

/// Returns the acquire and the release of a section of such a lock.
pub(crate) fn section(lock: LockId) -> [EventKind; 2] {
    [EventKind::Acquire { lock }, EventKind::Release { lock }]
}
