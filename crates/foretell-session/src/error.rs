//! Errors of a session.

use std::io;
use std::path::PathBuf;

use foretell_predict::finding::Defect;
use foretell_report::json::{FindingsError, MergeError, Mismatch};
use foretell_verify::Refusal;

/// Reason why a function of this crate failed: one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program was not built.
    #[error(transparent)]
    Build(#[from] foretell_build::Error),
    /// The compiler found errors in the program and printed them.
    #[error("{}: the compiler refused it, see above", source_file.display())]
    Compiler {
        /// First source of the program.
        source_file: PathBuf,
    },
    /// A limit of the caller ended the compiler.
    #[error("the build was cut short: {0}")]
    CutShort(foretell_limit::Reason),
    /// The Java compiler cannot be used.
    #[error("{}: {message}", source_file.display())]
    Java {
        /// First source of the program.
        source_file: PathBuf,
        /// Reason, with the remedy.
        message: String,
    },
    /// The program did not run.
    #[error(transparent)]
    Launch(#[from] foretell_launch::Error),
    /// The log of the run cannot be used.
    #[error(transparent)]
    Log(#[from] foretell_translate::Error),
    /// The replay gave no verdict.
    #[error(transparent)]
    Replay(#[from] foretell_replay::Error),
    /// The trace cannot be written.
    #[error(transparent)]
    Save(#[from] foretell_trace::io::WriteError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Not a valid findings file.
    #[error("{}: {source}", path.display())]
    Findings {
        /// Path of the file.
        path: PathBuf,
        /// First violation of the format.
        source: FindingsError,
    },
    /// Not a text file.
    #[error("{}: not a findings file: not UTF-8", path.display())]
    NotText {
        /// Path of the file.
        path: PathBuf,
    },
    /// The findings are those of a different trace.
    #[error("{}: not about the trace {}: {mismatch}", findings.display(), trace.display())]
    OtherTrace {
        /// Path of the findings file.
        findings: PathBuf,
        /// Path of the trace.
        trace: PathBuf,
        /// First difference.
        mismatch: Box<Mismatch>,
    },
    /// The findings file has no finding of this name.
    #[error("{}: no finding `{id}`: {}", trace.display(), list(known))]
    NoFinding {
        /// Path of the trace.
        trace: PathBuf,
        /// Name that was asked for.
        id: String,
        /// The first names that exist.
        known: Vec<String>,
    },
    /// The checker refuses a witness of a findings file.
    #[error("{}: finding {id}: the checker refuses it: {refusal}", path.display())]
    Refused {
        /// Path of the findings file.
        path: PathBuf,
        /// Name of the finding.
        id: String,
        /// Rule that the witness breaks.
        refusal: Box<Refusal>,
    },
    /// The findings files are not parts of one analysis.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The checker refused witnesses that an engine found: a defect of Foretell.
    #[error(
        "{}: the checker refused {} of Foretell's own witnesses: this is a defect of Foretell, \
         nothing was reported",
        trace.display(),
        defects.len()
    )]
    Defects {
        /// Path of the trace.
        trace: PathBuf,
        /// The refused witnesses.
        defects: Vec<Defect>,
    },
    /// The engine does not support the model of the trace.
    #[error("{}: {message}", trace.display())]
    Engine {
        /// Path of the trace.
        trace: PathBuf,
        /// Engine, model, and the alternatives.
        message: String,
    },
    /// The symbolic model was asked for, and the trace was not recorded for it.
    #[error(
        "{}: the trace has no symbolic information (registers, expressions, guards) for the model \
         `symbolic`: record it with --symbolic, or use --model value or view",
        trace.display()
    )]
    NotSymbolic {
        /// Path of the trace.
        trace: PathBuf,
    },
    /// The file of steps, which a replay needs, is missing.
    #[error(
        "{}: cannot be replayed: `foretell record` did not make it, or its .steps file is gone",
        trace.display()
    )]
    NoSteps {
        /// Path of the trace.
        trace: PathBuf,
    },
    /// The combination of options is not supported; the message says why.
    #[error("{0}")]
    Unsupported(String),
}

impl Error {
    /// Returns a converter for `map_err` on operations on the file `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        |source| Error::File { path, source }
    }
}

fn list(known: &[String]) -> String {
    match known {
        [] => "nothing was predicted".to_owned(),
        known => format!("there are {}", known.join(", ")),
    }
}
