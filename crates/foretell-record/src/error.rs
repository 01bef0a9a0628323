//! What can go wrong around a recorded program.

use std::io;
use std::path::PathBuf;

/// Why a program was not built, recorded or replayed: one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A log is not one.
    #[error("{}: {source}", path.display())]
    Log {
        /// Which.
        path: PathBuf,
        /// Why.
        source: foretell_rt_format::FormatError,
    },
    /// The runtime is not where it can be.
    #[error(
        "the foretell runtime is not there: looked for {looked_for}; build it with \
         `cargo build --release`, or set FORETELL_RT_DIR to its directory"
    )]
    NoRuntime {
        /// The files that were tried.
        looked_for: String,
    },
    /// Something else, already in words.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// For `map_err` on what is done to a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::File { path, source }
    }
}
