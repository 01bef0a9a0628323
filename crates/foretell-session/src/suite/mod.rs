//! The tests below a test runner: every recorded process is analysed as soon as it has ended, and
//! the findings of all are merged.
//!
//! The runner is started with the settings of the recording in its environment. Each instrumented
//! process below it, and each Java virtual machine, writes a log of its own into one directory. A
//! pool of threads translates the logs of processes that have ended to traces, saves these, and
//! predicts. When the runner has ended, findings of different processes with the same fingerprint
//! are one bug, which is replayed on the smallest of its traces.
//!
//! With a pool (see `pool`) the predictions and replays are its work items; the runner and the
//! translation of logs stay here.

mod pooled;
mod process;
mod test_name;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

use foretell_build::ScratchDirectory;
use foretell_launch::{Java, Launch, Run};
use foretell_limit::{Limit, within};
use foretell_report::cause;
use foretell_report::json::{Finding, Findings};
use foretell_rt_format::Log;
use foretell_trace::io::ReadOptions;
use foretell_trace::{FindingKind, RunFailure, Trace};
use foretell_translate::{Blocks, Error as LogError, Steps, Translated, java, translate};
use serde_json::Value;

use crate::cargo::ONE_TEST;
use crate::record::{identify, is_child_of_fork, note_java};
use crate::{
    Error, PredictOptions, ReplayRequest, Replayed, launch_as_recorded, load_steps,
    predict_watched, replay, save,
};

use pooled::{PooledReplay, SuitePool};
pub(crate) use pooled::{do_predict, do_replay};
pub use process::ProcessInfo;
use process::{LogDirectory, ProcessLog};
use test_name::TestNames;

/// Time between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(50);
/// Most traces of a bug to replay until one confirms it.
const MOST_TRACES: usize = 3;
/// Classes of test runners and their libraries, which are not recorded.
const RUNNERS: [&str; 10] = [
    "junit.*",
    "org.junit.*",
    "org.testng.*",
    "org.hamcrest.*",
    "org.opentest4j.*",
    "org.apiguardian.*",
    "org.apache.maven.*",
    "org.apache.tools.ant.*",
    "org.gradle.*",
    "worker.org.gradle.*",
];

/// Options of a suite.
#[derive(Clone, Debug)]
pub struct SuiteOptions {
    /// Runner and settings of the recording.
    pub launch: Launch,
    /// Blocks that are meant to be atomic.
    pub blocks: Blocks,
    /// Options of the predictions.
    pub predict: PredictOptions<'static>,
    /// Number of processes to analyse at a time.
    pub jobs: usize,
    /// Time after which a replay counts as hanging.
    pub limit: Duration,
    /// Most bugs to replay.
    pub replays: usize,
    /// Limits of the analyses.
    pub budget: Limit<'static>,
    /// Directory for the traces and their findings; none: they are not kept.
    pub output: Option<PathBuf>,
    /// Socket of a pool that does the predictions and replays; see `pool`. It gets the analyses and
    /// the time limits of `predict`.
    pub pool: Option<PathBuf>,
}

/// A recorded process and its findings.
#[derive(Debug)]
pub struct Test {
    /// Name of the test, as far as the runner tells, else of the program.
    pub name: String,
    /// The command that started the process.
    pub process: ProcessInfo,
    /// Path of the trace.
    pub path: PathBuf,
    /// Number of events of the trace.
    pub events: usize,
    /// The findings; findings of different tests that are one bug have the same id.
    pub findings: Findings,
}

/// A bug, which one or more tests show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bug {
    /// Index of the test with the smallest trace that confirms it, else the smallest.
    pub test: usize,
    /// Index of the finding of that test.
    pub finding: usize,
    /// Tests and findings that show it, the smallest trace first.
    pub shown_by: Vec<(usize, usize)>,
}

/// Outcome of a suite.
#[derive(Debug)]
pub struct Suite {
    /// Exit status of the runner.
    pub status: ExitStatus,
    /// Whether this process was asked to end, or its time was over.
    pub interrupted: bool,
    /// The recorded processes, in the order of their start.
    pub tests: Vec<Test>,
    /// The bugs, in the order of their ids.
    pub bugs: Vec<Bug>,
    /// Processes that could not be analysed, one line each.
    pub problems: Vec<String>,
    /// Number of tests of Rust that had one thread: there is nothing to predict.
    pub single_threaded: usize,
    /// Directory of the traces if they are not kept.
    _scratch: Option<ScratchDirectory>,
}

/// Counters of a suite that runs.
#[derive(Default, Debug)]
pub struct SuiteProgress {
    /// Processes that have ended.
    pub recorded: AtomicUsize,
    /// Processes that are analysed.
    pub analysed: AtomicUsize,
    /// Findings of all processes.
    pub findings: AtomicUsize,
    /// Bugs to replay.
    pub bugs: AtomicUsize,
    /// Bugs that were replayed.
    pub replayed: AtomicUsize,
    /// Whether the runner has ended.
    pub runner_ended: AtomicBool,
}

/// Logs that wait for their analysis.
#[derive(Default)]
struct Queue {
    waiting: Mutex<(VecDeque<ProcessLog>, bool)>,
    changed: Condvar,
}

impl Queue {
    fn put(&self, log: ProcessLog) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).0.push_back(log);
        self.changed.notify_one();
    }

    /// Notes that no more logs come.
    fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_all();
    }

    /// Returns the next log; `None` when there is none and none comes.
    fn take(&self) -> Option<ProcessLog> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(log) = waiting.0.pop_front() {
                return Some(log);
            }
            if waiting.1 {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs a test runner, and analyses every recorded process below it.
///
/// # Errors
/// If the runner cannot be started, or the traces cannot be saved.
pub fn run_suite(options: &SuiteOptions, progress: &SuiteProgress) -> Result<Suite, Error> {
    let parent = std::env::temp_dir();
    let scratch =
        ScratchDirectory::new_in(&parent, "foretell-test-").map_err(Error::file(&parent))?;
    let logs = scratch.path().join("logs");
    std::fs::create_dir(&logs).map_err(Error::file(&logs))?;
    let directory = match &options.output {
        Some(directory) => directory.clone(),
        None => scratch.path().join("traces"),
    };
    std::fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    // Replays need the same classes.
    let mut options = options.clone();
    options.launch.java.exclude.extend(RUNNERS.map(str::to_owned));
    let options = &options;
    let launch = Launch { more: Some(logs.clone()), ..options.launch.clone() };
    let names = TestNames::of(&launch.command);
    let pool = options.pool.as_ref().map(|path| SuitePool::connect(path, options)).transpose()?;
    let (queue, results) = (Queue::default(), Results::default());
    let single_threaded = AtomicUsize::new(0);
    let analysis = Analysis {
        options,
        directory: &directory,
        names: &names,
        single_threaded: &single_threaded,
    };
    let run = std::thread::scope(|scope| {
        let (sender, asked) = mpsc::channel::<(PathBuf, RecordedTest, u64)>();
        for _ in 0..options.jobs.max(1) {
            let sender = sender.clone();
            let (analysis, queue, results, pool) = (&analysis, &queue, &results, pool.as_ref());
            scope.spawn(move || {
                while let Some(log) = queue.take() {
                    let key = log.path.clone();
                    let recorded = match analysis.record(log) {
                        Ok(Some((recorded, trace))) => (recorded, trace),
                        Ok(None) => {
                            results.add(key, Ok(None), progress);
                            continue;
                        }
                        Err(error) => {
                            results.add(key, Err(error), progress);
                            continue;
                        }
                    };
                    let (recorded, trace) = recorded;
                    let Some(pool) = pool else {
                        let findings = analysis.predict(&recorded.path, &trace);
                        results.add(key, findings.map(|f| Some(recorded.with(f))), progress);
                        continue;
                    };
                    drop(trace);
                    match pool.predict(&recorded.path, options) {
                        Ok(id) => {
                            let _ = sender.send((key, recorded, id));
                        }
                        Err(error) => results.lose(error),
                    }
                }
            });
        }
        drop(sender);
        if let Some(pool) = &pool {
            let results = &results;
            scope.spawn(move || {
                for (key, recorded, id) in asked {
                    match pool.predicted(id, &recorded.path, &options.budget) {
                        Ok(findings) => {
                            results.add(key, findings.map(|f| Some(recorded.with(f))), progress);
                        }
                        Err(error) => results.lose(error),
                    }
                    pool.show(progress);
                }
            });
        }
        let ended = AtomicBool::new(false);
        let run = std::thread::scope(|inner| {
            let runner = inner.spawn(|| {
                let run = launch.run_with_log(&scratch.path().join("taken"));
                ended.store(true, Ordering::Release);
                run
            });
            let mut logs = LogDirectory::new(logs.clone());
            loop {
                let last = ended.load(Ordering::Acquire);
                for log in logs.ended(last) {
                    progress.recorded.fetch_add(1, Ordering::Relaxed);
                    queue.put(log);
                }
                if last {
                    break;
                }
                std::thread::park_timeout(PAUSE);
            }
            runner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        progress.runner_ended.store(true, Ordering::Relaxed);
        queue.close();
        run
    });
    let Run { status, interrupted, .. } = run?;
    let (mut tests, problems) = results.finish()?;
    number_names(&mut tests);
    if options.output.is_some() {
        name_files(&mut tests)?;
    }
    let bugs = merge(&mut tests);
    let keeps = options.output.is_some();
    let mut suite = Suite {
        status,
        interrupted,
        tests,
        bugs,
        problems,
        single_threaded: single_threaded.into_inner(),
        _scratch: (!keeps).then_some(scratch),
    };
    suite.replay(options, progress, pool.as_ref())?;
    suite.tests.iter_mut().for_each(|test| cause::assign(&mut test.findings.findings));
    if keeps {
        suite.save()?;
    }
    Ok(suite)
}

/// Outcome of the analysis of a process; `None` for one without a second thread.
type Analysed = Result<Option<Test>, Error>;

/// Results of the analyses, in the order in which they come.
#[derive(Default)]
struct Results {
    /// By the path of the log.
    all: Mutex<Vec<(PathBuf, Analysed)>>,
    /// First failure of the pool.
    lost: Mutex<Option<Error>>,
}

impl Results {
    fn add(&self, log: PathBuf, result: Analysed, progress: &SuiteProgress) {
        if let Ok(Some(test)) = &result {
            progress.findings.fetch_add(test.findings.findings.len(), Ordering::Relaxed);
        }
        progress.analysed.fetch_add(1, Ordering::Relaxed);
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push((log, result));
    }

    fn lose(&self, error: Error) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Returns the tests in the order of their start, and the problems, one line each.
    fn finish(self) -> Result<(Vec<Test>, Vec<String>), Error> {
        if let Some(error) = self.lost.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut all = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (mut tests, mut problems) = (Vec::new(), Vec::new());
        for (_, result) in all {
            match result {
                Ok(test) => tests.extend(test),
                Err(error) => problems.push(error.to_string()),
            }
        }
        Ok((tests, problems))
    }
}

/// A process whose trace is saved, before its prediction.
struct RecordedTest {
    name: String,
    process: ProcessInfo,
    path: PathBuf,
    events: usize,
}

impl RecordedTest {
    fn with(self, findings: Findings) -> Test {
        let RecordedTest { name, process, path, events } = self;
        Test { name, process, path, events, findings }
    }
}

/// The analysis of one process after the other.
struct Analysis<'a> {
    options: &'a SuiteOptions,
    directory: &'a Path,
    names: &'a TestNames,
    single_threaded: &'a AtomicUsize,
}

impl Analysis<'_> {
    /// Translates a log, and saves the trace. `None`: the child of a fork that had no second thread,
    /// or a test of Rust that had none.
    fn record(&self, log: ProcessLog) -> Result<Option<(RecordedTest, Arc<Trace>)>, Error> {
        let name = self.names.name(&log.info);
        let Some(mut translated) = self.translate(&log)? else { return Ok(None) };
        // Any program is recorded then, and most have nothing to show.
        if self.options.launch.preload
            && translated.trace.is_empty()
            && translated.failure.is_none()
        {
            return Ok(None);
        }
        let failure = translated.failure.clone();
        for (key, value) in failure.iter().flat_map(RunFailure::properties) {
            translated.trace.set_meta(&key, &value);
        }
        let words: Vec<String> =
            log.info.command.iter().map(|w| w.to_string_lossy().replace('\n', " ")).collect();
        translated.trace.set_meta("command", &words.join(" "));
        translated.trace.set_meta("test", &name);
        if log.java {
            note_java(&mut translated, &self.options.launch.java);
        }
        identify(&mut translated);
        let number = log.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = self.directory.join(format!("{}-{number}.ft", file_name(&name)));
        save(&translated, &path)?;
        // The trace is there; the log is long.
        let _ = std::fs::remove_file(&log.path);
        let trace = Arc::new(translated.trace.into_whole());
        let recorded = RecordedTest { name, process: log.info, path, events: trace.len() };
        Ok(Some((recorded, trace)))
    }

    fn predict(&self, path: &Path, trace: &Arc<Trace>) -> Result<Findings, Error> {
        let predict = &self.options.predict;
        let predicted =
            within(&self.options.budget, || predict_watched(path, trace, predict, &mut ()));
        Ok(predicted.map_err(Error::CutShort)??.findings)
    }

    fn translate(&self, log: &ProcessLog) -> Result<Option<Translated>, Error> {
        let path = &log.path;
        let file = std::fs::File::open(path).map_err(Error::file(path))?;
        // SAFETY: the process that wrote the file has ended, and the directory is ours.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(Error::file(path))?;
        if log.java {
            let (translated, _) = java::translate(path, &bytes, &self.options.blocks)?;
            return Ok(Some(translated));
        }
        let is_one_test = log.info.command.get(1).is_some_and(|word| word == ONE_TEST);
        let log =
            Log::parse(&bytes).map_err(|source| LogError::Log { path: path.clone(), source })?;
        // Most tests are like this, and reading the symbols takes longer than the test.
        if is_one_test && log.events().map_while(Result::ok).all(|entry| entry.thread == 0) {
            self.single_threaded.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let translated = translate(&log, &self.options.blocks);
        let is_empty = translated.steps.threads.is_empty() && translated.failure.is_none();
        Ok((!is_empty || !is_child_of_fork(&log)).then_some(translated))
    }
}

/// A name as part of a file's name.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    name.chars().map(plain).take(80).collect()
}

/// Numbers the processes of a test that has several.
fn number_names(tests: &mut [Test]) {
    let mut count = BTreeMap::<String, usize>::new();
    for test in tests {
        let number = count.entry(test.name.clone()).or_default();
        *number += 1;
        if *number > 1 {
            test.name = format!("{} #{number}", test.name);
        }
    }
}

/// Gives the traces the names of their tests, which are known only when all have come. Traces of an
/// earlier suite with these names are replaced.
fn name_files(tests: &mut [Test]) -> Result<(), Error> {
    let mut named = BTreeSet::new();
    for test in tests {
        let name = file_name(&test.name.replace(" #", "-"));
        let path = test.path.with_file_name(format!("{name}.ft"));
        // Different names may be one as the name of a file.
        if !named.insert(path.clone()) {
            continue;
        }
        let (from, to) = (Steps::path_for(&test.path), Steps::path_for(&path));
        std::fs::rename(&from, &to).map_err(Error::file(&from))?;
        std::fs::rename(&test.path, &path).map_err(Error::file(&test.path))?;
        test.findings.trace.path = path.display().to_string();
        test.path = path;
    }
    Ok(())
}

/// Finds the findings of different tests that are one bug, and gives them one id.
fn merge(tests: &mut [Test]) -> Vec<Bug> {
    let mut bugs: Vec<Bug> = Vec::new();
    let mut known = BTreeMap::<(FindingKind, String, usize), usize>::new();
    let mut last = BTreeMap::<FindingKind, usize>::new();
    let mut ids: Vec<String> = Vec::new();
    for (t, test) in tests.iter_mut().enumerate() {
        let mut repeated = BTreeMap::<(FindingKind, String), usize>::new();
        for (f, finding) in test.findings.findings.iter_mut().enumerate() {
            let print = finding.fingerprint.clone().unwrap_or_else(|| format!("{t} {f}"));
            let ordinal = repeated.entry((finding.kind, print.clone())).or_default();
            *ordinal += 1;
            let bug = *known.entry((finding.kind, print, *ordinal)).or_insert_with(|| {
                let number = last.entry(finding.kind).or_default();
                *number += 1;
                ids.push(format!("{}-{number}", finding.kind));
                bugs.push(Bug { test: t, finding: f, shown_by: Vec::new() });
                bugs.len() - 1
            });
            bugs[bug].shown_by.push((t, f));
            finding.id.clone_from(&ids[bug]);
        }
    }
    for bug in &mut bugs {
        bug.shown_by.sort_by_key(|&(t, _)| tests[t].events);
        (bug.test, bug.finding) = bug.shown_by[0];
        let mut names: Vec<&str> =
            bug.shown_by.iter().map(|&(t, _)| tests[t].name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        for &(t, f) in &bug.shown_by {
            tests[t].findings.findings[f].set_tests(&names);
        }
    }
    bugs
}

impl Suite {
    /// Returns the finding that stands for a bug.
    pub fn finding(&self, bug: &Bug) -> &Finding {
        &self.tests[bug.test].findings.findings[bug.finding]
    }

    /// Returns the trace of a test.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn trace(&self, test: usize) -> Result<Trace, Error> {
        let path = &self.tests[test].path;
        foretell_trace::io::load(path, &ReadOptions::default())
            .map(|loaded| loaded.trace)
            .map_err(|error| Error::Unsupported(error.to_string()))
    }

    /// Replays each bug on the smallest of its traces, or on larger ones until one confirms it: one
    /// bug after the other, with a pool many at a time.
    fn replay(
        &mut self,
        options: &SuiteOptions,
        progress: &SuiteProgress,
        pool: Option<&SuitePool>,
    ) -> Result<(), Error> {
        let is_bug = |suite: &Suite, bug: usize| {
            let kind = suite.finding(&suite.bugs[bug]).kind;
            kind != FindingKind::Nondeterminism && kind != FindingKind::Observed
        };
        let chosen: Vec<usize> =
            (0..self.bugs.len()).filter(|&b| is_bug(self, b)).take(options.replays).collect();
        progress.bugs.store(chosen.len(), Ordering::Relaxed);
        let (suite, next) = (&*self, AtomicUsize::new(0));
        let interrupted = AtomicBool::new(self.interrupted);
        let replayed = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..pool.map_or(1, SuitePool::capacity).min(chosen.len()) {
                scope.spawn(|| {
                    while let Some(&bug) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = suite.replay_bug(bug, options, pool, &interrupted);
                        replayed.lock().unwrap_or_else(PoisonError::into_inner).insert(bug, result);
                        progress.replayed.fetch_add(1, Ordering::Relaxed);
                        pool.into_iter().for_each(|pool| pool.show(progress));
                    }
                });
            }
        });
        self.interrupted = interrupted.into_inner();
        for (bug, result) in replayed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let BugReplay { verdicts, problem } = result?;
            for (t, f, outcome, confirmed) in verdicts {
                if confirmed {
                    (self.bugs[bug].test, self.bugs[bug].finding) = (t, f);
                }
                self.tests[t].findings.findings[f].set_replay(outcome, confirmed);
            }
            self.problems.extend(problem);
        }
        Ok(())
    }

    /// Replays a bug. An error is one of the pool.
    fn replay_bug(
        &self,
        bug: usize,
        options: &SuiteOptions,
        pool: Option<&SuitePool>,
        interrupted: &AtomicBool,
    ) -> Result<BugReplay, Error> {
        let mut replayed = BugReplay::default();
        for &(t, f) in self.bugs[bug].shown_by.iter().take(MOST_TRACES) {
            if interrupted.load(Ordering::Relaxed) || options.budget.reached().is_some() {
                interrupted.store(true, Ordering::Relaxed);
                break;
            }
            let test = &self.tests[t];
            let finding = &test.findings.findings[f];
            if let Some(pool) = pool.filter(|_| !test.process.command.is_empty()) {
                let asked = within(&options.budget, || pool.replay(test, finding, options));
                match asked.unwrap_or(Ok(PooledReplay::Interrupted))? {
                    PooledReplay::Confirmed(outcome) => {
                        replayed.verdicts.push((t, f, outcome, true));
                        break;
                    }
                    PooledReplay::Elsewhere => {}
                    PooledReplay::Interrupted => {
                        interrupted.store(true, Ordering::Relaxed);
                        break;
                    }
                }
            }
            let own = || self.replay_one(t, f, options);
            let result = pool.map_or_else(own, |pool| pool.on_this_machine(own));
            match result {
                Ok(result) => {
                    interrupted.fetch_or(result.interrupted, Ordering::Relaxed);
                    let confirmed = result.confirmed();
                    let outcome = result.to_json();
                    replayed.verdicts.extend(outcome.map(|outcome| (t, f, outcome, confirmed)));
                    if confirmed {
                        break;
                    }
                }
                Err(error) => {
                    let problem = format!("{}: {}: not replayed: {error}", test.name, finding.id);
                    replayed.problem = Some(problem);
                    break;
                }
            }
        }
        Ok(replayed)
    }

    /// Replays a finding of a test on this machine.
    fn replay_one(&self, t: usize, f: usize, options: &SuiteOptions) -> Result<Replayed, Error> {
        let test = &self.tests[t];
        if test.process.command.is_empty() {
            return Err(Error::Unsupported("the command of the process is not known".to_owned()));
        }
        let trace = self.trace(t)?;
        let steps = load_steps(&test.path, &trace)?;
        let launch = replay_launch(&trace, &test.process, &options.launch.java, options.limit);
        let request = ReplayRequest {
            trace: &trace,
            steps: &steps,
            model: test.findings.trace.model,
            finding: &test.findings.findings[f],
            launch: &launch,
            limit: options.limit,
        };
        within(&options.budget, || replay(&request, 1)).map_err(Error::CutShort)?
    }

    /// Writes the findings of each test beside its trace.
    fn save(&self) -> Result<(), Error> {
        for test in &self.tests {
            let path = test.path.with_extension("json");
            let mut text = Vec::new();
            let written =
                test.findings.write(&mut text).and_then(|()| std::fs::write(&path, &text));
            written.map_err(Error::file(&path))?;
        }
        Ok(())
    }
}

/// Verdicts of the replays of a bug.
#[derive(Default)]
struct BugReplay {
    /// Test, finding, the value of the field `replay`, and whether that confirmed it.
    verdicts: Vec<(usize, usize, Value, bool)>,
    /// Reason why there is no further replay, one line.
    problem: Option<String>,
}

/// Returns the launch of a process of a suite for a replay.
fn replay_launch(trace: &Trace, process: &ProcessInfo, java: &Java, limit: Duration) -> Launch {
    Launch {
        limit: Some(limit),
        java: java.clone(),
        working_directory: process.directory.clone(),
        environment: Some(process.environment.clone()),
        ..launch_as_recorded(trace, process.command.clone())
    }
}
