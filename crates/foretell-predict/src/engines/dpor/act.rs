//! The steps of a program that the search runs, and its threads.

use foretell_trace::EventId;

use super::parts::Part;

/// The effect of a step. Objects are numbered within the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Nothing that another step could observe.
    Local,
    Access(Access),
    Enter {
        lock: usize,
        shared: bool,
    },
    Exit {
        lock: usize,
        shared: bool,
    },
    /// A writer gives its side back and keeps the reader side.
    Downgrade {
        lock: usize,
    },
    /// `readers`: a reader makes it fail too.
    TryFailed {
        lock: usize,
        readers: bool,
    },
    /// `shared`: the thread keeps the reader side.
    Wait {
        cond: usize,
        lock: usize,
        shared: bool,
    },
    Woken {
        cond: usize,
        lock: usize,
    },
    TimedOut {
        cond: usize,
        lock: usize,
    },
    Notify {
        cond: usize,
        all: bool,
    },
    Post {
        sem: usize,
    },
    Down {
        sem: usize,
    },
    Arrive {
        barrier: usize,
        slot: usize,
    },
    Leave {
        barrier: usize,
        slot: usize,
    },
    /// Every one of `count` events of the thread has run, and none is broken.
    Join {
        thread: usize,
        count: u32,
    },
    /// The first `count` events of the thread have run.
    Forked {
        thread: usize,
        count: u32,
    },
    /// Waits for something that is not in the cone.
    Never,
}

/// An access to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) var: usize,
    /// Whether it matters what it sees.
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) opaque: bool,
    /// For a use of hidden state: the thread and position of the write before it in the trace.
    pub(super) after: Option<(usize, u32)>,
    /// Its part in the goal, if it has one.
    pub(super) part: Option<Part>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) struct ProgramStep {
    pub(super) event: EventId,
    pub(super) act: Act,
    /// Events (by thread and position) that must have run before this one: `order` of the query.
    pub(super) after: Vec<(usize, u32)>,
    /// Events that must run after this one: `after`, from the other side.
    pub(super) before: Vec<(usize, u32)>,
}

/// A thread of the cone.
#[derive(Clone, Debug)]
pub(super) struct ProgramThread {
    pub(super) steps: Vec<ProgramStep>,
    /// Thread and position of its fork, if it has one.
    pub(super) fork: Option<(usize, u32)>,
    /// Number of steps that have run in every interleaving that is asked for.
    pub(super) least: u32,
    /// Number of first steps that are not broken in any interleaving that is asked for.
    pub(super) intact: u32,
    /// The position it must be at in the end: the query's `next`.
    pub(super) stop: Option<u32>,
}
