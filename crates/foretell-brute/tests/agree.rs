//! The search that shares states finds exactly what looking at every sequence finds.

mod common;

use common::random::{Random, Shape, random_trace};
use foretell_brute::{Findings, findings, findings_by_sequences, races_and_deadlocks};
use foretell_trace::{Model, Trace};

fn compare(seeds: std::ops::Range<u64>, model: Model) {
    let mut seen = Findings::default();
    for seed in seeds {
        let mut random = Random::new(!seed);
        let shape = Shape {
            events: 5 + random.below(5) as usize,
            threads: 2 + random.below(2),
            variables: 1 + random.below(2),
            locks: 1 + random.below(2),
            model,
        };
        let trace = random_trace(seed, shape);
        let expected = findings_by_sequences(&trace, model);
        let found = findings(&trace, model);
        assert_eq!(found, expected, "seed {seed} {model}: {:#?}", events(&trace));
        let alone = races_and_deadlocks(&trace, model, usize::MAX).expect("no limit");
        assert_eq!((&alone.races, &alone.deadlocks), (&found.races, &found.deadlocks));
        add(&mut seen, found);
    }
    // The comparison would mean little if one side of it were always empty.
    assert!(!seen.races.is_empty() && !seen.atomicity.is_empty());
    assert!(!seen.serializability.is_empty() && !seen.transactions.is_empty());
    assert!(!seen.nondeterministic_reads.is_empty() && !seen.final_values.is_empty());
    assert!(!seen.deadlocks.is_empty());
}

fn events(trace: &Trace) -> Vec<String> {
    trace.events().map(|e| format!("{:?} {:?} {:?}", e.id, e.thread, e.kind)).collect()
}

fn add(all: &mut Findings, mut some: Findings) {
    all.races.append(&mut some.races);
    all.atomicity.append(&mut some.atomicity);
    all.serializability.append(&mut some.serializability);
    all.transactions.append(&mut some.transactions);
    all.nondeterministic_reads.append(&mut some.nondeterministic_reads);
    all.final_values.append(&mut some.final_values);
    all.deadlocks.append(&mut some.deadlocks);
}

#[test]
fn states_and_sequences_agree_in_view() {
    compare(0..3000, Model::View);
}

#[test]
fn states_and_sequences_agree_in_value() {
    compare(10_000..13_000, Model::Value);
}

#[test]
fn states_and_sequences_agree_in_symbolic() {
    compare(20_000..23_000, Model::Symbolic);
}
