//! Java programs that hand objects over through code which is not recorded.
//!
//! Each file of `java_boundary` has some scenarios: one thread fills a box and hands it over,
//! another thread takes it and uses it. As they are, the programs are correct, and nothing may be
//! predicted, confirmed or not. With the argument `late` the first thread writes to the box once
//! more: a race in every scenario, which has to be found although the hand-over stays in order.
//! Some of these races are lost ([`LOST`]): mostly because the thread that takes the box waits in
//! code that is not modelled, or uses reflection, and comes back after everything that the other
//! thread has done; in `ownExecutor` because both threads call one lambda, whose calls keep their
//! order. Scenarios that do not look at `late` have no incorrect variant.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

/// Analyses whose findings are bugs by themselves.
const ANALYSES: &str = "race,atomicity,serializability,transactions,deadlock";

/// Seeds of the recorded runs.
const SEEDS: [&str; 2] = ["0", "1"];

/// Scenarios whose race may be lost to kept order.
const LOST: [&str; 56] = [
    "takeLast",
    "exchanger",
    "transfer",
    "delayQueue",
    "phaser",
    "phaserArrive",
    "forkJoinSubtasks",
    "timer",
    "publisher",
    "socket",
    "pipedStream",
    "pipedReader",
    "ownExecutor",
    "barrierWaiting",
    "exchangerBothWays",
    "latchTimedOut",
    "phaserOnAdvance",
    "phaserTiered",
    "phaserAwaitAdvance",
    "phaserDeregister",
    "synchronousOffer",
    "synchronousPoll",
    "synchronousQueue",
    "synchronousQueueFair",
    "transferTry",
    "transferWaits",
    "dequeMixed",
    "delayQueueTake",
    "delayQueueTyped",
    "fieldGet",
    "fieldSet",
    "fieldSetStatic",
    "fieldSetUnread",
    "getBlocker",
    "methodHandleSetter",
    "ownLatchShared",
    "ownMutexCondition",
    "updaterFunction",
    "varHandleBytes",
    "varHandleExact",
    "varHandleUnreflected",
    "applyToEither",
    "thenAcceptBoth",
    "thenCompose",
    "managedBlocker",
    "booleanProperty",
    "systemProperties",
    "referenceQueue",
    "nioPipe",
    "pipedObject",
    "bufferedLines",
    "socketChannel",
    "datagram",
    "socketClosed",
    "process",
    "processExit",
];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java_boundary")
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it runs")
}

fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}\n{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// A directory with the compiled scenarios of a theme.
struct Theme {
    /// The class that runs them.
    name: &'static str,
    /// Names of the files that have them.
    files: Vec<String>,
    directory: tempfile::TempDir,
}

impl Theme {
    fn compile(name: &'static str, parts: &[&str]) -> Theme {
        let files: Vec<String> =
            parts.iter().chain([&name]).map(|file| format!("{file}.java")).collect();
        let directory = tempfile::tempdir().expect("a directory");
        let mut javac = Command::new("javac");
        javac.args(["-g", "-nowarn", "-Xlint:none", "-d"]).arg(directory.path());
        javac.arg("Handover.java").args(&files).current_dir(sources());
        let compiled = output(&mut javac);
        assert!(compiled.status.success(), "{}", told(&compiled));
        Theme { name, files, directory }
    }

    /// Records a run, predicts, and returns the findings.
    fn findings(&self, seed: &str, late: bool) -> Vec<Value> {
        let late = if late { &["late"][..] } else { &[] };
        let mut record = Command::new(FORETELL);
        record.args(["record", "--seed", seed, "--quantum", "20", "-o", "run.ft", "--"]);
        record.args(["java", self.name]).args(late).current_dir(self.directory.path());
        let recorded = output(&mut record);
        assert_eq!(recorded.status.code(), Some(0), "{}", told(&recorded));
        let mut predict = Command::new(FORETELL);
        predict.args(["predict", "--analyses", ANALYSES, "--format", "json", "run.ft"]);
        let predicted = output(predict.current_dir(self.directory.path()));
        let document: Value = serde_json::from_slice(&predicted.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", told(&predicted)));
        document["findings"].as_array().expect("a list").clone()
    }

    /// Returns each line of the sources, as the findings name it, with its text and its scenario.
    fn lines(&self) -> Vec<(String, String, String)> {
        let scenario = |line: &str| {
            let name = line
                .strip_prefix("    static void ")?
                .strip_suffix("(boolean late) throws Exception {")?;
            Some(name.to_owned())
        };
        let mut lines = Vec::new();
        for file in &self.files {
            let source = fs::read_to_string(sources().join(file)).expect("it is there");
            let mut current = None;
            for (number, line) in source.lines().enumerate() {
                current = scenario(line).or(current);
                let location = format!("{file}:{}", number + 1);
                lines.extend(current.clone().map(|name| (location, line.to_owned(), name)));
            }
        }
        lines
    }

    fn nothing_is_predicted(&self) {
        for seed in SEEDS {
            let findings = self.findings(seed, false);
            let shown: Vec<_> = findings
                .iter()
                .map(|f| format!("{} {} {}", f["kind"], f["objects"], f["locations"]))
                .collect();
            assert!(shown.is_empty(), "{} with seed {seed}: {shown:#?}", self.name);
        }
    }

    fn late_writes_are_found(&self) {
        let findings: Vec<Value> =
            SEEDS.iter().flat_map(|seed| self.findings(seed, true)).collect();
        let races: BTreeSet<&str> = findings
            .iter()
            .filter(|f| f["kind"] == "race")
            .filter_map(|f| f["locations"].as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let lines = self.lines();
        let found: BTreeSet<&str> = lines
            .iter()
            .filter(|(location, ..)| races.contains(location.as_str()))
            .map(|(.., scenario)| scenario.as_str())
            .collect();
        let missed: BTreeSet<&str> = lines
            .iter()
            .filter(|(_, line, _)| line.contains("late)") && !line.contains("boolean late"))
            .map(|(.., scenario)| scenario.as_str())
            .filter(|name| !found.contains(name) && !LOST.contains(name))
            .collect();
        assert!(missed.is_empty(), "{}: {missed:?} are missed", self.name);
    }
}

/// `themes! { test => Theme: Parts; }`: two tests for each theme.
macro_rules! themes {
    ($($name:ident => $theme:literal $(: $($part:literal)*)?;)*) => {$(
        mod $name {
            use super::Theme;

            #[test]
            fn nothing_is_predicted() {
                Theme::compile($theme, &[$($($part),*)?]).nothing_is_predicted();
            }

            #[test]
            fn late_writes_are_found() {
                Theme::compile($theme, &[$($($part),*)?]).late_writes_are_found();
            }
        }
    )*};
}

themes! {
    collections_in_monitors => "CollectionsInMonitors";
    views => "Views";
    safe_collections => "SafeCollections";
    locks => "Locks";
    synchronizers => "Synchronizers";
    atomic_variables => "AtomicVariables";
    tasks => "Tasks";
    threads => "Threads";
    more_collections => "MoreCollections": "Navigables" "Descriptions" "Streams";
    more_concurrent => "MoreConcurrent": "Queues" "ConcurrentMaps" "Counts" "AtomicObjects";
    more_locks => "MoreLocks": "LockKinds" "FieldHandles";
    more_tasks => "MoreTasks": "Futures" "Pools";
    more_threads => "MoreThreads": "ThreadStates" "Idioms" "Channels";
}
