//! States of the search.
//!
//! Everything that decides how an interleaving can go on, and how far it has shown the goal, is in
//! the *core* of a state; two interleavings with equal cores have the same continuations. The rest
//! follows from the core and is kept so that it need not be computed.

/// The state that an interleaving has reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SearchState {
    /// By thread: position, whether it is in a wait set, whether it is cut. Then the last write of
    /// each variable, the generation of each open arrival at a barrier, and what the goal keeps.
    pub(super) core: Vec<u32>,
    /// Owners and readers of locks, counts of semaphores, arrivals at barriers, last opaque
    /// accesses.
    pub(super) derived: Vec<u32>,
}

/// Flag of a thread that has run a broken event.
pub(super) const CUT: u32 = 1;
/// Flag of a thread that is in a wait set.
pub(super) const WAITS: u32 = 2;

impl SearchState {
    /// Returns the number of steps of a thread that have run.
    #[inline]
    pub(super) fn position(&self, t: usize) -> u32 {
        self.core[t] >> 2
    }

    /// Whether a thread has run a broken event.
    #[inline]
    pub(super) fn is_cut(&self, t: usize) -> bool {
        self.core[t] & CUT != 0
    }

    pub(super) fn waits(&self, t: usize) -> bool {
        self.core[t] & WAITS != 0
    }

    /// Whether a thread has still to run the step at a position.
    #[inline]
    pub(super) fn goes_beyond(&self, t: usize, position: u32) -> bool {
        self.position(t) <= position && !self.is_cut(t)
    }
}
