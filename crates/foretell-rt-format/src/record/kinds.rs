//! Enumerations of the records, each stored as one byte.

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
