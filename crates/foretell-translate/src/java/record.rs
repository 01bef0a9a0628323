//! Records of the log of the Java agent.

use foretell_rt_format::{Kind, SyncKind};
use foretell_trace::MemoryOrder;

use super::plain::ObjectUse;

/// Effect of an atomic access, with the values read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    Read(i64),
    Write(i64),
    Update(i64, i64),
    /// Would have been an update, had it read another value.
    FailedUpdate(i64),
}

/// Mode of an access to a variable that has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Plain,
    /// Atomic, with this memory order: opaque is relaxed, volatile is sequentially consistent.
    Atomic(MemoryOrder),
}

impl Mode {
    pub(super) const VOLATILE: Mode = Mode::Atomic(MemoryOrder::SeqCst);

    /// Returns the memory order; that of a plain access does not count.
    pub(super) fn order(self) -> MemoryOrder {
        match self {
            Mode::Plain => MemoryOrder::SeqCst,
            Mode::Atomic(order) => order,
        }
    }
}

/// A record.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Record<'a> {
    /// Object `id` is of class number `class`.
    Object {
        id: u32,
        class: u32,
    },
    ClassName {
        class: u32,
        name: &'a str,
    },
    /// Object `id` was created at `site`, by a class initialiser if `for_all`.
    Made {
        id: u32,
        site: u32,
        for_all: bool,
    },
    /// Node of the call tree that the thread is in.
    Node(u32),
    Frame {
        node: u32,
        parent: u32,
        call: u32,
        method: u32,
    },
    /// Access to a field; `object` is 0 for a static one.
    Access {
        write: bool,
        site: u32,
        object: u32,
        value: i64,
    },
    Element {
        write: bool,
        site: u32,
        array: u32,
        index: u32,
        value: i64,
    },
    /// Access to an atomic object's value; `index` is 0 for the value, or 1 plus the index of an
    /// element.
    Atomic {
        site: u32,
        object: u32,
        index: u32,
        mode: Mode,
        effect: Effect,
    },
    /// Accesses to consecutive elements of an array, in the step before the record.
    Range {
        write: bool,
        site: u32,
        array: u32,
        first: u32,
        values: Vec<i64>,
    },
    /// Access to a field through a handle in plain mode.
    HandledPlain {
        write: bool,
        site: u32,
        object: u32,
        handle: u32,
        value: i64,
    },
    /// Atomic access to a field through a handle or an updater.
    Handled {
        site: u32,
        object: u32,
        handle: u32,
        mode: Mode,
        effect: Effect,
    },
    Handle {
        number: u32,
        class: &'a str,
        field: &'a str,
    },
    /// Operation on a collection, or on a key of a map (0: none): a down and a post of semaphores
    /// (0: none), and its effect on the version.
    Operation {
        site: u32,
        down: u32,
        object: u32,
        key: u32,
        effect: Effect,
        post: u32,
    },
    /// Down and post of all counts of a latch.
    Latch {
        site: u32,
        semaphore: u32,
        count: u64,
    },
    /// Transfer of a permit: a down of one semaphore and a post of another.
    Permit {
        site: u32,
        down: u32,
        post: u32,
    },
    /// Atomic access to an element of an array.
    AtomicElement {
        site: u32,
        array: u32,
        index: u32,
        mode: Mode,
        effect: Effect,
    },
    /// Memory fence; no step of the program.
    Fence {
        site: u32,
        order: MemoryOrder,
    },
    /// Use or end of an object that ends with `close`; no step if it is in the hidden call that
    /// comes next.
    Resource {
        closes: bool,
        is_step: bool,
        site: u32,
        object: u32,
    },
    /// Synchronisation operation; `other` is the lock of a wait, the count of a semaphore's
    /// operation, or 1 for an acquire by a try.
    Sync {
        kind: SyncKind,
        site: u32,
        object: u32,
        other: u64,
    },
    /// Optimistic read of a lock that gets no stamp, or a validation of one that fails.
    FailedOptimistic {
        begins: bool,
        object: u32,
    },
    Fork {
        site: u32,
        thread: u32,
        nth: u32,
    },
    Join {
        site: u32,
        thread: u32,
    },
    End,
    ThreadName {
        thread: u32,
        name: &'a str,
    },
    Semaphore {
        number: u32,
        count: u64,
        name: &'a str,
    },
    Barrier {
        object: u32,
        parties: u64,
    },
    /// Order between tasks: a post, a down, or a down and a post; no step of the program.
    Order {
        post: bool,
        down: bool,
        site: u32,
        semaphore: u32,
    },
    /// Look at the state of an object (a thread, a task, an executor, an atomic, a map), or change
    /// of it; perhaps a step.
    State {
        change: bool,
        is_step: bool,
        site: u32,
        object: u32,
    },
    /// Text of a key of a map.
    Key {
        map: u32,
        key: u32,
        text: &'a str,
    },
    /// Value of a field, or of the element with this index, that code without events has written.
    Initial {
        site: u32,
        object: u32,
        index: Option<u32>,
        value: i64,
    },
    /// Method whose code is not recorded, with its state besides that of objects.
    HiddenMethod {
        number: u32,
        state: u32,
        class: &'a str,
        name: &'a str,
    },
    /// Call of such a method, or the end of one: the objects that it uses.
    Hidden {
        returns: bool,
        site: u32,
        method: u32,
        uses: Vec<ObjectUse>,
    },
    /// The result of such a call shares state with these objects.
    HiddenJoin {
        object: u32,
        objects: Vec<u32>,
    },
    /// The rest of the thread follows everything that other threads have done so far.
    AfterOthers,
    Begin {
        method: u32,
    },
    EndBlock,
    Uncaught {
        thread: u32,
        class: &'a str,
        message: &'a str,
        frames: Vec<(&'a str, &'a str)>,
    },
    Deadlock {
        threads: Vec<u32>,
    },
    Departure {
        message: &'a str,
    },
    Stopped,
    /// A wait of the run may end in a way that no event stands for.
    OtherWake,
    /// Every step of the schedule of a replay has run.
    StepsDone,
    /// Threads that wait as the schedule of a replay wants it: for a lock, or for the end of a
    /// thread.
    AllBlocked {
        threads: Vec<Blocked>,
    },
}

/// A thread that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The thread.
    pub thread: u32,
    /// Whether it waits for the end of a thread.
    pub joins: bool,
    /// The lock, or the thread.
    pub object: u32,
}

impl Record<'_> {
    /// Returns the kind of the step, if the record is one.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Some(match self {
            Record::Access { write: false, .. }
            | Record::Element { write: false, .. }
            | Record::HandledPlain { write: false, .. } => Kind::Read,
            Record::Access { .. } | Record::Element { .. } | Record::HandledPlain { .. } => {
                Kind::Write
            }
            Record::Atomic { .. }
            | Record::Handled { .. }
            | Record::AtomicElement { .. }
            | Record::State { is_step: true, .. }
            | Record::Resource { is_step: true, .. }
            | Record::Operation { .. } => Kind::Atomic,
            Record::Latch { .. } | Record::Permit { .. } => Kind::Down,
            Record::Hidden { returns: false, .. } => Kind::HiddenCall,
            Record::Fork { .. } => Kind::Create,
            Record::Join { .. } => Kind::Join,
            Record::Sync { kind, .. } => return kind.step(),
            _ => return None,
        })
    }

    /// Returns the number of the step's location; 0: none.
    pub(crate) fn site(&self) -> u32 {
        match self {
            Record::Access { site, .. }
            | Record::Element { site, .. }
            | Record::Atomic { site, .. }
            | Record::Handled { site, .. }
            | Record::HandledPlain { site, .. }
            | Record::Range { site, .. }
            | Record::AtomicElement { site, .. }
            | Record::Operation { site, .. }
            | Record::Latch { site, .. }
            | Record::Permit { site, .. }
            | Record::Sync { site, .. }
            | Record::Fence { site, .. }
            | Record::Resource { site, .. }
            | Record::Fork { site, .. }
            | Record::Order { site, .. }
            | Record::State { site, .. }
            | Record::Hidden { site, .. }
            | Record::Join { site, .. } => *site,
            _ => 0,
        }
    }
}
