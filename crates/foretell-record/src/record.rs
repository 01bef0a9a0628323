//! Recording a run, from the command to the trace.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use foretell_rt_format::{Header, Log, StopReason};

use crate::hold::{Hold, memory_limit};
use crate::java::end::End;
use crate::java::tables::Tables;
use crate::launch::{Launch, Mode, Run};
use crate::ring::Ring;
use crate::sift::Sift;
use crate::translate::{translate_from, translate_symbolic};
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

/// Set to `off` in the environment: nothing is sifted out while the program runs. The trace is the same.
const SIFT: &str = "FORETELL_SIFT";

/// Runs a program and translates what it recorded.
///
/// # Errors
/// When the program cannot be run, or is not instrumented, or its log is not one.
pub fn record(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    if launch.symbolic && launch.is_java() {
        return Err(Error::Other(
            "--symbolic is for C programs; Java is recorded without it".to_owned(),
        ));
    }
    // Calls of functions may be blocks: nobody knows while the program runs what is in one.
    let keep_all = launch.keep_all || !blocks.functions.is_empty();
    let launch = &Launch { keep_all, ..launch.clone() };
    let sifts = launch.mode == Mode::Record
        && !launch.symbolic
        && !launch.is_java()
        && std::env::var_os(SIFT).is_none_or(|v| v != "off");
    let ring = if sifts { Ring::new().ok() } else { None };
    let Recorded { run, mut translated, notes } = match &ring {
        Some(ring) => follow(launch, ring, blocks)?,
        None => read_whole(launch, blocks)?,
    };
    let ended = if translated.deadlock { "deadlock".to_owned() } else { run.ended() };
    translated.trace.set_meta("ended", &ended);
    let words: Vec<String> =
        launch.command.iter().map(|w| w.to_string_lossy().replace('\n', " ")).collect();
    translated.trace.set_meta("command", &words.join(" "));
    Ok(Recorded { run, translated, notes })
}

/// Reads the log while the program runs.
fn follow(launch: &Launch, ring: &Ring, blocks: &Blocks) -> Result<Recorded, Error> {
    let hold = Hold::new(memory_limit(), &launch.directory);
    let functions = !blocks.functions.is_empty();
    let mut sift = Sift::new(hold, functions, !launch.keep_all);
    let ended = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| ring.follow(&ended, |chunk| sift.chunk(chunk)));
        let run = launch.run_with_log(&ring.path());
        ended.store(true, Ordering::Release);
        run
    })?;
    if !ring.is_used() {
        return Err(launch.nothing_recorded());
    }
    let header = ring
        .rest(|chunk| sift.chunk(chunk))
        .map_err(|source| Error::Log { path: ring.path(), source })?;
    let (sifted, calls) = sift.finish();
    let translated = translate_from(&&sifted, &header, calls, blocks);
    let mut notes = notes(&header, &translated);
    notes.extend(sifted.left_out());
    Ok(Recorded { run, translated, notes })
}

/// Reads the log when the program has ended.
fn read_whole(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    let run = launch.run()?;
    let path = run.log();
    let file = std::fs::File::open(&path).map_err(Error::file(&path))?;
    // SAFETY: the program that wrote the file has ended, and the directory is ours.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(Error::file(&path))?;
    if run.java {
        let (translated, notes) = java_translated(&path, &bytes, blocks)?;
        return Ok(Recorded { run, translated, notes });
    }
    let log = Log::parse(&bytes).map_err(|source| Error::Log { path, source })?;
    let translated = if launch.symbolic {
        translate_symbolic(&log, blocks).ok_or_else(|| launch.not_symbolic())?
    } else {
        translate(&log, blocks)
    };
    let notes = notes(&log.header, &translated);
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

fn notes(header: &Header, translated: &Translated) -> Vec<String> {
    let mut notes = Vec::new();
    match header.stopped {
        StopReason::None => {}
        StopReason::NoSpace => {
            notes.push("no space was left for the log: the trace ends there".to_owned());
        }
        StopReason::Failed => {
            notes.push("the log could not grow: the trace ends there".to_owned());
        }
    }
    common_notes(translated, &mut notes);
    notes.extend(translated.symbolic.map(|symbolic| symbolic.to_string()));
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
