//! Whether a thread can run, and what it waits for.

use foretell_rt_format::WaitingFor;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;

/// Scheduling state of a thread. `Running`: it holds the baton.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Running,
    Runnable,
    Blocked,
    /// In a blocking call or in a wait that is not modelled, without the baton.
    Outside,
    Finished,
}

/// Reason why a blocked thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// The object that it waited for may be available.
    Event,
    /// Its deadline has passed.
    Time,
    /// A signal or a cancellation request.
    Interrupt,
}

/// Scheduling state of a thread; guarded by the scheduler's lock.
pub(crate) struct WaitState {
    /// Not 0: there is a reason to stop waiting for the baton, see [`crate::sched::wait_turn`].
    pub(crate) go: AtomicU32,
    pub(crate) state: Cell<State>,
    pub(crate) wake: Cell<Wake>,
    /// The kind of object that the thread waits for, when it is blocked or in a system call.
    pub(crate) what: Cell<WaitingFor>,
    pub(crate) object: Cell<usize>,
    /// See [`crate::sched::Waiting`].
    pub(crate) owner_at: Cell<usize>,
    pub(crate) pc: Cell<usize>,
    /// Name of the system call that the thread is in.
    pub(crate) call: Cell<&'static str>,
    /// Ordinal of the thread's next step when it last yielded.
    pub(crate) yielded_at: Cell<Option<u64>>,
    /// Whether the thread is to give the baton away at its next hook.
    pub(crate) yields: Cell<bool>,
    /// Whether the thread is in library code whose waits its caller models.
    pub(crate) in_modelled_library: Cell<bool>,
    /// Order among the threads that wait for the same object.
    pub(crate) ticket: Cell<u64>,
    /// Deadline in virtual time (counted in hooks); `u64::MAX`: none.
    pub(crate) virtual_deadline: Cell<u64>,
    /// Deadline on the monotonic clock; `u64::MAX`: none.
    pub(crate) real_deadline: Cell<u64>,
    /// Nanoseconds after the real deadline at which the thread goes on in any case.
    pub(crate) patience: Cell<u64>,
    /// Whether the wait may be interrupted.
    pub(crate) interruptible: Cell<bool>,
    /// 1 while the thread is in a blocking call where a signal handler may take the baton.
    pub(crate) in_blocking_call: AtomicU32,
}

impl WaitState {
    pub(super) fn new() -> WaitState {
        WaitState {
            go: AtomicU32::new(0),
            state: Cell::new(State::Runnable),
            wake: Cell::new(Wake::Event),
            what: Cell::new(WaitingFor::Runnable),
            object: Cell::new(0),
            owner_at: Cell::new(0),
            pc: Cell::new(0),
            call: Cell::new(""),
            yielded_at: Cell::new(None),
            yields: Cell::new(false),
            in_modelled_library: Cell::new(false),
            ticket: Cell::new(0),
            virtual_deadline: Cell::new(u64::MAX),
            real_deadline: Cell::new(u64::MAX),
            patience: Cell::new(0),
            interruptible: Cell::new(false),
            in_blocking_call: AtomicU32::new(0),
        }
    }
}
