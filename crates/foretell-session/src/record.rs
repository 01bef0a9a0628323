//! Recording a run, from the command to the trace.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use foretell_launch::{Java, Launch, Mode, Run};
use foretell_limit::shielded;
use foretell_log::{ChunkStore, Filter, FilterLimits, Ring, memory_limit};
use foretell_rt_format::{EXIT_STEPS, Header, Log, Record, StopReason};
use foretell_trace::{FailureKind, RunFailure};
use foretell_translate::{
    Blocks, Error as LogError, ID, Translated, java, translate, translate_from, translate_symbolic,
};

use crate::Error;
use crate::failure::failure;

/// A recorded run.
#[derive(Debug)]
pub struct Recorded {
    /// The run of the program.
    pub run: Run,
    /// The trace of the run, and its steps.
    pub translated: Translated,
    /// Remarks for the user, one line each.
    pub notes: Vec<String>,
    /// The failure of the run, if it failed. The trace carries it too.
    pub failure: Option<RunFailure>,
    /// Further processes that were recorded, in the order of their start.
    pub others: Vec<RecordedProcess>,
}

/// A further process of a recorded run.
#[derive(Debug)]
pub struct RecordedProcess {
    /// Name of its program, without directories.
    pub name: String,
    /// The trace of the process, and its steps.
    pub translated: Translated,
    /// The failure of the process, if it failed. The trace carries it too.
    pub failure: Option<RunFailure>,
}

/// Properties of a trace: options that say which classes of Java have steps.
pub(crate) const INCLUDE: &str = "include";
pub(crate) const EXCLUDE: &str = "exclude";
/// Properties of a trace: options about classes with `close`, whose methods are steps.
pub(crate) const RESOURCES: &str = "resources";
pub(crate) const RESOURCE_ANNOTATIONS: &str = "resource annotations";

/// Notes the options of a recording of a Java program that decide about its steps: a replay needs
/// the same.
pub(crate) fn note_java(translated: &mut Translated, java: &Java) {
    let usual = Java::default();
    for (name, list, usual) in [
        (INCLUDE, &java.include, &usual.include),
        (EXCLUDE, &java.exclude, &usual.exclude),
        (RESOURCES, &java.resources, &usual.resources),
        (RESOURCE_ANNOTATIONS, &java.resource_annotations, &usual.resource_annotations),
    ] {
        if list != usual {
            translated.trace.set_meta(name, &list.join(","));
        }
    }
}

/// Environment variable for tests: with `off` no record is filtered out while the program runs. The
/// trace does not depend on it.
const FILTER: &str = "FORETELL_FILTER";

/// Most bytes of a log of which a few pages are read: one that the runtime has not enlarged.
const SHORT_LOG: usize = 16 << 20;

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
    let Recorded { run, mut translated, notes, .. } = match &ring {
        Some(ring) => follow(launch, ring, blocks)?,
        None => read_whole(launch, blocks)?,
    };
    let failure = failure(&run, &translated, launch.limit);
    let deadlock = failure.as_ref().is_some_and(|f| f.kind == FailureKind::Deadlock);
    let ended = if deadlock { "deadlock".to_owned() } else { run.ended() };
    translated.trace.set_meta("ended", &ended);
    if run.java {
        note_java(&mut translated, &launch.java);
    }
    if !run.java && launch.exit_steps != EXIT_STEPS {
        translated.trace.set_meta("exit steps", &launch.exit_steps.to_string());
    }
    for (key, value) in failure.iter().flat_map(RunFailure::properties) {
        translated.trace.set_meta(&key, &value);
    }
    let words: Vec<String> =
        launch.command.iter().map(|w| w.to_string_lossy().replace('\n', " ")).collect();
    translated.trace.set_meta("command", &words.join(" "));
    for module in &mut translated.steps.modules {
        let of_module = |(_, copy): &&(PathBuf, PathBuf)| copy.as_path() == Path::new(&*module);
        if let Some((original, _)) = launch.copies.iter().find(of_module) {
            *module = original.to_string_lossy().into_owned();
        }
    }
    let others = others(&run, blocks, launch)?;
    if !others.is_empty() {
        let name = program_name(&translated);
        name_process(&mut translated, &name, (1, others.len() + 1));
    }
    identify(&mut translated);
    Ok(Recorded { run, translated, notes, failure, others })
}

/// Gives a trace and its steps their common id.
pub(crate) fn identify(translated: &mut Translated) {
    let properties = translated.trace.names().meta();
    let id = translated.steps.identify(properties.values().map(String::as_str));
    translated.trace.set_meta(ID, &id);
    translated.steps.id = Some(id);
}

/// The name of the program of a process, without directories.
fn program_name(translated: &Translated) -> String {
    let program = translated.steps.modules.first().cloned().unwrap_or_default();
    program.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Notes which process of a run a trace is of: its program and its number, as there is no other
/// name that stays the same when the run is repeated.
fn name_process(translated: &mut Translated, name: &str, (number, count): (usize, usize)) {
    translated.trace.set_meta("process", name);
    translated.trace.set_meta("process number", &format!("{number} of {count}"));
}

/// Translates the logs of further processes.
fn others(run: &Run, blocks: &Blocks, launch: &Launch) -> Result<Vec<RecordedProcess>, Error> {
    let mut others = Vec::new();
    for path in run.more_logs() {
        let bytes = std::fs::read(&path).map_err(LogError::file(&path))?;
        let log = Log::parse(&bytes).map_err(|source| LogError::Log { path, source })?;
        // The path of such a process begins in the middle of a function.
        let is_child = is_child_of_fork(&log);
        let mut translated = match launch.symbolic && !is_child {
            true => translate_symbolic(&log, blocks).ok_or_else(|| launch.not_symbolic())?,
            false => translate(&log, blocks),
        };
        // The child of a fork that was killed before it had a second thread.
        if is_child && translated.steps.threads.is_empty() && translated.failure.is_none() {
            continue;
        }
        let failure = translated.failure.clone();
        for (key, value) in failure.iter().flat_map(RunFailure::properties) {
            translated.trace.set_meta(&key, &value);
        }
        let name = program_name(&translated);
        others.push(RecordedProcess { name, translated, failure });
    }
    let count = others.len() + 1;
    for (i, RecordedProcess { name, translated, .. }) in others.iter_mut().enumerate() {
        name_process(translated, name, (i + 2, count));
        identify(translated);
    }
    Ok(others)
}

/// Whether a log is that of a child of `fork`: a record before the first thread begins says so.
pub(crate) fn is_child_of_fork(log: &Log<'_>) -> bool {
    let records = log.events().map_while(Result::ok).map(|entry| entry.record);
    let mut first = records.take_while(|record| !matches!(record, Record::ThreadBegin { .. }));
    first.any(|record| matches!(record, Record::ChildOfFork { .. }))
}

/// Does work that saves what was recorded. A request to end that came while the program ran has
/// ended the program; it does not end this work.
pub(crate) fn saving<T>(run: &Run, work: impl FnOnce() -> T) -> T {
    if run.interrupted { shielded(work) } else { work() }
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
    let translated = saving(&run, || translate_from(&&filtered, &header, calls, blocks));
    let mut notes = notes(&header, &translated);
    notes.extend(filtered.left_out());
    Ok(Recorded { run, translated, notes, failure: None, others: Vec::new() })
}

/// Reads the log when the program has ended.
fn read_whole(launch: &Launch, blocks: &Blocks) -> Result<Recorded, Error> {
    let run = launch.run()?;
    if run.timed_out && matches!(launch.mode, Mode::Replay { .. }) {
        // It is not followed any further, and the log of a thread that spins is long.
        let translated = Translated::default();
        return Ok(Recorded {
            run,
            translated,
            notes: Vec::new(),
            failure: None,
            others: Vec::new(),
        });
    }
    let path = run.log();
    let file = std::fs::File::open(&path).map_err(LogError::file(&path))?;
    // SAFETY: the program that wrote the file has ended, and the directory is ours.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(LogError::file(&path))?;
    if bytes.len() <= SHORT_LOG {
        // Most of such a log is empty: reading ahead would fill memory with zeros. It is a hint.
        let _ = bytes.advise(memmap2::Advice::Random);
    }
    if run.java {
        let (translated, notes) = saving(&run, || java::translate(&path, &bytes, blocks))?;
        return Ok(Recorded { run, translated, notes, failure: None, others: Vec::new() });
    }
    let log = Log::parse(&bytes).map_err(|source| LogError::Log { path, source })?;
    let translated = if launch.symbolic {
        saving(&run, || translate_symbolic(&log, blocks)).ok_or_else(|| launch.not_symbolic())?
    } else {
        saving(&run, || translate(&log, blocks))
    };
    let notes = notes(&log.header, &translated);
    Ok(Recorded { run, translated, notes, failure: None, others: Vec::new() })
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
