//! The worked examples of the papers.

mod common;

use common::{all_feasible, broken_rule, maximal, trace, verdict};
use foretell_trace::{EventId, Model};
use foretell_verify::{Pattern, Rule};

/// Trace segmentation, Figure 1: T2 writes p twice, T1 reads it twice in an atomic block; observed
/// e1 e2 e3 e4. Here e1 … e4 are events 0 … 3; the block's markers are left out.
#[test]
fn figure_1_of_the_segmentation_paper() {
    let trace = trace("2:w(p) 1:r(p) 1:r(p) 2:w(p)");
    let feasible = maximal(&all_feasible(&trace, Model::View));
    assert_eq!(feasible, [vec![0, 1, 2, 3], vec![0, 1, 3, 2], vec![0, 3, 1], vec![1, 0, 3]]);
}

/// The paper's trace with its markers: the violation e2 e4 e3 is R-W-R.
#[test]
fn figure_1_is_an_atomicity_violation() {
    let trace = trace("2:w(p) 1:begin 1:r(p) 1:r(p) 2:w(p) 1:end");
    let violation = Pattern::Atomicity { c: EventId(2), r: EventId(4), c2: EventId(3) };
    assert_eq!(verdict(&trace, Model::View, &violation, &[0, 1, 2, 4, 3]), None);
    assert_eq!(verdict(&trace, Model::View, &violation, &[0, 1, 2, 3, 4]), Some(Rule::Order));
}

/// Race witnesses, Figure 2, with the `woken` (event 10) that our format has before T1's release.
/// Events 0 … 9 are e0 … e9, event 11 is e10.
fn figure_2() -> foretell_trace::Trace {
    trace(
        "init(x=0) 1:fork(2) 1:w(x=1) 1:acq(o) 1:w(x=0) 1:wait(o,o) 2:acq(o) 2:r(x=0) 2:notifyall(o) \
         2:rel(o) 2:r(x=0) 1:woken(o,o) 1:rel(o)",
    )
}

#[test]
fn figure_2_of_the_race_witness_paper() {
    let trace = figure_2();
    let observed: Vec<u32> = (0..12).collect();
    for model in [Model::View, Model::Value] {
        assert_eq!(broken_rule(&trace, model, &observed), None);
        // T1 can come back before T2's last read.
        assert_eq!(broken_rule(&trace, model, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 9]), None);
        // Without the notify, or while T2 has the lock, it cannot.
        let early = broken_rule(&trace, model, &[0, 1, 2, 3, 4, 5, 6, 10]);
        assert_eq!(early, Some((Rule::NotNotified, 7)));
        let held = broken_rule(&trace, model, &[0, 1, 2, 3, 4, 5, 6, 7, 10]);
        assert_eq!(held, Some((Rule::LockHeld, 8)));
    }
}

/// β of the figure: a read of x may come before e1 (it sees the initial 0) or after e3, not
/// between, but as the last event of its thread.
#[test]
fn figure_2_reads_need_their_value() {
    let trace = figure_2();
    let before = [0, 5, 6, 7, 8, 9, 1, 2, 3];
    assert_eq!(broken_rule(&trace, Model::Value, &before), None);
    assert_eq!(broken_rule(&trace, Model::View, &before), Some((Rule::AfterBroken, 3)));
    let between = broken_rule(&trace, Model::Value, &[0, 1, 5, 6, 7]);
    assert_eq!(between, Some((Rule::AfterBroken, 4)));
    assert_eq!(broken_rule(&trace, Model::Value, &[0, 1, 5, 6]), None);
}

/// e1 and e6, e1 and e9 race in the prefix model; e3 and e6 are both under o.
#[test]
fn figure_2_races() {
    let trace = figure_2();
    let race = |a, b| Pattern::Race { a: EventId(a), b: EventId(b) };
    assert_eq!(verdict(&trace, Model::Value, &race(1, 6), &[0, 5, 6, 1]), None);
    assert_eq!(verdict(&trace, Model::Value, &race(1, 6), &[0, 5, 1, 6]), None);
    assert_eq!(verdict(&trace, Model::Value, &race(1, 9), &[0, 5, 6, 7, 8, 9, 1]), None);
    assert_eq!(
        verdict(&trace, Model::View, &race(1, 9), &[0, 5, 6, 7, 8, 9, 1]),
        Some(Rule::AfterBroken)
    );
    assert_eq!(verdict(&trace, Model::Value, &race(3, 9), &[0, 5, 6, 7, 8, 1, 2, 3, 9]), None);
    let all = all_feasible(&trace, Model::Value);
    assert!(all.iter().all(|s| verdict(&trace, Model::Value, &race(3, 6), s).is_some()));
}
