//! A limit, and the reason why work ended early.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::memory;
use crate::scope::notice_interrupt;

/// Limits of some work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    /// Time at which the work ends.
    pub deadline: Option<Instant>,
    /// Flag that ends the work when it is set.
    pub stop: Option<&'a AtomicBool>,
    /// Bytes that the thread may allocate for the work beyond those that it frees again.
    pub memory: Option<u64>,
}

impl Limit<'_> {
    /// Returns a limit that is never reached, except those of the whole process.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the reason to stop now, if there is one, without regard to `memory`, which
    /// [`within`](crate::within) measures.
    pub fn reached(&self) -> Option<Reason> {
        if notice_interrupt() || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            Some(Reason::Interrupt)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Reason::Time)
        } else if memory::is_short() {
            Some(Reason::Memory)
        } else {
            None
        }
    }
}

/// Reason why work ended early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The user, or a flag, interrupted it.
    Interrupt,
    /// Its time was over.
    Time,
    /// It needed too much memory.
    Memory,
}

impl Reason {
    /// Returns the words for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Interrupt => "interrupted",
            Reason::Time => "time limit",
            Reason::Memory => "memory limit",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
