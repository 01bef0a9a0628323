//! Modes of a run.

use std::path::PathBuf;

/// Mode of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Record, one thread at a time.
    Record,
    /// Record with threads running in parallel.
    Parallel,
    /// Follow a schedule.
    Replay {
        /// Path of the schedule.
        schedule: PathBuf,
        /// Whether the program stops with SIGTRAP before the last step.
        stop: bool,
    },
}
