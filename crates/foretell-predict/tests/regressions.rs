//! Regressions, one trace each.

mod common;

use foretell_model::TraceModel;
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Options, predict};
use foretell_predict::finding::Finding;
use foretell_trace::{EventId, Model, VarId};
use foretell_verify::Checker;

/// Two sections of a lock at once. An engine that proposes this is wrong and must be told so by the
/// checker; trimming once looked for the end of the first section for ever.
#[test]
fn impossible_schedule_is_refused() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|w(x)
         T2|rel(l)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let checker = Checker::new(&trace, Model::View);
    let schedule = [3, 0, 4, 1, 5, 2].map(EventId);
    let candidate = Candidate::FinalValue(EventId(4), VarId(0));
    let refused = Finding::new(&trace_model, &checker, &candidate, &schedule, "order");
    assert_eq!(refused.unwrap_err().candidate, candidate);
}

/// A read that waits for another value once was taken for a write between a read and its writer,
/// and races were called impossible.
#[test]
fn reads_come_between_nothing() {
    let trace = common::trace(
        "#! init x=0
         T2|acq(l)
         T2|au(x=0>1)
         T1|r(x=1)
         T1|ar(x=1)
         T1|r(x=1)
         T2|w(x=0)
         T2|rel(l)
         T2|acq(l)
         T2|au(x=0>1)
         T2|w(x=0)
         T2|rel(l)
         T1|ar(x=0)
         T1|r(x=0)
         T1|ar(x=0)
         T1|r(x=0)
         T1|ar(x=0)",
    );
    let options = Options { all: true, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::Value, &options).expect("no witness is refused");
    let expected = foretell_brute::findings(&trace, Model::Value);
    assert_eq!(common::as_brute(&prediction.findings), expected);
}

/// A writer that goes on as a reader was taken to wait for itself, and its read could not be
/// broken.
#[test]
fn downgrading_writer_does_not_wait_for_itself() {
    let trace = common::trace(
        "T2|w(x)
         T2|acq(l)
         T2|w(x)
         T2|rel(l)
         T1|acq(l)
         T1|w(x)
         T1|racq(l)
         T1|rel(l)
         T1|r(x)
         T1|rrel(l)",
    );
    let options = Options { all: true, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::View, &options).expect("witnesses that hold");
    let read = Candidate::NondeterministicRead(EventId(8));
    assert!(prediction.findings.iter().any(|finding| finding.candidate == read));
}

/// The write that a thread overwrote was taken to be the only one left to be seen, also in the
/// symbolic model, where a read may see any.
#[test]
fn symbolic_reads_need_no_writer_of_their_value() {
    let trace = common::trace(
        "#! init x=0
         T1|fork(T2)
         T2|w(x=101)
         T1|fork(T3)
         T3|w(x=1)
         T2|au(x=1>0)
         T2|w(x=104)
         T1|join(T3)",
    );
    let options = Options { all: true, jobs: 1, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::Symbolic, &options).expect("no witness is refused");
    let expected = foretell_brute::findings(&trace, Model::Symbolic);
    assert_eq!(common::as_brute(&prediction.findings), expected);
    assert!(expected.races.contains(&[EventId(3), EventId(5)]));
}
