//! Errors of a session.

/// Reason why a program was not built, recorded or replayed: one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program was not built.
    #[error(transparent)]
    Build(#[from] foretell_build::Error),
    /// The program did not run.
    #[error(transparent)]
    Launch(#[from] foretell_launch::Error),
    /// The log of the run cannot be used.
    #[error(transparent)]
    Log(#[from] foretell_translate::Error),
    /// The replay gave no verdict.
    #[error(transparent)]
    Replay(#[from] foretell_replay::Error),
    /// The combination of options is not supported; the message says why.
    #[error("{0}")]
    Unsupported(String),
}
