//! Work items of a test suite that a pool does: predictions on the traces, and replays of bugs.
//!
//! | item | does | answer |
//! |---|---|---|
//! | `{"predict": TRACE, "analyses": […], "timeout_ms": …, "process_ms": …, "budget_ms": …}` | predicts on a trace | `{"findings": TEXT}`, the findings file |
//! | `{"replay": FINDING, "trace": TRACE, "model": …, "command": […], "directory": …, "environment": […], "names": {…}, "limit_ms": …, "budget_ms": …}` | replays a finding | `{"replay": …, "confirmed": …}` |
//!
//! `budget_ms` is what is left of the time of the suite. Either item may have the answer
//! `{"problem": "…"}`, one line about the trace or the program; an error is one of the pool. With
//! `"cut_short": true` a limit of the worker was reached.
//!
//! A node may lack files that the program reads. So only a replay that confirms its finding counts
//! as it is; the session repeats the others on its own machine, whose verdict is that of a suite
//! without a pool.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foretell_launch::{Launch, SignalGuard};
use foretell_limit::{Limit, Reason, within};
use foretell_predict::driver::Options as DriverOptions;
use foretell_report::json::{Finding, Findings};
use foretell_trace::io::ReadOptions;
use foretell_trace::{Model, Trace};
use foretell_translate::{ID, Steps};
use serde_json::{Value, json};

use super::process::ProcessInfo;
use super::{SuiteOptions, SuiteProgress, Test, replay_launch};
use crate::pool::{Job, Pool, program, text};
use crate::{Error, PredictOptions, ReplayRequest, predict_watched, replay};

/// Time that a prediction whose budget is over has to answer with what it has.
const GRACE: Duration = Duration::from_secs(3);

/// The pool of a suite.
#[derive(Debug)]
pub(super) struct SuitePool {
    pool: Pool,
    /// Held by the replay on this machine: several at a time would disturb each other.
    own_replay: Mutex<()>,
}

/// Answer of a pool to a replay.
pub(super) enum PooledReplay {
    /// The replay reached the finding; the value of its field `replay`.
    Confirmed(Value),
    /// The replay has to be done on this machine.
    Elsewhere,
    /// This process was asked to end.
    Interrupted,
}

impl SuitePool {
    /// Connects to the pool at a socket.
    pub(super) fn connect(path: &Path, options: &SuiteOptions) -> Result<SuitePool, Error> {
        // Each item has its own program.
        let launch = Launch { command: Vec::new(), ..options.launch.clone() };
        let pool = Pool::connect(path, &Job::new(&launch, &options.blocks), &[])?;
        Ok(SuitePool { pool, own_replay: Mutex::new(()) })
    }

    /// Returns the number of items that are useful at a time.
    pub(super) fn capacity(&self) -> usize {
        self.pool.capacity()
    }

    /// Sends a prediction on the trace in a file. Returns the number of the item.
    pub(super) fn predict(&self, path: &Path, options: &SuiteOptions) -> Result<u64, Error> {
        let path = absolute(path);
        let driver = &options.predict.driver;
        let analyses: Vec<String> = driver.analyses.iter().map(ToString::to_string).collect();
        let item = json!({
            "predict": text(path.as_os_str())?,
            "analyses": analyses,
            "timeout_ms": driver.timeout.map(millis),
            "process_ms": driver.budget.map(millis),
            "budget_ms": left(&options.budget).map(millis),
        });
        self.pool.submit(&item, std::slice::from_ref(&path))
    }

    /// Waits for the findings of a prediction on the trace in `path`.
    pub(super) fn predicted(
        &self,
        id: u64,
        path: &Path,
        budget: &Limit<'_>,
    ) -> Result<Result<Findings, Error>, Error> {
        // Its nodes end it in time; what they found until then comes a little later.
        let patient = Limit { deadline: budget.deadline.map(|end| end + GRACE), ..*budget };
        let answer = match within(&patient, || self.pool.answer(id)) {
            Ok(answer) => answer?,
            Err(reason) => return Ok(Err(Error::CutShort(reason))),
        };
        let document = match (answer["problem"].as_str(), answer["findings"].as_str()) {
            (Some(problem), _) => return Ok(Err(Error::Unsupported(problem.to_owned()))),
            (None, Some(document)) => document,
            (None, None) => return Err(Error::Unsupported("the pool: no findings".to_owned())),
        };
        let mut findings = Findings::parse(document)
            .map_err(|source| Error::Findings { path: path.to_path_buf(), source })?;
        findings.trace.path = path.display().to_string();
        Ok(Ok(findings))
    }

    /// Replays a finding of a test.
    pub(super) fn replay(
        &self,
        test: &Test,
        finding: &Finding,
        options: &SuiteOptions,
    ) -> Result<PooledReplay, Error> {
        let signals = SignalGuard::new();
        let before = signals.requests();
        // A command that is no text cannot be sent.
        let Ok((item, files)) = replay_item(test, finding, options) else {
            return Ok(PooledReplay::Elsewhere);
        };
        let id = self.pool.submit(&item, &files)?;
        while !self.pool.is_done(id)? {
            if signals.requests() > before {
                return Ok(PooledReplay::Interrupted);
            }
        }
        let answer = self.pool.answer(id)?;
        let confirmed = answer["confirmed"] == true && answer["replay"].is_object();
        Ok(match confirmed {
            true => PooledReplay::Confirmed(answer["replay"].clone()),
            false => PooledReplay::Elsewhere,
        })
    }

    /// Does a replay on this machine, one at a time.
    pub(super) fn on_this_machine<T>(&self, replay: impl FnOnce() -> T) -> T {
        let _one = self.own_replay.lock().unwrap_or_else(PoisonError::into_inner);
        replay()
    }

    /// Sends the counters of the suite to show.
    pub(super) fn show(&self, progress: &SuiteProgress) {
        use std::sync::atomic::Ordering::Relaxed;
        let SuiteProgress { recorded, findings, bugs, replayed, .. } = progress;
        let mut shown = json!({
            "processes recorded": recorded.load(Relaxed),
            "findings": findings.load(Relaxed),
        });
        if bugs.load(Relaxed) > 0 {
            shown["bugs replayed"] = replayed.load(Relaxed).into();
        }
        self.pool.show(shown);
    }
}

/// Returns the item that replays a finding of a test, and the files that it needs.
fn replay_item(
    test: &Test,
    finding: &Finding,
    options: &SuiteOptions,
) -> Result<(Value, Vec<PathBuf>), Error> {
    let ProcessInfo { command, directory, environment } = &test.process;
    let trace = absolute(&test.path);
    let words: Vec<&str> = command.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
    let mut variables: Vec<[&str; 2]> = Vec::new();
    for (name, value) in environment {
        variables.push([text(name)?, text(value)?]);
    }
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut files = vec![trace.clone(), Steps::path_for(&trace)];
    let launch = Launch { working_directory: directory.clone(), ..Launch::new(command.clone()) };
    for (name, file) in named_files(&launch) {
        names.insert(text(name.as_os_str())?.to_owned(), text(file.as_os_str())?.to_owned());
        // Logs and schedules name the program by its true path.
        names.insert(text(file.as_os_str())?.to_owned(), text(file.as_os_str())?.to_owned());
        files.push(file);
    }
    let directory = directory.as_ref().map(|path| text(path.as_os_str())).transpose()?;
    let item = json!({
        "replay": finding,
        "trace": text(trace.as_os_str())?,
        "model": test.findings.trace.model.to_string(),
        "command": words,
        "directory": directory,
        "environment": variables,
        "names": names,
        "limit_ms": millis(options.limit),
        "budget_ms": left(&options.budget).map(millis),
    });
    Ok((item, files))
}

/// Returns the files and directories that a command names and a replay needs, by these names: the
/// program, and for Java the parts of the class path.
fn named_files(launch: &Launch) -> Vec<(PathBuf, PathBuf)> {
    let mut files = Vec::new();
    if let (Some(path), Some(name)) = (program(launch), launch.command.first()) {
        files.push((name.into(), path));
    }
    if launch.is_java() {
        let directory = launch.working_directory.clone().unwrap_or_default();
        for part in launch.command.iter().skip(1).flat_map(std::env::split_paths) {
            let path = absolute(&directory.join(&part));
            // An empty part is no file.
            if !part.as_os_str().is_empty() && path.exists() {
                files.push((part, path));
            }
        }
    }
    files
}

/// Files of an item by the path that the session knows them by, and their paths on this machine.
type Copies = BTreeMap<PathBuf, PathBuf>;

/// Predicts on a trace, for a worker. `None`: not such an item.
pub(crate) fn do_predict(item: &Value, copies: &Copies) -> Option<Value> {
    let name = Path::new(item["predict"].as_str()?);
    let analyses = item["analyses"].as_array()?.iter();
    let driver = DriverOptions {
        analyses: analyses.map(|kind| kind.as_str()?.parse().ok()).collect::<Option<_>>()?,
        timeout: duration(&item["timeout_ms"]),
        budget: duration(&item["process_ms"]),
        jobs: 1,
        ..DriverOptions::default()
    };
    let options = PredictOptions { driver, ..PredictOptions::default() };
    let predict = || -> Result<Value, Error> {
        let trace = Arc::new(load(here(copies, name))?);
        let findings = predict_watched(name, &trace, &options, &mut ())?.findings;
        let mut document = Vec::new();
        findings.write(&mut document).map_err(Error::file(name))?;
        let document = String::from_utf8_lossy(&document).into_owned();
        Ok(json!({"findings": document, "cut_short": !findings.is_complete()}))
    };
    Some(answer_of(within(&limit_of(item), predict)))
}

/// Replays a finding, for a worker. `None`: not such an item.
pub(crate) fn do_replay(job: &Job, item: &Value, copies: &Copies) -> Option<Value> {
    let finding: Finding = serde_json::from_value(item["replay"].clone()).ok()?;
    let name = Path::new(item["trace"].as_str()?);
    let model: Model = item["model"].as_str()?.parse().ok()?;
    let words = |value: &Value| -> Option<Vec<OsString>> {
        value.as_array()?.iter().map(|word| Some(word.as_str()?.into())).collect()
    };
    let mut environment = Vec::new();
    for variable in item["environment"].as_array()? {
        let [name, value] = <[OsString; 2]>::try_from(words(variable)?).ok()?;
        environment.push((name, value));
    }
    let process = ProcessInfo {
        command: words(&item["command"])?,
        directory: item["directory"].as_str().map(PathBuf::from),
        environment,
    };
    let names = item["names"].as_object()?.iter();
    let pairs: Vec<(PathBuf, PathBuf)> = names
        .filter_map(|(name, file)| {
            Some((name.into(), here(copies, file.as_str()?.as_ref()).into()))
        })
        .collect();
    let limit = duration(&item["limit_ms"])?;
    let replayed = || -> Result<Value, Error> {
        if let Some(place) = process.directory.as_ref().filter(|place| !place.is_dir()) {
            return Err(Error::Unsupported(format!("{}: no such directory", place.display())));
        }
        let trace = load(here(copies, name))?;
        let steps = Steps::path_for(name);
        let id = trace.meta().get(ID).map(String::as_str);
        let steps = Steps::load(here(copies, &steps), trace.len(), id)?;
        let launch = replay_launch(&trace, &process, &job.launch.java, limit);
        let launch = &Launch { copies: pairs, ..launch };
        let request =
            ReplayRequest { trace: &trace, steps: &steps, model, finding: &finding, launch, limit };
        let replayed = replay(&request, 1)?;
        Ok(json!({"replay": replayed.to_json(), "confirmed": replayed.confirmed()}))
    };
    Some(answer_of(within(&limit_of(item), replayed)))
}

/// Returns the answer to an item.
fn answer_of(done: Result<Result<Value, Error>, Reason>) -> Value {
    match done {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => json!({"problem": error.to_string()}),
        Err(reason) => {
            json!({"problem": Error::CutShort(reason).to_string(), "cut_short": true})
        }
    }
}

fn load(path: &Path) -> Result<Trace, Error> {
    foretell_trace::io::load(path, &ReadOptions::default())
        .map(|loaded| loaded.trace)
        .map_err(|error| Error::Unsupported(error.to_string()))
}

/// Returns the path that a file has on this machine.
fn here<'a>(copies: &'a Copies, path: &'a Path) -> &'a Path {
    copies.get(path).map_or(path, PathBuf::as_path)
}

fn limit_of(item: &Value) -> Limit<'static> {
    let deadline = duration(&item["budget_ms"]).and_then(|left| Instant::now().checked_add(left));
    Limit { deadline, ..Limit::none() }
}

/// Returns what is left of the time of a limit.
fn left(limit: &Limit<'_>) -> Option<Duration> {
    match limit.reached() {
        Some(Reason::Time) => Some(Duration::ZERO),
        _ => limit.deadline.map(|end| end.saturating_duration_since(Instant::now())),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}

fn duration(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}
