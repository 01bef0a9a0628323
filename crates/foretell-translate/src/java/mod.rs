//! The log of a Java program, and its translation.
//!
//! The agent (`agents/java`) writes two files: the log of the threads' actions (`log`), and
//! tables of classes, methods and source locations (`tables`). Schedules, steps and verdicts are
//! those of native programs, with a class in place of a module and the number of a location in
//! its class in place of a code address.

mod blind_puts;
mod end;
mod ended;
mod event_writer;
mod failed_rmw;
mod failure;
mod hidden;
mod log;
mod mutex_semaphores;
mod objects;
mod optimistic_reads;
mod plain;
mod progress;
mod provenance;
mod record;
mod resources;
mod states;
mod survey;
mod sync;
mod tables;
#[cfg(test)]
mod tests;
mod translation;
mod unexplained;
mod variables;

use std::path::Path;

pub use end::{RunEnd, Uncaught};
pub use progress::{Progress, Variable, Waiting};
pub use record::Blocked;

use crate::{Blocks, Error, Translated};

/// Translates the log of a Java program, whose bytes were read from `path`; also returns notes
/// for the user, one line each.
///
/// # Errors
/// When the log or the tables beside it are not valid.
pub fn translate(
    path: &Path,
    bytes: &[u8],
    blocks: &Blocks,
) -> Result<(Translated, Vec<String>), Error> {
    let log =
        log::Log::parse(bytes).map_err(|source| Error::Log { path: path.to_path_buf(), source })?;
    let tables = tables::Tables::load(&path.with_extension("tables"))?;
    let translated = translation::translate(&log, &tables, blocks);
    let end = RunEnd::of(&log);
    let mut notes = tables.notes;
    if end.log_full {
        notes.push("no space was left for the log: the trace ends there".to_owned());
    }
    notes.extend(translated.notes());
    notes.extend(end.uncaught.iter().map(|e| format!("uncaught {}", e.text())));
    Ok((translated, notes))
}
