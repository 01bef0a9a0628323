//! Witnesses that the order engine finds without search, and queries for which it has to search:
//! the verdicts are the same, only the rounds tell.

mod common;

use foretell_model::TraceModel;
use foretell_predict::analyses::Candidate;
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern};

/// Whether two events race, and after how many proposals of the solver. The solver alone must say
/// the same.
fn race_after(trace: &Trace, model: Model, a: u32, b: u32) -> (bool, u64) {
    let trace_model = TraceModel::new(trace, model);
    let (a, b) = (EventId(a), EventId(b));
    let query = Candidate::Race(a, b).query();
    let ask = |mut engine: OrderEngine<'_>| match engine.decide(&query, &Limit::default()) {
        Verdict::Witness(mut schedule) => {
            schedule.extend([a, b]);
            let checked = Checker::new(trace, model).verify(&Pattern::Race { a, b }, &schedule);
            assert!(checked.is_ok(), "{schedule:?}: {checked:?}");
            (true, engine.rounds())
        }
        Verdict::Impossible => (false, engine.rounds()),
        Verdict::Undecided(reason) => panic!("{reason}"),
    };
    let searched = ask(OrderEngine::search_only(&trace_model));
    let answer = ask(OrderEngine::new(&trace_model));
    assert_eq!(answer.0, searched.0);
    answer
}

#[test]
fn unneeded_events_are_left_out() {
    let trace = common::trace(
        "T1|acq(l)
         T1|rel(l)
         T1|w(x)
         T2|acq(l)
         T2|rel(l)
         T2|w(x)",
    );
    assert_eq!(race_after(&trace, Model::View, 2, 5), (true, 0));
}

/// T1 stops inside its section, which came first: it has to come last.
#[test]
fn a_section_that_is_never_left_comes_last() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|rel(l)
         T2|w(x)",
    );
    assert_eq!(race_after(&trace, Model::View, 1, 5), (true, 0));
}

/// T3's section of l has to come after T4's, so T2 gets its z late. T1 would be first to take m
/// then, and wait for T2's y, while T2 waits for m: T1 has to let T2 go first.
#[test]
fn sections_are_reversed_where_threads_wait_in_a_circle() {
    let trace = common::trace(
        "T3|acq(l)
         T3|w(z)
         T3|w(x)
         T3|rel(l)
         T2|r(z)
         T2|acq(m)
         T2|rel(m)
         T2|w(y)
         T1|acq(m)
         T1|r(y)
         T1|rel(m)
         T1|w(u)
         T4|acq(l)
         T4|rel(l)
         T4|r(u)
         T4|w(x)",
    );
    assert_eq!(race_after(&trace, Model::View, 2, 15), (true, 0));
}

/// The try-lock ran into T1's section, which nothing else asks for.
#[test]
fn owners_of_failed_try_locks_run_too() {
    let trace = common::trace(
        "T1|acq(l)
         T2|tryfail(l)
         T1|rel(l)
         T2|w(x)
         T3|w(x)",
    );
    assert_eq!(race_after(&trace, Model::View, 3, 4), (true, 0));
}

/// T3's write between the two would take T2's view away, and T2 has gone on.
#[test]
fn write_waits_for_reads_that_rely_on_the_last_one() {
    let trace = common::trace(
        "T1|w(y)
         T2|r(y)
         T3|w(y)
         T3|w(x)
         T2|w(x)",
    );
    assert_eq!(race_after(&trace, Model::View, 3, 4), (true, 0));
}

/// T2 has read what T1 wrote in its section, so T1 is not inside it any more.
#[test]
fn impossible_races_are_not_found() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(y)
         T1|w(x)
         T1|rel(l)
         T2|r(y)
         T2|acq(l)
         T2|rel(l)
         T2|w(x)",
    );
    assert!(!race_after(&trace, Model::View, 2, 7).0);
}

/// By value, the read is content with T3's write: nothing asks for it, so the solver has to find
/// that.
#[test]
fn another_writer_is_left_to_the_solver() {
    let trace = common::trace(
        "T1|w(x=0)
         T1|w(y=1)
         T2|r(y=1)
         T2|w(x=0)
         T3|w(y=1)",
    );
    let (race, rounds) = race_after(&trace, Model::Value, 0, 3);
    assert!(race && rounds > 0);
    assert!(!race_after(&trace, Model::View, 0, 3).0);
}
