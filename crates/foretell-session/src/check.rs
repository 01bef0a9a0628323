//! The whole job in one go: build, record, predict, replay.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use foretell_launch::{Launch, Run};
use foretell_replay::{Reference, Replay, Verdict};
use foretell_report::json::{Finding, Findings};
use foretell_trace::{FindingKind, Trace};
use foretell_translate::{Blocks, Steps, TraceOutput};
use tempfile::TempDir;

use crate::replay::replay_json;
use crate::witnesses::Witnesses;
use crate::{Error, Observer, PredictOptions, Program, Recorded, predict, record};

/// Options of a check.
#[derive(Clone, Debug)]
pub struct CheckOptions<'a> {
    /// The program to build.
    pub program: Program,
    /// Seed, quantum and the other options of the first run. `command` holds the arguments of the
    /// program; `directory`, `quiet` and `limit` are set by the check.
    pub launch: Launch,
    /// Blocks that are meant to be atomic.
    pub blocks: Blocks,
    /// Number of runs to record, each with the next seed.
    pub runs: u64,
    /// Time after which a run counts as hanging.
    pub limit: Duration,
    /// Options of the prediction.
    pub predict: PredictOptions<'a>,
    /// Most findings of a run to replay.
    pub replays: usize,
    /// Whether nondeterministic reads are of interest by themselves, and not only when their
    /// replay goes wrong.
    pub nondeterminism: bool,
    /// Name of the trace in findings documents.
    pub trace_path: PathBuf,
}

impl CheckOptions<'_> {
    /// Returns the default options for a program: one run, all analyses, 20 seconds for a run, 60
    /// for a query, up to 100 replays.
    pub fn new(program: Program) -> Self {
        let mut predict = PredictOptions::default();
        predict.driver.timeout = Some(Duration::from_secs(60));
        CheckOptions {
            program,
            launch: Launch::new(Vec::new()),
            blocks: Blocks::default(),
            runs: 1,
            limit: Duration::from_secs(20),
            predict,
            replays: 100,
            nondeterminism: false,
            trace_path: PathBuf::from("foretell.ft"),
        }
    }
}

/// One recorded run with its findings.
#[derive(Debug)]
pub struct CheckedRun {
    /// The run of the program.
    pub run: Run,
    /// The trace of the run.
    pub trace: Trace,
    /// Steps behind the events of the trace; see [`save_trace`](crate::save_trace).
    pub steps: Steps,
    /// The findings document, with the verdicts of the replays.
    pub findings: Findings,
    /// Indices of the findings that are worth showing: those that no earlier run had at the same
    /// source locations, without the nondeterministic reads that correct programs have too.
    pub shown: Vec<usize>,
}

/// The runs of a check: an iterator that records the next run and analyses it at each step.
#[derive(Debug)]
pub struct Check<'a> {
    options: CheckOptions<'a>,
    /// The command that runs the program.
    command: Vec<OsString>,
    /// Directory of the program and of the files of its runs.
    directory: TempDir,
    /// Number of runs so far.
    done: u64,
    /// Kind and source locations of the findings of earlier runs.
    seen: BTreeSet<(FindingKind, Vec<Option<String>>)>,
}

/// Builds a program and returns the check of it. Each call of [`Check::next_run`] then records a
/// run, predicts, and replays every new finding on the real program.
///
/// # Errors
/// If the program cannot be built.
pub fn check<'a>(
    options: CheckOptions<'a>,
    observer: &mut dyn Observer,
) -> Result<Check<'a>, Error> {
    let directory = tempfile::Builder::new()
        .prefix("foretell-check-")
        .tempdir()
        .map_err(Error::file(std::env::temp_dir()))?;
    let mut command =
        options.program.build(directory.path(), |message| observer.warning(message))?;
    command.extend(options.launch.command.iter().cloned());
    Ok(Check { options, command, directory, done: 0, seen: BTreeSet::new() })
}

impl Check<'_> {
    /// Records and analyses the next run; `None` after the last one.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace cannot be analysed.
    pub fn next_run(&mut self, observer: &mut dyn Observer) -> Result<Option<CheckedRun>, Error> {
        if self.done == self.options.runs {
            return Ok(None);
        }
        let options = &self.options;
        let launch = Launch {
            command: self.command.clone(),
            seed: options.launch.seed.wrapping_add(self.done),
            directory: self.directory.path().to_path_buf(),
            quiet: true,
            limit: Some(options.limit),
            ..options.launch.clone()
        };
        self.done += 1;
        let recorded = record(&launch, &options.blocks)?;
        observer.recorded(&recorded);
        let Recorded { run, translated, .. } = recorded;
        let trace = match translated.trace {
            TraceOutput::Packed(packed) => packed.unpack(),
            TraceOutput::Whole(trace) => trace,
        };
        let steps = translated.steps;
        let findings = predict(&options.trace_path, &trace, &options.predict)?.findings;
        let mut checked = CheckedRun { run, trace, steps, findings, shown: Vec::new() };
        self.replay_new(&mut checked, &launch, observer)?;
        Ok(Some(checked))
    }

    /// Replays the findings that no earlier run had.
    fn replay_new(
        &mut self,
        checked: &mut CheckedRun,
        launch: &Launch,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let CheckedRun { run, trace, steps, findings, shown } = checked;
        let reference = Reference::of(run, Some(run.stdout()));
        let limit = self.options.limit;
        let replay = Replay { launch, steps, reference: &reference, limit };
        let mut left = self.options.replays;
        let model = findings.trace.model;
        for (i, finding) in findings.findings.iter_mut().enumerate() {
            if !self.seen.insert((finding.kind, finding.locations.clone())) {
                continue;
            }
            let mut verdict = None;
            if left > 0 {
                left -= 1;
                let witnesses = Witnesses { trace, model, finding };
                let orders = witnesses.found();
                let worst = replay.run(&witnesses.target(), &orders, || witnesses.nearest())?;
                observer.replayed(finding, &worst);
                finding.set_replay(replay_json(&worst, 1, 1), worst.confirms());
                verdict = Some(worst);
            }
            if self.options.is_worth_showing(finding, verdict.as_ref()) {
                shown.push(i);
            }
        }
        Ok(())
    }
}

impl CheckOptions<'_> {
    /// Whether to show a finding. Correct programs have nondeterministic reads, too: they are of
    /// interest if something goes wrong then.
    fn is_worth_showing(&self, finding: &Finding, verdict: Option<&Verdict>) -> bool {
        finding.kind != FindingKind::Nondeterminism
            || self.nondeterminism
            || verdict.is_some_and(Verdict::is_failure)
    }
}
