//! Recording a run, from the command to the trace.

use std::sync::atomic::{AtomicBool, Ordering};

use foretell_launch::{Launch, Mode, Run};
use foretell_log::{ChunkStore, Filter, FilterLimits, Ring, memory_limit};
use foretell_rt_format::{Header, Log, StopReason};
use foretell_translate::{
    Blocks, Error as LogError, Translated, java, translate, translate_from, translate_symbolic,
};

use crate::Error;

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// The run of the program.
    pub run: Run,
    /// The trace of the run, and its steps.
    pub translated: Translated,
    /// Remarks for the user, one line each.
    pub notes: Vec<String>,
}

/// Environment variable for tests: with `off` no record is filtered out while the program runs. The
/// trace does not depend on it.
const FILTER: &str = "FORETELL_FILTER";

/// Runs a program and translates its log to a trace.
///
/// # Errors
/// If the program cannot be run, is not instrumented, or its log is not valid.
pub fn record(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    if launch.symbolic && launch.is_java() {
        return Err(Error::Unsupported(
            "--symbolic is for C programs; Java is recorded without it".to_owned(),
        ));
    }
    // Calls of functions may be blocks: which accesses are in one is not known while the program
    // runs.
    let keep_all = launch.keep_all || !blocks.functions.is_empty();
    let launch = &Launch { keep_all, ..launch.clone() };
    let filters = launch.mode == Mode::Record
        && !launch.symbolic
        && !launch.is_java()
        && std::env::var_os(FILTER).is_none_or(|v| v != "off");
    let ring = if filters { Ring::new().ok() } else { None };
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
    let store = ChunkStore::new(memory_limit(), &launch.directory);
    let functions = !blocks.functions.is_empty();
    let mut filter = Filter::new(store, FilterLimits::default(), functions, !launch.keep_all);
    let ended = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        scope.spawn(|| ring.follow(&ended, |chunk| filter.chunk(chunk)));
        let run = launch.run_with_log(&ring.path());
        ended.store(true, Ordering::Release);
        run
    })?;
    if !ring.is_used() {
        return Err(launch.nothing_recorded().into());
    }
    let header = ring
        .rest(|chunk| filter.chunk(chunk))
        .map_err(|source| LogError::Log { path: ring.path(), source })?;
    let (filtered, calls) = filter.finish();
    let translated = translate_from(&&filtered, &header, calls, blocks);
    let mut notes = notes(&header, &translated);
    notes.extend(filtered.left_out());
    Ok(Recorded { run, translated, notes })
}

/// Reads the log when the program has ended.
fn read_whole(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    let run = launch.run()?;
    let path = run.log();
    let file = std::fs::File::open(&path).map_err(LogError::file(&path))?;
    // SAFETY: the program that wrote the file has ended, and the directory is ours.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(LogError::file(&path))?;
    if run.java {
        let (translated, notes) = java::translate(&path, &bytes, blocks)?;
        return Ok(Recorded { run, translated, notes });
    }
    let log = Log::parse(&bytes).map_err(|source| LogError::Log { path, source })?;
    let translated = if launch.symbolic {
        translate_symbolic(&log, blocks).ok_or_else(|| launch.not_symbolic())?
    } else {
        translate(&log, blocks)
    };
    let notes = notes(&log.header, &translated);
    Ok(Recorded { run, translated, notes })
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
    notes.extend(translated.notes());
    notes.extend(translated.symbolic.map(|symbolic| symbolic.to_string()));
    notes
}
