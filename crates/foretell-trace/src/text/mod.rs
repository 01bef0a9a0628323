//! Trace text: the format people can read, write and exchange (`docs/trace-text.md`).
//!
//! A superset of the STD format of RAPID and its relatives: one event a line,
//! `thread|operation|location`. [`parse`] reads it, [`write()`] writes it, and what was written
//! reads back as the same trace. The dialects that recorders of the STD family produce are
//! translated on the way in, and [`Parsed::notes`] says what was translated and how often.
//!
//! This module checks the form of each line. Whether the events make a legal execution is not for
//! this module to say: [`Parsed::lines`] leads from an event back to its line for a check that
//! finds out.

mod declare;
mod dialect;
mod escape;
mod lines;
mod problem;
mod reader;
mod value;
mod writer;

#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::Trace;

pub use lines::LineMap;
pub use writer::write;

/// Contents of a text.
#[derive(Clone, Default, Debug)]
pub struct Parsed {
    /// The events, with everything they name.
    pub trace: Trace,
    /// The line of each event.
    pub lines: LineMap,
    /// Notes on lines that were translated from a dialect or, in a lenient reading, dropped.
    pub notes: Vec<String>,
}

/// A line that does not parse.
#[derive(Clone, Debug, Error)]
#[error("{line}: {message}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
    /// Contents of the lines before it: an event there that is not legal comes first in the file,
    /// and is what a reader wants to hear of first.
    pub before: Box<Parsed>,
}

/// Reads a text. Stops at the first line that does not parse.
pub fn parse(bytes: &[u8]) -> Result<Parsed, TextError> {
    reader::parse(bytes)
}

/// Reads a text and drops the lines that do not parse; the notes count them, one note for each
/// kind of problem.
pub(crate) fn parse_lenient(bytes: &[u8]) -> Parsed {
    reader::parse_lenient(bytes)
}
