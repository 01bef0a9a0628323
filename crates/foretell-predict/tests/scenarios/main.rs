//! Small traces with all that can be said about them: one for each rule of the semantics that is
//! easy to get wrong, and for what published tools miss or report by mistake.
//!
//! The place of an event is its name here, and findings are written with these names, in the order
//! of the trace where order does not matter. Every scenario states the complete set of findings;
//! brute force must agree with it.

mod blocks;
#[path = "../common/mod.rs"]
mod common;
mod deadlocks;
mod races;
mod views;
mod waits;

use std::collections::BTreeSet;

use foretell_brute::Findings;
use foretell_predict::driver::{Options, Prediction, predict};
use foretell_trace::{EventId, Model, Trace};

/// A trace and what was predicted of it.
struct Scenario {
    trace: Trace,
    prediction: Prediction,
}

/// Predicts everything in both models and compares with what is expected.
#[track_caller]
fn expect(text: &str, expected: &[&str]) -> Scenario {
    expect_in(Model::Value, text, expected);
    expect_in(Model::View, text, expected)
}

#[track_caller]
fn expect_in(model: Model, text: &str, expected: &[&str]) -> Scenario {
    let trace = common::trace(text);
    let options = Options { all: true, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, model, &options).expect("no witness is refused");
    let expected: BTreeSet<String> = expected.iter().map(|&f| f.to_owned()).collect();
    let found = names(&trace, &common::as_brute(&prediction.findings));
    assert_eq!(found, expected, "predicted (left), model {model}");
    let brute = names(&trace, &foretell_brute::findings(&trace, model));
    assert_eq!(brute, expected, "brute force (left), model {model}");
    Scenario { trace, prediction }
}

/// The name of an event: its place, or thread and index.
fn name(trace: &Trace, e: EventId) -> String {
    match trace.site(e) {
        Some(site) => trace.location(site).to_owned(),
        None => format!("{}#{}", trace.thread_name(trace.thread(e)), e.0),
    }
}

fn names(trace: &Trace, findings: &Findings) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut add = |kind: &str, events: &[EventId]| {
        let events: Vec<_> = events.iter().map(|&e| name(trace, e)).collect();
        names.insert(format!("{kind} {}", events.join(" ")));
    };
    findings.races.iter().for_each(|r| add("race", r));
    findings.atomicity.iter().for_each(|a| add("atomicity", a));
    findings.serializability.iter().for_each(|b| add("serializability", &[*b]));
    findings.transactions.iter().for_each(|b| add("transactions", &[*b]));
    findings.nondeterministic_reads.iter().for_each(|r| add("nondeterministic", &[*r]));
    findings.lifetimes.iter().for_each(|l| add("lifetime", l));
    findings.deadlocks.iter().for_each(|d| add("deadlock", d));
    for &x in &findings.final_values {
        names.insert(format!("final {}", trace.variable_name(x)));
    }
    names
}

impl Scenario {
    /// The witness of a finding, as the names of its events.
    #[track_caller]
    fn witness(&self, finding: &str) -> Vec<String> {
        let is = |f: &&foretell_predict::finding::Finding| {
            let only = common::as_brute(std::slice::from_ref(*f));
            names(&self.trace, &only).contains(finding)
        };
        let found = self.prediction.findings.iter().find(is).expect("the finding");
        found.schedule.iter().map(|&e| name(&self.trace, e)).collect()
    }
}
