//! Signals that arrived while they could not be handled.

/// Largest signal number.
pub(crate) const SIGNALS: usize = 65;

/// A signal kept for later.
#[derive(Clone, Copy)]
pub(crate) struct KeptSignal {
    pub(crate) there: bool,
    pub(crate) info: [u64; 16],
}

/// Signals of a thread.
pub(crate) struct Signals {
    /// The signal mask that the thread begins with.
    pub(crate) initial_mask: u64,
    /// By signal number.
    pub(crate) kept: [KeptSignal; SIGNALS],
}

impl Signals {
    pub(super) fn new() -> Signals {
        let none = KeptSignal { there: false, info: [0; 16] };
        Signals { initial_mask: 0, kept: [none; SIGNALS] }
    }
}
