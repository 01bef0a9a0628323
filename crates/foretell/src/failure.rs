//! Failures and exit status of a command.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{fmt, io};

use foretell_report::text::printable;
use foretell_session::Error;

use crate::terminal::complain;

/// Status of a command that did its job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    /// Nothing was predicted or refused.
    Clean,
    /// Something was predicted or refused.
    Found,
    /// Nothing was found so far, but the run was cut short; or with `--strict`, a query stayed
    /// undecided.
    CutShort,
    /// Exit status of a program that the command ran.
    Program(u8),
}

impl Status {
    /// Returns the exit status of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Clean => 0,
            Status::Found => 1,
            Status::CutShort => 3,
            Status::Program(status) => status,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

/// Reason why a command failed: one line that starts with the file, if there is one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        error: io::Error,
    },
    /// Standard output cannot be written, although it is open.
    #[error("standard output: {0}")]
    Output(#[source] io::Error),
    /// The input is wrong; the message names it.
    #[error("{0}")]
    Input(String),
}

impl Failure {
    /// Returns a converter for `map_err` on operations on the file `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Failure {
        let path = path.into();
        |error| Failure::File { path, error }
    }

    /// Returns the failure for a file with wrong contents.
    pub(crate) fn input(path: &std::path::Path, message: impl fmt::Display) -> Failure {
        Failure::Input(format!("{}: {message}", path.display()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::Defects { trace, defects } = &error {
            for defect in defects {
                complain(&format!("foretell: {}: defect: {defect}", trace.display()));
            }
        }
        Failure::Input(match error {
            // These do not begin with a file.
            Error::Build(_)
            | Error::CutShort(_)
            | Error::Launch(_)
            | Error::Log(_)
            | Error::Replay(_)
            | Error::Unsupported(_) => format!("foretell: {error}"),
            Error::Refused { .. } => printable(&error.to_string()),
            _ => error.to_string(),
        })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}
