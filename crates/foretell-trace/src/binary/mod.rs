//! The `.ft` format: a trace in few bytes, readable while it is written and after a crash.
//!
//! `docs/format-ft.md` describes every byte. In short: a file header, then chunks with type, length
//! and checksums. Definition chunks give names, sites, values and expressions numbers, which are
//! the identifiers of the [`Trace`](crate::Trace). Event chunks hold the parts of events that both
//! sides cannot guess (`predict`): mostly one byte for an event, and a byte or two more where a
//! guess is wrong. A definition always comes before its first use, so neither side ever seeks:
//! [`Writer`] takes events one at a time and works on any [`std::io::Write`], [`read`] on any
//! [`std::io::Read`].
//!
//! A file that ends early is read up to its last whole chunk, and a note says so. Damage anywhere
//! else is an error that names the chunk and where it starts. Whatever the bytes, the reader does
//! not panic, and allocates in proportion to the bytes that are really there.
//!
//! Limitation: the guesses run on from chunk to chunk, so that chunks cannot be decoded out of
//! order.

mod bytes;
mod chunk;
mod decode;
mod encode;
mod exprs;
mod packed;
mod predict;
mod reader;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::io;

pub use packed::{Packed, PackedEvents};
pub use reader::{Decoded, read};
pub use writer::{Writer, write};

/// The most events a trace can have.
const MAX_EVENTS: usize = u32::MAX as usize - 1;
/// The most rows of a definition table.
const MAX_ROWS: usize = (1 << 31) - 1;

/// Whether these are the first bytes of a `.ft` file.
pub(crate) fn is_binary(start: &[u8]) -> bool {
    start.starts_with(&chunk::MAGIC)
}

/// Why a `.ft` file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The first bytes are those of something else.
    #[error("byte 0: not a binary trace")]
    NotBinary,
    /// The file header is damaged, or of a version or with a feature that is not known.
    #[error("byte {offset}: file header: {what}")]
    Header {
        /// Where in the file.
        offset: u64,
        /// Description of the error.
        what: String,
    },
    /// A chunk is damaged, or its content makes no sense.
    #[error("byte {offset}: chunk {chunk} ({kind}): {what}")]
    Damaged {
        /// Where in the file the chunk starts.
        offset: u64,
        /// Its number, from 1.
        chunk: u64,
        /// Its type.
        kind: String,
        /// Description of the error.
        what: String,
    },
    /// An event makes no sense.
    #[error("event {event}: {what}")]
    Event {
        /// The event.
        event: u32,
        /// Description of the error.
        what: String,
    },
}
