//! Errors of reading logs and steps.

use std::io;
use std::path::PathBuf;

/// Reason why a log, or a file beside a trace, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Not a valid log.
    #[error("{}: {source}", path.display())]
    Log {
        /// Path of the log.
        path: PathBuf,
        /// First violation of the format.
        source: foretell_rt_format::FormatError,
    },
    /// Not a valid file of steps; the message names the file and the violation.
    #[error("{0}")]
    Steps(String),
}

impl Error {
    /// Returns a converter for `map_err` on operations on the file `path`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::File { path, source }
    }
}
