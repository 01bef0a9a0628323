//! The counts that the papers' programs determine: races of accounts and of a counter, violations
//! of banks.

use std::collections::BTreeSet;

use foretell_generate::programs::{Benchmark, Shape, trace};
use foretell_predict::driver::{Options, predict};
use foretell_trace::{FindingKind, Model};

/// Number of findings of an analysis in a program with this many workers.
fn findings(benchmark: Benchmark, workers: usize, analysis: FindingKind, races: usize) -> usize {
    let trace = trace(benchmark, &Shape { threads: workers + 1, races, ..Shape::default() });
    let analyses = BTreeSet::from([analysis]);
    let options = Options { all: true, analyses, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::auto(&trace), &options).expect("no witness is refused");
    assert!(prediction.undecided.is_empty());
    prediction.findings.len()
}

#[test]
fn accounts_race_with_the_next_one() {
    for workers in [2, 5, 10, 20] {
        assert_eq!(findings(Benchmark::Account, workers, FindingKind::Race, 0), workers - 1);
    }
}

#[test]
fn races_that_are_put_in_are_found_and_no_others() {
    assert_eq!(findings(Benchmark::SyncBench, 1, FindingKind::Race, 1), 1);
    assert_eq!(findings(Benchmark::Example, 2, FindingKind::Race, 0), 1);
    assert_eq!(findings(Benchmark::ExampleFixed, 2, FindingKind::Race, 0), 0);
    assert_eq!(findings(Benchmark::RemoteAgent, 2, FindingKind::Race, 0), 2);
    for benchmark in [Benchmark::Pool, Benchmark::BarrierBench, Benchmark::Philosophers] {
        assert_eq!(findings(benchmark, 4, FindingKind::Race, 0), 0, "{}", benchmark.name());
    }
    for benchmark in
        [Benchmark::Liveness, Benchmark::Crawler, Benchmark::FileSystem, Benchmark::Tsp]
    {
        assert_eq!(findings(benchmark, 4, FindingKind::Race, 3), 3, "{}", benchmark.name());
    }
}

#[test]
fn banks_have_four_two_and_no_violations_for_each_worker() {
    for workers in [2, 3, 4, 8] {
        let found = |benchmark| findings(benchmark, workers, FindingKind::Atomicity, 0);
        assert_eq!(found(Benchmark::BankAv), 4 * workers);
        assert_eq!(found(Benchmark::BankSav), 2 * workers);
        assert_eq!(found(Benchmark::BankNav), 0);
    }
    assert_eq!(findings(Benchmark::Atom1, 2, FindingKind::Atomicity, 0), 1);
    assert_eq!(findings(Benchmark::Atom1Fixed, 2, FindingKind::Atomicity, 0), 0);
    assert_eq!(findings(Benchmark::Atom2, 2, FindingKind::Atomicity, 0), 33);
    assert_eq!(findings(Benchmark::Atom2Fixed, 2, FindingKind::Atomicity, 0), 0);
}
