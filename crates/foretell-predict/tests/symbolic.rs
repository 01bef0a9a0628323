//! The symbolic model on the examples of the symbolic-atomicity paper and on what they leave open.
//! Each case states the atomicity violations in the models view, value and symbolic; brute force
//! must agree with all findings.

mod common;

use std::collections::BTreeSet;

use foretell_predict::driver::{Options, predict};
use foretell_trace::{EventId, Model};

/// The triples of places in the three models.
#[track_caller]
fn atomicity(text: &str, [view, value, symbolic]: [&[&str]; 3]) {
    let trace = common::trace(text);
    let models = [(Model::View, view), (Model::Value, value), (Model::Symbolic, symbolic)];
    for (model, expected) in models {
        let options = Options { all: true, jobs: 1, unordered: false, ..Options::default() };
        let prediction = predict(&trace, model, &options).expect("no witness is refused");
        assert!(prediction.undecided.is_empty(), "{model}: {:?}", prediction.undecided);
        let found = common::as_brute(&prediction.findings);
        assert_eq!(found, foretell_brute::findings(&trace, model), "brute force, {model}");
        let place = |e: &EventId| trace.site(*e).map_or("?", |s| trace.location(s));
        let triples: BTreeSet<String> = found
            .atomicity
            .iter()
            .map(|triple| triple.iter().map(place).collect::<Vec<_>>().join(" "))
            .collect();
        let expected: BTreeSet<String> = expected.iter().map(|&t| t.to_owned()).collect();
        assert_eq!(triples, expected, "atomicity violations, model {model}");
    }
}

/// The first example of the paper's figures 1 and 2: the other thread writes only if it reads more
/// than `least`.
fn first_example(guard: &str) -> String {
    format!(
        "#! init x=0
         T1|begin|
         T1|r(x=0)->%a|t1
         T1|w(x=1)<-(+ %a 1)|t2
         T1|end|
         T2|r(x=1)->%b|t3
         T2|guard({guard})|t4
         T2|w(x=5)|t5"
    )
}

#[test]
fn data_rule_out_what_control_flow_allows() {
    atomicity(&first_example("(> %b 0)"), [&[], &[], &[]]);
}

#[test]
fn data_allow_what_recorded_values_rule_out() {
    atomicity(&first_example("(>= %b 0)"), [&[], &[], &["t1 t5 t2"]]);
}

/// The second example: the other thread's write waits for a signal that comes after the block.
#[test]
fn signals_order_what_comes_after_them() {
    atomicity(
        "T2|acq(l)|
         T2|wait(c,l)|
         T1|begin|
         T1|w(x=1)|t1
         T1|r(x=1)->%a|t2
         T1|end|
         T1|notify(c)|t3
         T2|woken(c,l)|t4
         T2|rel(l)|
         T2|w(x=3)|t5",
        [&[], &[], &[]],
    );
    let violation: &[&str] = &["t1 t5 t2"];
    atomicity(
        "T1|begin|
         T1|w(x=1)|t1
         T1|r(x=1)->%a|t2
         T1|end|
         T2|w(x=3)|t5",
        [violation; 3],
    );
}

/// Figure 6: the violation leads into a branch that the trace did not take, so it shows in a prefix
/// only.
#[test]
fn violations_before_an_untaken_branch() {
    let violation: &[&str] = &["t1 t5 t2"];
    atomicity(
        "T1|begin|
         T1|w(x=0)|t1
         T1|r(x=0)->%a|t2
         T1|end|
         T1|guard((= (+ %a 1) 1))|t3
         T1|w(x=2)|t4
         T2|w(x=3)|t5
         T2|r(x=3)->%b|t6",
        [violation; 3],
    );
}

/// Guarded independence: writes of what is there anyway commute with everything.
#[test]
fn equal_writes_commute() {
    let text = |value: i64| {
        format!(
            "#! init x=0
             T1|begin|
             T1|w(x=1)|c
             T1|w(x=2)|c'
             T1|end|
             T2|w(x={value})|r"
        )
    };
    let violation: &[&str] = &["c r c'"];
    atomicity(&text(7), [violation; 3]);
    atomicity(&text(1), [violation, violation, &[]]);
    atomicity(&text(2), [violation, violation, &[]]);
}

/// A value may go round: a thread writes what depends on another thread's use of its own value.
#[test]
fn values_travel_through_several_threads() {
    atomicity(
        "#! init x=0
         #! init y=0
         T1|begin|
         T1|r(x=0)->%a|a1
         T1|w(y=1)<-(+ %a 1)|a2
         T2|r(y=1)->%b|b1
         T2|guard((= (mod %b 3) 1))|b2
         T2|w(x=2)<-(* %b 2)|b3
         T1|r(x=2)->%c|a3
         T1|guard((> %c %a))|a4
         T1|w(x=4)<-(+ %c (* 2 (div %c 2)))|a5
         T1|end|",
        [&["a1 b3 a3", "a1 b3 a5"], &["a1 b3 a3", "a1 b3 a5"], &["a1 b3 a3", "a1 b3 a5"]],
    );
}

/// A variable holds values of different sorts in turn, and values that are not known.
#[test]
fn sorts_and_unknown_values() {
    atomicity(
        "#! init x=#x05
         T1|begin|
         T1|r(x=#x05)->%a|a1
         T1|guard((bvult %a #x08))|a2
         T1|w(x=#x06)<-(bvadd %a #x01)|a3
         T1|end|
         T2|w(x)|b1
         T3|w(x=3)|c1
         T3|w(x=#x07)|c2",
        [
            &["a1 b1 a3", "a1 c1 a3", "a1 c2 a3"],
            &["a1 b1 a3", "a1 c1 a3", "a1 c2 a3"],
            &["a1 b1 a3", "a1 c1 a3", "a1 c2 a3"],
        ],
    );
}
