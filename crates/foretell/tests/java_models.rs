//! Models of classes of the Java platform: correct and incorrect uses of each.
//!
//! Each file of `java_models` has some scenarios, static methods without parameters. In one file
//! every scenario has a bug, which has to be found; in another one none has, and nothing may be
//! predicted, confirmed or not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

/// Analyses whose findings are bugs by themselves.
const ANALYSES: &str = "race,atomicity,serializability,transactions,deadlock,lifetime";

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java_models")
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it runs")
}

fn told(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}\n{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Records all scenarios of a file, and returns what is predicted.
fn findings(directory: &Path, class: &str, seed: &str) -> Vec<Value> {
    let mut record = Command::new(FORETELL);
    record.args(["record", "--seed", seed, "--quantum", "20", "-o", "run.ft", "--"]);
    let recorded = output(record.args(["java", class]).current_dir(directory));
    assert_eq!(recorded.status.code(), Some(0), "{}", told(&recorded));
    let mut predict = Command::new(FORETELL);
    predict.args(["predict", "--analyses", ANALYSES, "--format", "json", "run.ft"]);
    let predicted = output(predict.current_dir(directory));
    let document: Value = serde_json::from_slice(&predicted.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", told(&predicted)));
    document["findings"].as_array().expect("a list").clone()
}

fn compiled(class: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut javac = Command::new("javac");
    javac.args(["-g", "-nowarn", "-Xlint:none", "-d"]).arg(directory.path());
    javac.args(["Scenarios.java", &format!("{class}.java")]).current_dir(sources());
    let compiled = output(&mut javac);
    assert!(compiled.status.success(), "{}", told(&compiled));
    directory
}

/// Returns each scenario of a file with its lines, as findings name them.
fn scenarios(class: &str) -> Vec<(String, Vec<String>)> {
    let file = format!("{class}.java");
    let source = fs::read_to_string(sources().join(&file)).expect("it is there");
    let mut scenarios: Vec<(String, Vec<String>)> = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let name = line.strip_prefix("    static void ");
        let name = name.and_then(|rest| rest.strip_suffix("() throws Exception {"));
        scenarios.extend(name.map(|name| (name.to_owned(), Vec::new())));
        if let Some((_, lines)) = scenarios.last_mut() {
            lines.push(format!("{file}:{number}"));
        }
    }
    scenarios
}

fn locations<'a>(findings: impl Iterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    findings.filter_map(|f| f["locations"].as_array()).flatten().filter_map(Value::as_str).collect()
}

/// Every scenario of a file is in a finding of one of two runs.
fn every_bug_is_found(class: &str) {
    let directory = compiled(class);
    let found: Vec<Value> =
        ["0", "1"].iter().flat_map(|seed| findings(directory.path(), class, seed)).collect();
    let found = locations(found.iter());
    let missed: Vec<String> = scenarios(class)
        .into_iter()
        .filter(|(_, lines)| !lines.iter().any(|line| found.contains(line.as_str())))
        .map(|(name, _)| name)
        .collect();
    assert!(missed.is_empty(), "{class}: {missed:?} are missed");
}

fn nothing_is_predicted(class: &str) {
    let directory = compiled(class);
    for seed in ["0", "1"] {
        let findings = findings(directory.path(), class, seed);
        let shown: Vec<_> = findings
            .iter()
            .map(|f| format!("{} {} {}", f["kind"], f["objects"], f["locations"]))
            .collect();
        assert!(shown.is_empty(), "{class} with seed {seed}: {shown:#?}");
    }
}

/// `foretell check` confirms the bugs of some scenarios.
fn confirmed(class: &str, names: &[&str]) {
    let directory = tempfile::tempdir().expect("a directory");
    for file in ["Scenarios.java", &format!("{class}.java")] {
        fs::copy(sources().join(file), directory.path().join(file)).expect("it is copied");
    }
    let mut check = Command::new(FORETELL);
    check.args([
        "check",
        "--runs",
        "1",
        "--json",
        "findings.json",
        &format!("{class}.java"),
        "Scenarios.java",
    ]);
    let checked = output(check.arg("--").args(names).current_dir(directory.path()));
    assert_eq!(checked.status.code(), Some(1), "{}", told(&checked));
    let text = fs::read_to_string(directory.path().join("findings.json")).expect("a file");
    let document: Value = serde_json::from_str(&text).expect("findings");
    let findings = document["findings"].as_array().expect("a list");
    let confirmed = findings.iter().filter(|f| f["confirmation"] == "confirmed");
    let found = locations(confirmed);
    for (name, lines) in scenarios(class) {
        let is_found = lines.iter().any(|line| found.contains(line.as_str()));
        assert!(is_found || !names.contains(&name.as_str()), "{name}: {}", told(&checked));
    }
}

#[test]
fn plain_collections_race() {
    every_bug_is_found("Racy");
}

#[test]
fn plain_collections_are_used_correctly() {
    nothing_is_predicted("Guarded");
}

#[test]
fn races_of_collections_are_confirmed() {
    confirmed("Racy", &["arrayListAdd", "hashMapIteration", "stringBuilderAppend", "wrongLocks"]);
}

#[test]
fn tasks_race() {
    every_bug_is_found("RacyTasks");
}

#[test]
fn tasks_are_used_correctly() {
    nothing_is_predicted("GuardedTasks");
}

#[test]
fn races_of_tasks_are_confirmed() {
    confirmed("RacyTasks", &["forkJoin"]);
    confirmed("RacyTasks", &["parallelStream"]);
    let others = ["asynchronousStages", "semaphoresInOppositeOrders", "stampedReaders"];
    confirmed("RacyTasks", &others);
    confirmed("RacyTasks", &["afterBarrierAction"]);
    confirmed("RacyTasks", &["listsAppendedToEachOther"]);
}

#[test]
fn operations_that_are_not_atomic_together_are_confirmed() {
    confirmed("Compound", &["vector", "synchronizedMap", "linkedQueue", "copyOnWriteList"]);
    confirmed("Compound", &["concurrentMap"]);
    confirmed("Compound", &["blockingDeque", "boundedQueue"]);
    confirmed("Compound", &["atomicInteger"]);
}

#[test]
fn objects_race_after_they_were_handed_over() {
    every_bug_is_found("RacyHandovers");
}

#[test]
fn objects_are_handed_over_correctly() {
    nothing_is_predicted("GuardedHandovers");
}

#[test]
fn resources_are_used_after_their_end() {
    every_bug_is_found("RacyResources");
}

#[test]
fn resources_are_closed_correctly() {
    nothing_is_predicted("GuardedResources");
}

#[test]
fn uses_after_the_end_are_confirmed() {
    confirmed("RacyResources", &["writerUnderALock", "channel", "markedClass"]);
}

/// Options say which classes of the program are resources; a replay has them from the trace.
#[test]
fn classes_with_an_end_are_named_by_options() {
    let directory = compiled("RacyResources");
    let record = |options: &[&str]| {
        let mut record = Command::new(FORETELL);
        record.args(["record", "-o", "run.ft", "--resource-annotations", "Other"]).args(options);
        record.args(["--", "java", "RacyResources", "markedClass"]);
        let recorded = output(record.current_dir(directory.path()));
        assert_eq!(recorded.status.code(), Some(0), "{}", told(&recorded));
        let mut predict = Command::new(FORETELL);
        predict.args(["predict", "run.ft"]).current_dir(directory.path());
        output(&mut predict).status.code()
    };
    assert_eq!(record(&[]), Some(0));
    assert_eq!(record(&["--resources", "*Connection"]), Some(1));
    let mut replay = Command::new(FORETELL);
    replay.args(["replay", "run.ft", "lifetime-1", "--", "java", "RacyResources"]);
    let replayed = output(replay.arg("markedClass").current_dir(directory.path()));
    let text = told(&replayed);
    let words: Vec<&str> = text.split_whitespace().collect();
    let verdict = "use after close at RacyResources.java:92 (closed at RacyResources.java:100)";
    assert!(words.join(" ").contains(verdict), "{text}");
}

#[test]
fn weak_access_modes_race() {
    every_bug_is_found("RacyModes");
}

#[test]
fn access_modes_are_used_correctly() {
    nothing_is_predicted("GuardedModes");
}

#[test]
fn races_of_weak_access_modes_are_confirmed() {
    let modes = ["opaqueElement", "weakUpdater", "fenceOfTheWriterOnly", "plainStoreOfAnAtomic"];
    confirmed("RacyModes", &modes);
}

#[test]
fn races_of_objects_that_were_handed_over_are_confirmed() {
    let meetings = ["exchanger", "synchronousQueue", "ownSynchronizer", "streamOfList"];
    confirmed("RacyHandovers", &meetings);
    confirmed("RacyHandovers", &["dependentStages"]);
    confirmed("RacyHandovers", &["poolWithMoreTasksThanThreads"]);
}
