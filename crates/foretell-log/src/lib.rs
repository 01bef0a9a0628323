//! The log of a recorded run.
//!
//! The runtime writes records into a [`Ring`] while the program runs. A [`Filter`] reads them as
//! they come, keeps the chunks ([`ChunkStore`]) and decides which records matter; a
//! [`FilteredLog`] then shows those records, each with its call stack, to a [`Sink`]. A
//! [`WholeLog`] shows every record of a log that was written to a file.

mod access;
mod address_set;
mod calls;
mod chunk_store;
mod clock;
mod filter;
mod logged_record;
mod ring;
mod word_table;

pub use access::{touched, writes};
pub use calls::{Call, CallId, Calls, OUTSIDE, Stack};
pub use chunk_store::{ChunkStore, memory_limit};
pub use filter::{Filter, FilterLimits, FilteredLog};
pub use logged_record::{LastStep, LoggedRecord, PlainAccess, Sink, Source, WholeLog};
pub use ring::Ring;
