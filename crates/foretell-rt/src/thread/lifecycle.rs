//! Creation, join and end of a thread.

use std::cell::Cell;

/// Identity of a thread and how far its life has come.
#[derive(Default)]
pub(crate) struct Lifecycle {
    /// Number of threads that this thread has created.
    pub(crate) children: Cell<u32>,
    /// Number of times that this thread has asked for random bytes.
    pub(crate) random_draws: Cell<u64>,
    pub(crate) tid: Cell<u32>,
    pub(crate) pthread: Cell<libc::pthread_t>,
    pub(crate) detached: Cell<bool>,
    pub(crate) joined: Cell<bool>,
    /// The function that the thread runs, and its argument.
    pub(crate) routine: Cell<usize>,
    pub(crate) argument: Cell<usize>,
    /// Whether the routine is that of `thrd_create`, which returns an `int`.
    pub(crate) c11: Cell<bool>,
    /// Rounds of thread-local destructors that are left before the thread counts as ended.
    pub(crate) destructor_rounds: Cell<usize>,
}
