//! The wait of a thread at the end of a run.

use foretell_trace::{CondId, LockId, SemId, ThreadId};

/// An operation that a thread has begun and that did not return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadWait {
    /// Taking a lock.
    Lock(LockId),
    /// Taking the reader side of a lock.
    ReadLock(LockId),
    /// Waiting for a notification.
    Condition(CondId),
    /// Waiting for a notification, with a time limit.
    LimitedCondition,
    /// Taking a token of a semaphore.
    Semaphore(SemId),
    /// Waiting for the end of a thread.
    Join(ThreadId),
    /// Anything else.
    Other,
}
