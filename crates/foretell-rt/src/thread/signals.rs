//! Signals that arrived while they could not be handled.

use std::cell::Cell;

/// Largest signal number.
pub(crate) const SIGNALS: usize = 65;

/// The words of a `siginfo_t`.
pub(crate) type SignalInfo = [u64; 16];

/// Signals of a thread.
pub(crate) struct Signals {
    /// The signal mask that the thread begins with.
    pub(crate) initial_mask: Cell<u64>,
    /// The signals kept for later, by number.
    pub(crate) kept: [Cell<Option<SignalInfo>>; SIGNALS],
}

impl Signals {
    pub(super) fn new() -> Signals {
        Signals { initial_mask: Cell::new(0), kept: [const { Cell::new(None) }; SIGNALS] }
    }
}
