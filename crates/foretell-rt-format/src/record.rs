//! The records of the raw log.

mod codec;
mod kinds;
mod step;

pub(crate) use codec::LONGEST_RANGE;
pub(crate) use kinds::byte_enum;
pub use kinds::{
    AccessKind, AtomicKind, EndHow, HiddenState, Kind, StopReason, SyncKind, TrailKind, WaitingFor,
};

/// A thread in a report of stuck threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    /// The thread.
    pub thread: u32,
    /// The kind of object that it waits for.
    pub what: WaitingFor,
    /// The object (see [`WaitingFor`]).
    pub object: u64,
    /// The thread that holds it, if known.
    pub owner: Option<u32>,
    /// Code address of the call.
    pub pc: u64,
}

/// A record. It belongs to the thread of its [`crate::Entry`] unless its variant says otherwise.
/// Every `pc` is an address in the running program, mostly a return address: its source location is
/// that of `pc - 1`.
#[derive(Clone, PartialEq, Debug)]
pub enum Record<'a> {
    /// Switch of the thread: the records that follow are those of `thread`.
    Switch {
        /// Index of the thread, in order of creation; the initial thread is 0.
        thread: u32,
    },
    /// Definition of a slot for the rest of this chunk (the reader resolves slots).
    Slot {
        /// The slot.
        slot: u16,
        /// See [`crate::slot_key`].
        key: u64,
        /// High half of the address.
        high: u32,
    },
    /// Parallel logs: position of the next counted record in the (approximate) total order.
    Seq {
        /// Distance from the stream's previous position.
        delta: u64,
    },
    /// A module is mapped. Written at the start and again after `dlopen`.
    Module {
        /// Load bias: run-time address minus address in the file's symbols.
        bias: u64,
        /// First mapped address.
        start: u64,
        /// One past the last mapped address.
        end: u64,
        /// Path, as the dynamic linker knows it (the executable's resolved).
        path: &'a [u8],
        /// Build id, perhaps empty.
        build_id: &'a [u8],
    },
    /// The module that starts at `start` was unmapped.
    ModuleGone {
        /// First mapped address.
        start: u64,
    },
    /// This thread creates `thread`: it is the creator's `nth` child, from 0. Counted.
    Create {
        /// Index of the new thread.
        thread: u32,
        /// Number of threads this thread created before.
        nth: u32,
        /// Code address of the call.
        pc: u64,
        /// The start routine.
        routine: u64,
    },
    /// The thread's first record.
    ThreadBegin {
        /// Operating system's id of the thread.
        tid: u32,
        /// Lowest address of its stack.
        stack_start: u64,
        /// One past the highest address of its stack.
        stack_end: u64,
    },
    /// The thread's block of the thread-local variables of a module.
    ThreadLocals {
        /// First mapped address of the module.
        module: u64,
        /// Address of the block.
        start: u64,
    },
    /// Name of a thread.
    ThreadName {
        /// The thread.
        thread: u32,
        /// The name.
        name: &'a [u8],
    },
    /// The thread has ended, its thread-local destructors have run.
    ThreadEnd,
    /// The thread has joined `thread`. Counted.
    Join {
        /// The thread that ended.
        thread: u32,
        /// Code address of the call.
        pc: u64,
    },
    /// `thread` is detached.
    Detach {
        /// The thread.
        thread: u32,
    },
    /// Plain access of 1, 2, 4, 8 bytes with its value. Counted.
    Access {
        /// Load or store.
        kind: AccessKind,
        /// Bytes.
        size: u8,
        /// Code address.
        pc: u64,
        /// Data address.
        addr: u64,
        /// The value read or written.
        value: u64,
    },
    /// Plain access of 16 bytes, or one that faulted before its value was known. Counted.
    Wide {
        /// Load or store.
        kind: AccessKind,
        /// Bytes.
        size: u8,
        /// Code address.
        pc: u64,
        /// Data address.
        addr: u64,
        /// The two halves, low address first; unknown when the access faulted.
        value: Option<[u64; 2]>,
    },
    /// Atomic or volatile access, or one-time initialisation (as atomic accesses of the control
    /// word). Counted.
    Atomic {
        /// Kind of the access.
        kind: AtomicKind,
        /// Bytes: 1, 2, 4, 8, 16.
        size: u8,
        /// Memory order, as in C (`memory_order_relaxed` is 0).
        order: u8,
        /// Code address.
        pc: u64,
        /// Data address.
        addr: u64,
        /// Value read (low half first); zero for a store.
        old: [u64; 2],
        /// Value written; zero if it did not write.
        new: [u64; 2],
    },
    /// A library function read or wrote `len` bytes. Counted.
    Range {
        /// Load or store.
        kind: AccessKind,
        /// Code address of the call.
        pc: u64,
        /// First address.
        addr: u64,
        /// Bytes.
        len: u64,
        /// The first bytes, at most [`crate::MAX_RANGE_DATA`]; shorter than `len`: rest unknown.
        data: &'a [u8],
    },
    /// Operation on a synchronisation object. Counted, with the exceptions in [`SyncKind`].
    Sync {
        /// The operation.
        kind: SyncKind,
        /// Code address of the call.
        pc: u64,
        /// Address of the object.
        object: u64,
        /// Mutex of a wait, count, parties; else 0.
        other: u64,
    },
    /// Memory was allocated.
    Alloc {
        /// Code address of the call.
        pc: u64,
        /// Start.
        addr: u64,
        /// Bytes asked for.
        size: u64,
    },
    /// Memory is freed. Counted if the call comes from outside the C library.
    Free {
        /// Whether it is counted.
        counted: bool,
        /// Code address of the call.
        pc: u64,
        /// Start.
        addr: u64,
        /// Usable bytes.
        size: u64,
    },
    /// Begin of an atomic block. Counted.
    MarkBegin {
        /// Code address of the call.
        pc: u64,
        /// Label, perhaps empty.
        label: &'a [u8],
    },
    /// End of the innermost atomic block. Counted.
    MarkEnd {
        /// Code address of the call.
        pc: u64,
    },
    /// A function is entered.
    FuncEntry {
        /// Code address inside the function.
        pc: u64,
        /// Return address.
        call: u64,
    },
    /// The innermost function is left.
    FuncExit,
    /// Frames of the thread, which is about to give up the baton. Outermost first; those deeper
    /// than [`crate::MAX_FRAMES`] are missing.
    Frames {
        /// Number of frames, from the outermost, that are those of the thread's last such record.
        keep: u64,
        /// The other frames: a code address in the function, after its prologue, and the stack
        /// pointer and the register `rbp` there.
        frames: Vec<[u64; 3]>,
    },
    /// The thread gives up the baton for a blocking call.
    Call {
        /// Code address of the call.
        pc: u64,
        /// Name of the function.
        name: &'a [u8],
    },
    /// The thread has returned from the blocking call.
    Return,
    /// The process forked; the child has a log of its own, or none.
    Forked {
        /// Process id of the child.
        pid: u32,
    },
    /// The process is about to replace itself (if it fails, records follow).
    Exec {
        /// Path of the new program.
        path: &'a [u8],
    },
    /// The program ends by itself.
    EndOfProgram {
        /// Way of ending.
        how: EndHow,
        /// Exit status.
        status: i32,
    },
    /// A signal is about to end the program (or was sent to it by itself, like SIGABRT).
    Crash {
        /// The signal.
        signal: u32,
        /// `si_code`.
        code: i32,
        /// Address of the instruction, not a return address.
        pc: u64,
        /// Fault address.
        addr: u64,
    },
    /// This process is a child of `fork`: the log begins there, with the thread that forked.
    ChildOfFork {
        /// Ordinals of the forks that lead to this process from the one that ran the program,
        /// from 1: `2.1` is the first child of the second child.
        path: &'a [u8],
    },
    /// An annotation: races on these bytes are meant to be.
    Benign {
        /// First byte.
        addr: u64,
        /// Number of bytes.
        size: u64,
    },
    /// An annotation: races of this thread's reads, or writes, are meant to be from here on (1), or
    /// no longer (-1); the annotations nest.
    Ignore {
        /// Change for reads.
        reads: i8,
        /// Change for writes.
        writes: i8,
    },
    /// The thread calls `abort`, or an `assert` of it fails.
    Abort {
        /// Code address of the call.
        pc: u64,
        /// The condition that does not hold; empty for `abort`.
        condition: &'a [u8],
        /// `file:line` of the condition.
        location: &'a [u8],
        /// The function of the condition.
        function: &'a [u8],
    },
    /// Deadlock: no thread can ever run again.
    Deadlock {
        /// All living threads.
        threads: Vec<Blocked>,
    },
    /// No thread made a step for the watchdog's time.
    Stuck {
        /// All living threads.
        threads: Vec<Blocked>,
    },
    /// The replayed run departed from its schedule; the program was ended with status
    /// [`crate::DEPARTURE_STATUS`].
    Departure {
        /// Index of the step.
        step: u64,
        /// Expected and actual step, as text.
        message: &'a [u8],
    },
    /// Every step of the schedule has run; the program goes on freely.
    StepsDone,
    /// The thread stands before a step that the schedule wants to be reached.
    Reached {
        /// Index of the step in the schedule.
        step: u64,
        /// First byte of the memory that the step is about to touch.
        addr: u64,
        /// Number of bytes; 0: the step touches no memory that the runtime knows.
        len: u64,
    },
    /// The threads that the schedule wants to be blocked are so, all at the same time.
    AllBlocked {
        /// All living threads.
        threads: Vec<Blocked>,
    },
    /// Part of the thread's path, in a program that is built for symbolic recording.
    Trail {
        /// Kind of the note.
        kind: TrailKind,
        /// Code address of the hook.
        pc: u64,
        /// The line of the module.
        site: u64,
        /// See [`TrailKind`].
        a: u64,
        /// See [`TrailKind`].
        b: u64,
    },
    /// Number of accesses of this thread since its last record that were elided; each is a step.
    Elided {
        /// Number of accesses, less than 2³².
        count: u64,
        /// Code address and code of the last one, see [`crate::slot_key`].
        key: u64,
    },
    /// Point of this thread that follows all its elided accesses so far. Other threads may be
    /// ordered after it, see [`Record::AfterElisionPoint`].
    ElisionPoint,
    /// Order: the rest of this thread follows the last [`Record::ElisionPoint`] of `thread`.
    AfterElisionPoint {
        /// The thread of the elision point.
        thread: u32,
    },
    /// Gap in the log: accesses to a word were elided, and the access that follows meets them.
    ElisionGap {
        /// The thread that made the elided accesses; none: any thread may have made them.
        holder: Option<u32>,
        /// Whether create and join, or the thread itself, order the elided accesses before what
        /// follows. If not, the last [`Record::AfterElisionPoint`] of this thread does.
        ordered: bool,
        /// Whether writes may be among the elided accesses.
        wrote: bool,
        /// Whether the last write is unknown, so that `value` is a new initial value.
        renews: bool,
        /// Whether the access that follows writes.
        writes: bool,
        /// Address of the word.
        addr: u64,
        /// Content of the word, if it could be read.
        value: Option<u64>,
    },
    /// Definition of a function that is not recorded, before its first call.
    HiddenFunction {
        /// Number of the function in [`Record::HiddenCall`].
        function: u64,
        /// State that it uses.
        state: HiddenState,
        /// Linker's name of the function.
        name: &'a [u8],
        /// Library that defines it: the file name of its module, without directories.
        library: &'a [u8],
    },
    /// The thread calls a function that is not recorded. Counted.
    HiddenCall {
        /// Code address of the call.
        pc: u64,
        /// The function, see [`Record::HiddenFunction`].
        function: u64,
        /// Those of its first six arguments that may be addresses, at most
        /// [`crate::MAX_HIDDEN_ARGUMENTS`].
        arguments: Vec<u64>,
    },
    /// The thread comes back from a wait that the runtime does not model: the rest of the thread
    /// follows everything that the other threads have done so far.
    AfterOthers,
    /// A signal handler of the program starts (`true`) or returns.
    Signal {
        /// The signal.
        signal: u32,
        /// Start or return.
        starts: bool,
    },
}
