//! Errors of building a program.

use std::io;
use std::path::PathBuf;

/// Reason why a program was not built: one line that says what to do.
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
    /// A program cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// Name of the program.
        program: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Runtime library not found.
    #[error("{}: the foretell runtime is not there; FORETELL_RT_DIR names its directory", path.display())]
    NoRuntime {
        /// Path that was tried.
        path: PathBuf,
    },
    /// Another reason, in words.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Returns a converter for `map_err` on operations on the file `path`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::File { path, source }
    }
}
