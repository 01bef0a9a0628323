//! The operations of semantics section 1 and one decoded event.

use crate::{
    BarrierId, CondId, EventId, ExprId, LabelId, LockId, MemBlockId, MemoryOrder, RegId, SemId,
    SiteId, ThreadId, ValueId, VarId,
};

/// Operation of an event. The discriminants are part of the binary format: append, never renumber.
///
/// | operation | enabled when | effect |
/// |---|---|---|
/// | `Read`, `Write` | always | a write becomes the last write of its variable |
/// | `AtomicRead`, `AtomicWrite`, `AtomicUpdate` | always | the same, indivisible |
/// | `Acquire` | the lock is free or owned by the thread | owns it, depth + 1 |
/// | `Release` | the thread owns the lock | depth − 1, free at 0 |
/// | `AcquireShared` | no other thread owns the lock | holds the reader side once more |
/// | `ReleaseShared` | the thread holds the reader side | |
/// | `TryAcquire` | as `Acquire` | the same; a try blocks no thread, so it is in no deadlock |
/// | `TryAcquireShared` | as `AcquireShared` | likewise |
/// | `TryFailed` | always | its view is preserved iff another thread holds the lock in any mode |
/// | `TryFailedShared` | always | its view is preserved iff another thread owns the lock |
/// | `Wait` | the thread owns the lock | enters the wait set, releases the lock fully |
/// | `Woken` | not in the wait set, the lock is free | owns the lock with the former depth |
/// | `TimedOut` | in the wait set, the lock is free | leaves the wait set, owns the lock again |
/// | `Notify` | always | wakes one waiter, any, if there is one |
/// | `NotifyAll` | always | wakes every waiter |
/// | `Post` | always | count + 1 |
/// | `Down` | count > 0 | count − 1 |
/// | `Arrive` | always | one more of the barrier's current generation |
/// | `Leave` | all parties of the generation the thread arrived in have arrived | |
/// | `Fork` | the thread has not been forked | the new thread may start |
/// | `Join` | the thread was forked, every event of it has run, and none is broken | |
/// | `Fence` | always | orders memory (semantics section 3b), no more |
/// | `Alloc` | always | start of the life of a block |
/// | `Free` | always | end of it; writes an unknown value to every variable in the block |
/// | `Begin`, `End` | always | markers of an atomic block |
/// | `Guard` | symbolic model: the condition is true; else always | |
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Op {
    /// Plain read of a variable.
    Read = 0,
    /// Plain write of a variable.
    Write = 1,
    /// Atomic read of a variable.
    AtomicRead = 2,
    /// Atomic write of a variable.
    AtomicWrite = 3,
    /// Atomic read-modify-write of a variable, in one step.
    AtomicUpdate = 4,
    /// Take a mutex, or the writer side of a reader-writer lock; re-entrant.
    Acquire = 5,
    /// Give it back.
    Release = 6,
    /// Take the reader side of a reader-writer lock; its owner may (lock downgrading).
    AcquireShared = 7,
    /// Give it back.
    ReleaseShared = 8,
    /// A try-lock that failed.
    TryFailed = 9,
    /// Enter the wait set of a condition and release its lock fully.
    Wait = 10,
    /// Leave a wait after a notification.
    Woken = 11,
    /// Leave a wait after its time limit.
    TimedOut = 12,
    /// Wake one waiter.
    Notify = 13,
    /// Wake every waiter.
    NotifyAll = 14,
    /// Increment a semaphore.
    Post = 15,
    /// Decrement a semaphore.
    Down = 16,
    /// Arrive at a barrier.
    Arrive = 17,
    /// Go on after a barrier.
    Leave = 18,
    /// Create a thread.
    Fork = 19,
    /// Wait for the end of a thread.
    Join = 20,
    /// Start of an atomic block.
    Begin = 21,
    /// End of the innermost open atomic block.
    End = 22,
    /// A condition over the thread's registers that held here.
    Guard = 23,
    /// A try for the reader side of a lock that failed.
    TryFailedShared = 24,
    /// A try for a lock that succeeded.
    TryAcquire = 25,
    /// A try for the reader side of a lock that succeeded.
    TryAcquireShared = 26,
    /// A memory fence.
    Fence = 27,
    /// Start of the life of a memory block.
    Alloc = 28,
    /// End of the life of a memory block: a plain write of every variable in it.
    Free = 29,
}

/// The kind of object an operation works on. Each kind has names of its own: a lock `x` and a
/// variable `x` are two things.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectKind {
    /// A shared variable.
    Variable,
    /// A mutex or reader-writer lock.
    Lock,
    /// A condition variable (its lock is the event's second object).
    Condition,
    /// A counting semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
    /// Another thread.
    Thread,
    /// The label of an atomic block, if it has one.
    Label,
    /// A symbolic expression.
    Expression,
    /// A memory block.
    MemoryBlock,
    /// No object.
    Nothing,
}

impl Op {
    /// Every operation, in the order of the discriminants.
    pub const ALL: [Op; 30] = [
        Op::Read,
        Op::Write,
        Op::AtomicRead,
        Op::AtomicWrite,
        Op::AtomicUpdate,
        Op::Acquire,
        Op::Release,
        Op::AcquireShared,
        Op::ReleaseShared,
        Op::TryFailed,
        Op::Wait,
        Op::Woken,
        Op::TimedOut,
        Op::Notify,
        Op::NotifyAll,
        Op::Post,
        Op::Down,
        Op::Arrive,
        Op::Leave,
        Op::Fork,
        Op::Join,
        Op::Begin,
        Op::End,
        Op::Guard,
        Op::TryFailedShared,
        Op::TryAcquire,
        Op::TryAcquireShared,
        Op::Fence,
        Op::Alloc,
        Op::Free,
    ];

    /// The operation with this discriminant, if there is one.
    #[inline]
    pub fn from_u8(byte: u8) -> Option<Op> {
        Op::ALL.get(usize::from(byte)).copied()
    }

    /// The word for the operation in trace text.
    pub fn keyword(self) -> &'static str {
        match self {
            Op::Read => "r",
            Op::Write => "w",
            Op::AtomicRead => "ar",
            Op::AtomicWrite => "aw",
            Op::AtomicUpdate => "au",
            Op::Acquire => "acq",
            Op::Release => "rel",
            Op::AcquireShared => "racq",
            Op::ReleaseShared => "rrel",
            Op::TryFailed => "tryfail",
            Op::Wait => "wait",
            Op::Woken => "woken",
            Op::TimedOut => "timedout",
            Op::Notify => "notify",
            Op::NotifyAll => "notifyall",
            Op::Post => "post",
            Op::Down => "down",
            Op::Arrive => "arrive",
            Op::Leave => "leave",
            Op::Fork => "fork",
            Op::Join => "join",
            Op::Begin => "begin",
            Op::End => "end",
            Op::Guard => "guard",
            Op::TryFailedShared => "rtryfail",
            Op::TryAcquire => "tryacq",
            Op::TryAcquireShared => "rtryacq",
            Op::Fence => "fence",
            Op::Alloc => "alloc",
            Op::Free => "free",
        }
    }

    /// The kind of object the operation works on.
    pub fn object_kind(self) -> ObjectKind {
        match self {
            Op::Read | Op::Write | Op::AtomicRead | Op::AtomicWrite | Op::AtomicUpdate => {
                ObjectKind::Variable
            }
            Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::TryFailed
            | Op::TryFailedShared
            | Op::TryAcquire
            | Op::TryAcquireShared => ObjectKind::Lock,
            Op::Wait | Op::Woken | Op::TimedOut | Op::Notify | Op::NotifyAll => {
                ObjectKind::Condition
            }
            Op::Post | Op::Down => ObjectKind::Semaphore,
            Op::Arrive | Op::Leave => ObjectKind::Barrier,
            Op::Fork | Op::Join => ObjectKind::Thread,
            Op::Begin | Op::End => ObjectKind::Label,
            Op::Guard => ObjectKind::Expression,
            Op::Alloc | Op::Free => ObjectKind::MemoryBlock,
            Op::Fence => ObjectKind::Nothing,
        }
    }

    /// Whether this is an access to one variable. `Free` is none: it writes all those of a block
    /// (see [`Trace::accessed_variables`](crate::Trace::accessed_variables)).
    #[inline]
    pub fn is_access(self) -> bool {
        self as u8 <= Op::AtomicUpdate as u8
    }

    /// Whether this access observes its variable (an update does).
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Op::Read | Op::AtomicRead | Op::AtomicUpdate)
    }

    /// Whether this access changes its variable (an update does), or its variables (`Free` does).
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Write | Op::AtomicWrite | Op::AtomicUpdate | Op::Free)
    }

    /// Whether this is an atomic access.
    #[inline]
    pub fn is_atomic(self) -> bool {
        matches!(self, Op::AtomicRead | Op::AtomicWrite | Op::AtomicUpdate)
    }

    /// Whether this operation has a memory order.
    #[inline]
    pub fn has_order(self) -> bool {
        self.is_atomic() || self == Op::Fence
    }

    /// Whether this is a failed try for a lock.
    #[inline]
    pub fn is_failed_try(self) -> bool {
        matches!(self, Op::TryFailed | Op::TryFailedShared)
    }

    /// Whether this operation observes state, so that its view may not be preserved.
    #[inline]
    pub fn observes(self) -> bool {
        self.reads() || self.is_failed_try()
    }

    /// Whether this operation names a condition and its lock.
    #[inline]
    pub(crate) fn has_condition_lock(self) -> bool {
        matches!(self, Op::Wait | Op::Woken | Op::TimedOut)
    }
}

/// One event, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its place in the trace.
    pub id: EventId,
    /// The thread that ran it.
    pub thread: ThreadId,
    /// Operation and operands.
    pub kind: EventKind,
    /// Where in the source, if known.
    pub site: Option<SiteId>,
    /// Memory order of an atomic access or a fence; the default for every other operation.
    pub order: MemoryOrder,
}

/// Operation of an event with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The fields are what the operation's documentation on `Op` names.
pub enum EventKind {
    /// Plain or atomic read; the value read may go to a register.
    Read {
        var: VarId,
        atomic: bool,
        value: Option<ValueId>,
        register: Option<RegId>,
    },
    /// Plain or atomic write; the value written may be given as an expression.
    Write {
        var: VarId,
        atomic: bool,
        value: Option<ValueId>,
        expr: Option<ExprId>,
    },
    /// Atomic read-modify-write.
    Update {
        var: VarId,
        old: Option<ValueId>,
        new: Option<ValueId>,
        register: Option<RegId>,
        expr: Option<ExprId>,
    },
    Acquire {
        lock: LockId,
    },
    Release {
        lock: LockId,
    },
    AcquireShared {
        lock: LockId,
    },
    ReleaseShared {
        lock: LockId,
    },
    TryFailed {
        lock: LockId,
    },
    TryFailedShared {
        lock: LockId,
    },
    TryAcquire {
        lock: LockId,
    },
    TryAcquireShared {
        lock: LockId,
    },
    Wait {
        cond: CondId,
        lock: LockId,
    },
    Woken {
        cond: CondId,
        lock: LockId,
    },
    TimedOut {
        cond: CondId,
        lock: LockId,
    },
    Notify {
        cond: CondId,
    },
    NotifyAll {
        cond: CondId,
    },
    Post {
        sem: SemId,
    },
    Down {
        sem: SemId,
    },
    Arrive {
        barrier: BarrierId,
    },
    Leave {
        barrier: BarrierId,
    },
    Fork {
        thread: ThreadId,
    },
    Join {
        thread: ThreadId,
    },
    Begin {
        label: Option<LabelId>,
    },
    End {
        label: Option<LabelId>,
    },
    Guard {
        expr: ExprId,
    },
    /// Memory fence; the event has its order.
    Fence,
    Alloc {
        block: MemBlockId,
    },
    Free {
        block: MemBlockId,
    },
}

impl EventKind {
    /// The lock of a failed try, and whether readers make it fail too.
    #[inline]
    pub fn failed_try(self) -> Option<(LockId, bool)> {
        match self {
            EventKind::TryFailed { lock } => Some((lock, true)),
            EventKind::TryFailedShared { lock } => Some((lock, false)),
            _ => None,
        }
    }

    /// The operation.
    #[inline]
    pub fn op(self) -> Op {
        match self {
            EventKind::Read { atomic: false, .. } => Op::Read,
            EventKind::Read { atomic: true, .. } => Op::AtomicRead,
            EventKind::Write { atomic: false, .. } => Op::Write,
            EventKind::Write { atomic: true, .. } => Op::AtomicWrite,
            EventKind::Update { .. } => Op::AtomicUpdate,
            EventKind::Acquire { .. } => Op::Acquire,
            EventKind::Release { .. } => Op::Release,
            EventKind::AcquireShared { .. } => Op::AcquireShared,
            EventKind::ReleaseShared { .. } => Op::ReleaseShared,
            EventKind::TryFailed { .. } => Op::TryFailed,
            EventKind::TryFailedShared { .. } => Op::TryFailedShared,
            EventKind::TryAcquire { .. } => Op::TryAcquire,
            EventKind::TryAcquireShared { .. } => Op::TryAcquireShared,
            EventKind::Wait { .. } => Op::Wait,
            EventKind::Woken { .. } => Op::Woken,
            EventKind::TimedOut { .. } => Op::TimedOut,
            EventKind::Notify { .. } => Op::Notify,
            EventKind::NotifyAll { .. } => Op::NotifyAll,
            EventKind::Post { .. } => Op::Post,
            EventKind::Down { .. } => Op::Down,
            EventKind::Arrive { .. } => Op::Arrive,
            EventKind::Leave { .. } => Op::Leave,
            EventKind::Fork { .. } => Op::Fork,
            EventKind::Join { .. } => Op::Join,
            EventKind::Begin { .. } => Op::Begin,
            EventKind::End { .. } => Op::End,
            EventKind::Guard { .. } => Op::Guard,
            EventKind::Fence => Op::Fence,
            EventKind::Alloc { .. } => Op::Alloc,
            EventKind::Free { .. } => Op::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discriminants_are_places_in_all() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(op as usize, i);
            assert_eq!(Op::from_u8(i as u8), Some(op));
        }
        assert_eq!(Op::from_u8(30), None);
    }
}
