//! The search that shares states finds exactly what looking at every sequence finds.

mod common;

use common::random::{show, small_trace};
use foretell_brute::{Findings, findings, findings_by_sequences, races_and_deadlocks};
use foretell_generate::Family;
use foretell_trace::Model;

fn compare(seeds: std::ops::Range<u64>, model: Model) {
    let mut seen = Findings::default();
    for (seed, &family) in seeds.flat_map(|s| Family::ALL.iter().map(move |f| (s, f))) {
        let trace = small_trace(family, seed, 9);
        let expected = findings_by_sequences(&trace, model);
        let found = findings(&trace, model);
        assert_eq!(found, expected, "{model} {family} {seed}:\n{}", show(&trace));
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
    compare(0..200, Model::View);
}

#[test]
fn states_and_sequences_agree_in_value() {
    compare(1000..1200, Model::Value);
}

#[test]
fn states_and_sequences_agree_in_symbolic() {
    compare(2000..2200, Model::Symbolic);
}
