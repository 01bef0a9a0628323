//! Recording a run, from the command to the trace.

use std::path::Path;

use foretell_rt_format::{Log, StopReason};

use crate::java::end::End;
use crate::java::tables::Tables;
use crate::launch::{Launch, Run};
use crate::{Blocks, Error, Translated, java, translate};

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// How the program ran.
    pub run: Run,
    /// What came of it.
    pub translated: Translated,
    /// What the user should know, one line each.
    pub notes: Vec<String>,
}

/// Runs a program and translates what it recorded.
///
/// # Errors
/// When the program cannot be run, or is not instrumented, or its log is not one.
pub fn record(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    let run = launch.run()?;
    let path = run.log();
    let file = std::fs::File::open(&path).map_err(Error::file(&path))?;
    // SAFETY: the program that wrote the file has ended, and the directory is ours.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(Error::file(&path))?;
    let (mut translated, notes) = if run.java {
        java_translated(&path, &bytes, blocks)?
    } else {
        let log = Log::parse(&bytes).map_err(|source| Error::Log { path, source })?;
        let translated = translate(&log, blocks);
        let notes = notes(&log, &translated);
        (translated, notes)
    };
    let mut builder = std::mem::take(&mut translated.trace).into_builder();
    let ended = if translated.deadlock { "deadlock".to_owned() } else { run.ended() };
    builder.set_meta("ended", &ended);
    let words: Vec<String> =
        launch.command.iter().map(|w| w.to_string_lossy().replace('\n', " ")).collect();
    builder.set_meta("command", &words.join(" "));
    translated.trace = builder.build();
    Ok(Recorded { run, translated, notes })
}

/// Translates the log of a Java program.
fn java_translated(
    path: &Path,
    bytes: &[u8],
    blocks: &Blocks,
) -> Result<(Translated, Vec<String>), Error> {
    let log = java::log::Log::parse(bytes)
        .map_err(|source| Error::Log { path: path.to_path_buf(), source })?;
    let tables = Tables::load(&path.with_extension("tables"))?;
    let translated = java::translate::translate(&log, &tables, blocks);
    let end = End::of(&log);
    let mut notes = tables.notes;
    if end.stopped {
        notes.push("no space was left for the log: the trace ends there".to_owned());
    }
    common_notes(&translated, &mut notes);
    notes.extend(end.uncaught.iter().map(|e| format!("uncaught {}", e.text())));
    Ok((translated, notes))
}

fn notes(log: &Log<'_>, translated: &Translated) -> Vec<String> {
    let mut notes = Vec::new();
    match log.header.stopped {
        StopReason::None => {}
        StopReason::NoSpace => {
            notes.push("no space was left for the log: the trace ends there".to_owned());
        }
        StopReason::Failed => {
            notes.push("the log could not grow: the trace ends there".to_owned());
        }
    }
    common_notes(translated, &mut notes);
    notes
}

fn common_notes(translated: &Translated, notes: &mut Vec<String>) {
    if translated.damaged {
        notes.push("the end of the log could not be read: the trace ends there".to_owned());
    }
    notes.extend(translated.repairs.iter().map(ToString::to_string));
    if translated.deadlock {
        notes.push("the recorded run itself ended in a deadlock".to_owned());
    }
}
