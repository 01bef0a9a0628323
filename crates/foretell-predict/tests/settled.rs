//! Questions about correct programs that are answered without an engine: must-happen-before, locks
//! and counts prove that there is nothing, and no query is left to solve. Brute force, where the
//! trace is small enough, says the same.

mod common;

use foretell_model::{BlockId, TraceModel};
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Counts, Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{FindingKind, Model};

/// The counts of an analysis of a trace in which it finds nothing.
fn counts(text: &str, kind: FindingKind, all: bool) -> Counts {
    let trace = common::trace(text);
    let analyses = [kind].into_iter().collect();
    let options = Options { analyses, all, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::View, &options).expect("no witness is refused");
    assert!(prediction.findings.is_empty(), "{:?}", prediction.findings);
    assert!(prediction.undecided.is_empty());
    if let Some(found) = foretell_brute::findings_within(&trace, Model::View, 200_000) {
        let race = kind == FindingKind::Race && !found.races.is_empty();
        let deadlock = kind == FindingKind::Deadlock && !found.deadlocks.is_empty();
        let lifetime = kind == FindingKind::Lifetime && !found.lifetimes.is_empty();
        assert!(!race && !deadlock && !lifetime, "{found:?}");
    }
    prediction.counts[&kind]
}

fn assert_settled(text: &str, kind: FindingKind) {
    for all in [false, true] {
        let counts = counts(text, kind, all);
        assert!(counts.candidates > 0);
        assert_eq!(counts.solved, 0, "{text}");
    }
}

/// Rounds of a text in which `{}` is the number of the round.
fn rounds(head: &str, round: &str, count: usize) -> String {
    let rounds = (0..count).map(|i| round.replace("{}", &i.to_string()));
    format!("{head}\n{}", rounds.collect::<Vec<_>>().join("\n"))
}

#[test]
fn data_that_semaphores_hand_round() {
    let round = "A|down(s)\nA|r(x)\nA|w(x)\nA|post(t)\nB|down(t)\nB|r(x)\nB|w(x)\nB|post(s)";
    assert_settled(&rounds("#! sem s=1", round, 2), FindingKind::Race);
    assert_settled(&rounds("#! sem s=1", round, 40), FindingKind::Race);
}

#[test]
fn phases_between_barriers() {
    let round = "A|w(a)\nB|w(b)\nA|arrive(p)\nB|arrive(p)\nA|leave(p)\nB|leave(p)
         A|r(b)\nB|r(a)\nB|arrive(p)\nA|arrive(p)\nA|leave(p)\nB|leave(p)";
    assert_settled(&rounds("#! barrier p=2", round, 2), FindingKind::Race);
    assert_settled(&rounds("#! barrier p=2", round, 40), FindingKind::Race);
}

#[test]
fn items_that_a_condition_announces() {
    let round =
        "C|acq(l)\nC|wait(c,l)\nP|w(x)\nP|acq(l)\nP|notify(c)\nP|rel(l)\nC|woken(c,l)\nC|rel(l)
         C|r(x)\nC|post(s)\nP|down(s)";
    assert_settled(&rounds("", round, 1), FindingKind::Race);
    assert_settled(&rounds("", round, 30), FindingKind::Race);
}

#[test]
fn phases_of_forks_and_joins() {
    let round = "M|fork(A{})\nM|fork(B{})\nA{}|w(x)\nB{}|w(y)\nM|join(A{})\nM|join(B{})\nM|w(x)";
    assert_settled(&rounds("", round, 2), FindingKind::Race);
    assert_settled(&rounds("", round, 60), FindingKind::Race);
}

/// Locks that are always taken in one order are on no cycle: there is not even a candidate.
#[test]
fn ordered_locks_have_no_candidates() {
    let pair = |t: usize, a: usize, b: usize| {
        format!("T{t}|acq(l{a})\nT{t}|acq(l{b})\nT{t}|rel(l{b})\nT{t}|rel(l{a})\n")
    };
    let text: String = (0..200).map(|i| pair(i % 5, i % 3, 3 + i % 4)).collect();
    assert_eq!(counts(&text, FindingKind::Deadlock, false).candidates, 0);
    assert_eq!(counts(&text, FindingKind::Deadlock, true).candidates, 0);
    // A gate lock, and an order that a join keeps.
    let gate = "A|acq(g)\nA|acq(l)\nA|acq(m)\nA|rel(m)\nA|rel(l)\nA|rel(g)\n";
    let gated = format!("{gate}{}", "B|acq(g)\nB|acq(m)\nB|acq(l)\nB|rel(l)\nB|rel(m)\nB|rel(g)");
    assert_eq!(counts(&gated, FindingKind::Deadlock, false).candidates, 0);
    let joined = "M|fork(A)\nA|acq(l)\nA|acq(m)\nA|rel(m)\nA|rel(l)\nM|join(A)
         M|acq(m)\nM|acq(l)\nM|rel(l)\nM|rel(m)";
    assert_eq!(counts(joined, FindingKind::Deadlock, false).candidates, 0);
}

/// The last write of a counter under a lock is the last in every complete run.
#[test]
fn final_values_of_counters() {
    let round = "A|acq(l)\nA|r(x)\nA|w(x)\nA|rel(l)\nB|acq(l)\nB|r(x)\nB|w(x)\nB|rel(l)";
    let trace = common::trace(&rounds("", round, 5));
    let analyses = [FindingKind::Nondeterminism].into_iter().collect();
    let options = Options { analyses, all: true, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::View, &options).expect("no witness is refused");
    let last = |c: &Candidate| matches!(c, Candidate::FinalValue(..));
    assert!(!prediction.findings.iter().any(|f| last(&f.candidate)));
    // All reads but the first are nondeterministic; that one and the final value are dropped.
    let counts = prediction.counts[&FindingKind::Nondeterminism];
    assert_eq!((counts.candidates, counts.predicted), (11, 9));
    assert_eq!((counts.must_happen_before, counts.solved), (2, 9));
}

/// A long block that the observed run violates, and one that another order does: no search.
#[test]
fn violated_blocks_need_no_search() {
    let seen = rounds("A|begin", "A|w(x)\nB|w(x)", 300) + "\nA|end";
    let unseen = rounds("A|begin", "A|w(x)", 600) + "\nA|end\nB|w(x)";
    for text in [seen, unseen] {
        let trace = common::trace(&text);
        let trace_model = TraceModel::new(&trace, Model::View);
        let mut engine = OrderEngine::new(&trace_model);
        let query = Candidate::Serializability(BlockId(0)).query();
        let verdict = engine.decide(&query, &Limit::default());
        assert!(matches!(verdict, Verdict::Witness(_)), "{verdict:?}");
        assert_eq!(engine.rounds(), 0);
    }
}

/// A semaphore with one permit that every thread gives back is a lock.
#[test]
fn semaphores_as_locks() {
    let section = |t: &str| format!("{t}|down(s)\n{t}|r(x)\n{t}|w(x)\n{t}|post(s)\n");
    let text: String = ["A", "B", "C", "A", "C", "B"].map(section).concat();
    assert_settled(&format!("#! sem s=1\n{text}"), FindingKind::Race);
    assert_settled(&format!("#! sem s=1\n{}", text.repeat(40)), FindingKind::Race);
}

/// In the value model, a value that was there at the start has been overwritten by the thread
/// itself: only the write of the other thread is left to be seen.
#[test]
fn initial_values_that_are_overwritten() {
    let text = "#! init x=0\nA|w(x=1)\nA|w(y=1)\nB|w(y=2)\nB|w(x=0)\nA|r(x=0)\nA|w(y=3)";
    let trace = common::trace(text);
    let trace_model = TraceModel::new(&trace, Model::Value);
    let TraceModel { chains, must_happen_before, .. } = &trace_model;
    let [early, late] = [2, 5].map(foretell_trace::EventId);
    assert!(must_happen_before.ordered_before(chains, &trace, early, late));
    let analyses = [FindingKind::Race].into_iter().collect();
    let options = Options { analyses, all: true, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::Value, &options).expect("no witness is refused");
    let races = prediction.findings.iter().map(|f| f.candidate.clone());
    assert!(!races.into_iter().any(|c| c == Candidate::Race(early, late)));
    let found = foretell_brute::findings_within(&trace, Model::Value, 200_000).expect("few states");
    assert_eq!(found.races.len(), prediction.findings.len());
}
