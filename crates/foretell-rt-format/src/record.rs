//! The records of the raw log.

mod codec;
mod step;

pub(crate) use codec::LONGEST_RANGE;

/// A numbered enum that is stored as a byte.
macro_rules! byte_enum {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $v:ident = $n:literal,)* }) => {
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vm])* $v = $n,)* }
        impl $name {
            /// Returns the variant with this number.
            pub fn from_u8(n: u8) -> Option<Self> {
                match n { $($n => Some(Self::$v),)* _ => None }
            }
            /// Returns the name of the variant.
            pub fn name(self) -> &'static str {
                match self { $(Self::$v => stringify!($v),)* }
            }
            /// Returns the variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                $(if name == stringify!($v) { return Some(Self::$v); })*
                None
            }
        }
    };
}

pub(crate) use byte_enum;

byte_enum!(
    /// Plain access.
    AccessKind {
        /// Load.
        Read = 0,
        /// Store.
        Write = 1,
    }
);

byte_enum!(
    /// Atomic (or volatile) access.
    AtomicKind {
        /// Atomic load.
        Load = 0,
        /// Atomic store.
        Store = 1,
        /// Read-modify-write that took place.
        Update = 2,
        /// Compare-and-exchange that failed: it only read.
        FailedUpdate = 3,
        /// Load of a volatile object.
        VolatileLoad = 4,
        /// Store to a volatile object.
        VolatileStore = 5,
    }
);

byte_enum!(
    /// Operation on a synchronisation object. `object` is its address.
    SyncKind {
        /// Mutex, spin lock, or writer side of a reader-writer lock taken; `other` is 1 if by a try
        /// or a timed lock, which cannot wait for ever.
        Lock = 0,
        /// Exclusive lock released.
        Unlock = 1,
        /// A try-lock or timed lock (exclusive) that failed.
        TryFailed = 2,
        /// Reader side taken; `other` as for `Lock`.
        ReadLock = 3,
        /// Reader side released.
        ReadUnlock = 4,
        /// A try- or timed read lock that failed.
        TryReadFailed = 5,
        /// Enters the wait set of condition `object`, releases mutex `other`.
        Wait = 6,
        /// Left the wait after a notification, owns mutex `other` again.
        Woken = 7,
        /// Left the wait after its time limit, owns mutex `other` again.
        TimedOut = 8,
        /// Notifies one waiter.
        Signal = 9,
        /// Notifies every waiter.
        Broadcast = 10,
        /// `sem_init` with count `other`; also written before the first use of a semaphore that
        /// was initialised unseen. Not counted.
        SemInit = 11,
        /// Semaphore incremented.
        Post = 12,
        /// Semaphore decremented.
        Down = 13,
        /// A `sem_trywait` or timed wait that failed.
        DownFailed = 14,
        /// `pthread_barrier_init` with `other` parties. Not counted.
        BarrierInit = 15,
        /// Arrived at a barrier.
        Arrive = 16,
        /// Left a barrier.
        Leave = 17,
        /// A mutex, rwlock, condition or spin lock is initialised at this address. Not counted.
        Init = 18,
        /// A mutex, rwlock, condition, spin lock, semaphore or barrier is destroyed; `other` is
        /// the error number if it is not, because it is in use. Counted.
        Destroy = 19,
        /// A system call that may send or receive, see [`crate::channel`]. Records of its effects
        /// follow where they happened.
        SystemCall = 20,
        /// The thread has sent `other` bytes (see [`crate::channel::sent`]) through channel
        /// `object`. Not counted.
        Sent = 21,
        /// The thread has received `other` bytes from channel `object` (see
        /// [`crate::channel::received`]). Not counted.
        Received = 22,
        /// The thread has looked into channel `object` and found something, or nothing (see
        /// [`crate::channel::looked`]). Not counted.
        Looked = 23,
        /// Unrecorded bytes may have been sent through channel `object`. Not counted.
        Unsure = 24,
        /// A wait of the thread for the futex at `object` was woken, or the word had changed
        /// already. Not counted.
        FutexWoken = 25,
        /// The next wait of the thread, for condition `object`, has a time limit. Not counted.
        TimeLimit = 26,
        /// A wait of the run may end in a way that no record stands for: a time limit, a try, a
        /// cancellation, a signal handler. Written once. Not counted.
        OtherWake = 27,
        /// A memory fence; `other` is its order, numbered as in the compilers' hooks. Not counted.
        Fence = 28,
    }
);

impl SyncKind {
    /// Whether it is a step of its thread.
    pub fn counted(self) -> bool {
        use SyncKind::*;
        !matches!(
            self,
            SemInit
                | BarrierInit
                | Init
                | Sent
                | Received
                | Looked
                | Unsure
                | FutexWoken
                | TimeLimit
                | OtherWake
                | Fence
        )
    }

    /// Returns the kind of the step in a schedule; `None` if it is not counted.
    pub fn step(self) -> Option<Kind> {
        Some(match self {
            SyncKind::Lock | SyncKind::TryFailed => Kind::Lock,
            SyncKind::ReadLock | SyncKind::TryReadFailed => Kind::ReadLock,
            SyncKind::Unlock | SyncKind::ReadUnlock => Kind::Unlock,
            SyncKind::Wait => Kind::Wait,
            SyncKind::Woken => Kind::Woken,
            SyncKind::TimedOut => Kind::TimedOut,
            SyncKind::Signal => Kind::Signal,
            SyncKind::Broadcast => Kind::Broadcast,
            SyncKind::Post => Kind::Post,
            SyncKind::Down | SyncKind::DownFailed => Kind::Down,
            SyncKind::Arrive => Kind::Arrive,
            SyncKind::Leave => Kind::Leave,
            SyncKind::SystemCall => Kind::SystemCall,
            SyncKind::Destroy => Kind::Destroy,
            _ => return None,
        })
    }
}

byte_enum!(
    /// Kind of a counted step, as the runtime knows it before the step has run. Schedules are
    /// compared by it.
    Kind {
        /// Plain load.
        Read = 0,
        /// Plain store.
        Write = 1,
        /// Atomic or volatile access of any sort.
        Atomic = 2,
        /// Read of a memory range by a library function.
        ReadRange = 3,
        /// Write of a memory range by a library function.
        WriteRange = 4,
        /// Exclusive lock, try-lock, failed try-lock.
        Lock = 5,
        /// Shared lock, shared try-lock, failed shared try-lock.
        ReadLock = 6,
        /// Unlock of any lock.
        Unlock = 7,
        /// Wait on a condition.
        Wait = 8,
        /// Return from a wait after a notification.
        Woken = 9,
        /// Return from a wait after its time limit.
        TimedOut = 10,
        /// Notification of one waiter.
        Signal = 11,
        /// Notification of all waiters.
        Broadcast = 12,
        /// Semaphore increment.
        Post = 13,
        /// Semaphore decrement, or a failed one.
        Down = 14,
        /// Arrival at a barrier.
        Arrive = 15,
        /// Leaving a barrier.
        Leave = 16,
        /// Thread creation.
        Create = 17,
        /// Thread join.
        Join = 18,
        /// Begin of an atomic block.
        MarkBegin = 19,
        /// End of an atomic block.
        MarkEnd = 20,
        /// Memory freed.
        Free = 21,
        /// A system call that may send or receive.
        SystemCall = 22,
        /// A call of a function that is not recorded.
        HiddenCall = 23,
        /// Destruction of a synchronisation object.
        Destroy = 24,
    }
);

byte_enum!(
    /// State that a function which is not recorded uses.
    HiddenState {
        /// That of the objects which it is given.
        Arguments = 0,
        /// That of the objects which it is given, and its library's own.
        Library = 1,
        /// That of the objects which it is given, its library's own, and what passes through the
        /// kernel (files, pipes, timers, processes).
        Kernel = 2,
    }
);

byte_enum!(
    /// Way in which the program ended by itself.
    EndHow {
        /// `exit` or return from `main`.
        Exit = 0,
        /// `_exit`, `_Exit`, `quick_exit`: no handlers run.
        QuickExit = 1,
    }
);

byte_enum!(
    /// Reason why recording stopped before the program did (field of the header).
    StopReason {
        /// It did not.
        None = 0,
        /// No room on the file system.
        NoSpace = 1,
        /// The log could not be mapped or extended for another reason.
        Failed = 2,
    }
);

byte_enum!(
    /// Kind of a record about the path of a program that is built for symbolic recording. `site` is
    /// a line of its module; `a` and `b` are given here.
    TrailKind {
        /// A function is entered: the hash of its module, its address.
        Enter = 0,
        /// One of its arguments: its number, its value.
        Argument = 1,
        /// A block is entered.
        Block = 2,
        /// Before a load: the address.
        Load = 3,
        /// A load took place: address and value. Or memory on the stack was allocated: address and
        /// size. Or the address of a part was computed: the address.
        Value = 4,
        /// Before a store: address and value.
        Store = 5,
        /// Before a call: the address of the function.
        Call = 6,
        /// After a call: the result.
        After = 7,
        /// The function returns.
        Leave = 8,
    }
);

byte_enum!(
    /// Object that a blocked thread waits for.
    WaitingFor {
        /// Nothing: it could run.
        Runnable = 0,
        /// An exclusive lock at `object`.
        Lock = 1,
        /// A shared lock at `object`.
        ReadLock = 2,
        /// A notification of condition `object`.
        Condition = 3,
        /// Semaphore `object`.
        Semaphore = 4,
        /// Barrier `object`.
        Barrier = 5,
        /// The end of thread number `object`.
        Join = 6,
        /// One-time initialisation `object` by another thread.
        Once = 7,
        /// The word `object` of a futex call.
        Futex = 8,
        /// A blocking system call.
        Call = 9,
        /// Time to pass.
        Sleep = 10,
    }
);

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
