//! Creation, join and end of a thread.

/// Identity of a thread and how far its life has come.
#[derive(Default)]
pub(crate) struct Lifecycle {
    /// Number of threads that this thread has created.
    pub(crate) children: u32,
    pub(crate) tid: u32,
    pub(crate) pthread: libc::pthread_t,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    /// The function that the thread runs, and its argument.
    pub(crate) routine: usize,
    pub(crate) argument: usize,
    /// Whether the routine is that of `thrd_create`, which returns an `int`.
    pub(crate) c11: bool,
    /// Rounds of thread-local destructors that are left before the thread counts as ended.
    pub(crate) destructor_rounds: usize,
}
