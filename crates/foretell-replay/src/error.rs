//! Errors of a replay.

use std::io;
use std::path::PathBuf;

/// Reason why a replay gave no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program did not run.
    #[error(transparent)]
    Launch(#[from] foretell_launch::Error),
    /// The log of the replayed run cannot be used.
    #[error(transparent)]
    Log(#[from] foretell_translate::Error),
    /// The schedule cannot be written.
    #[error("{}: {source}", directory.display())]
    Schedule {
        /// Directory for the file of the schedule.
        directory: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// This process was asked to end while the program ran.
    #[error("interrupted")]
    Interrupted,
    /// No order of events was given.
    #[error("nothing to replay")]
    NothingToReplay,
}
