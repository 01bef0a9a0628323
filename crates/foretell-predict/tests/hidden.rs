//! Hidden state: long chains of uses are cheap, and what they order is no finding.

mod common;

use foretell_predict::driver::{Options, predict};
use foretell_trace::{EventId, FindingKind, Model, Trace, TraceBuilder, Value};
use foretell_trace::{EventKind, ThreadId, VarId};

const THREADS: usize = 4;

/// Threads that hand `x` on through hidden state, `uses` times, and then write `y` unordered.
fn hand_over(uses: usize) -> Trace {
    let mut b = TraceBuilder::new();
    let threads: Vec<ThreadId> = (0..THREADS).map(|t| b.thread(&format!("T{t}"))).collect();
    let (hidden, x, y) = (b.variable("hidden:box"), b.variable("x"), b.variable("y"));
    b.set_opaque(hidden);
    let write = |var: VarId| EventKind::Write { var, atomic: false, value: None, expr: None };
    for i in 0..uses {
        let thread = threads[(i * 7 + i / 5) % THREADS];
        let old = Some(b.values().intern(Value::Int(i as i64)));
        let new = Some(b.values().intern(Value::Int(i as i64 + 1)));
        let update = EventKind::Update { var: hidden, old, new, register: None, expr: None };
        let site = b.site(&format!("box.c:{}", i % 10), None);
        b.push(thread, update, Some(site));
        b.push(thread, write(x), Some(site));
    }
    let update =
        EventKind::Update { var: hidden, old: None, new: None, register: None, expr: None };
    for &thread in &threads {
        b.push(thread, update, None);
        let site = b.site("end.c:1", None);
        b.push(thread, write(y), Some(site));
    }
    b.build()
}

#[test]
fn hundred_thousand_uses_of_hidden_state_are_cheap() {
    let trace = hand_over(100_000);
    let analyses = [FindingKind::Race, FindingKind::Deadlock, FindingKind::Atomicity].into();
    let options = Options { analyses, unordered: false, ..Options::default() };
    for model in [Model::View, Model::Value] {
        let found = predict(&trace, model, &options).expect("no witness is refused");
        assert!(found.undecided.is_empty());
        // The writes of `y` at one location; the write of `x` that follows a use comes after all
        // that the uses before it have let run, but for the last one of each thread.
        let lines: Vec<usize> = found.findings.iter().map(|f| f.schedule.len()).collect();
        assert!(!lines.is_empty() && lines.len() < 100, "{lines:?}");
    }
}

/// A use that is next to another one is no race, and what comes before one use is ordered before
/// what comes after the next.
#[test]
fn uses_of_hidden_state_order_what_is_around_them() {
    let trace = common::trace(
        "#! opaque h
         T1|w(x)
         T1|au(h=0>1)
         T1|w(y)
         T2|au(h=1>2)
         T2|w(x)
         T2|w(y)",
    );
    for model in [Model::View, Model::Value, Model::Symbolic] {
        let options = Options { all: true, unordered: false, ..Options::default() };
        let found = predict(&trace, model, &options).expect("no witness is refused");
        let races = common::as_brute(&found.findings).races;
        assert_eq!(races, [[EventId(2), EventId(5)]].into(), "{model}");
    }
}
