//! Traces of some dozens of events, where brute force can still tell all races and deadlocks, and
//! where an engine has much to learn and to keep from one query to the next.

mod common;

use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::candidates;
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{FindingKind, Model, Trace};

fn traces(seeds: u64, events: usize) -> impl Iterator<Item = (Family, u64, Trace)> {
    let families = Family::ALL.iter().copied().filter(|&f| f != Family::Scalable);
    let seeds = (0..seeds).flat_map(move |seed| families.clone().map(move |f| (f, seed)));
    seeds.map(move |(family, seed)| {
        let small = Params::small(family, seed);
        let params = Params { events, threads: small.threads.max(3), ..small };
        (family, seed, generate(family, &params))
    })
}

#[test]
fn races_and_deadlocks_are_those_of_brute_force() {
    let analyses = [FindingKind::Race, FindingKind::Deadlock].into();
    let options = Options { all: true, analyses, unordered: false, ..Options::default() };
    let mut compared = 0;
    for (family, seed, trace) in traces(15, 45) {
        for model in [Model::View, Model::Value] {
            let Some(brute) = foretell_brute::races_and_deadlocks(&trace, model, 30_000) else {
                continue;
            };
            let found = predict(&trace, model, &options).expect("no witness is refused");
            let shown = || format!("{family} seed {seed} {model}\n{}", common::show(&trace));
            assert!(found.undecided.is_empty(), "{}", shown());
            assert_eq!(common::as_brute(&found.findings), brute, "{}", shown());
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} traces were compared");
}

/// Clauses learnt from other queries make an engine faster and change no verdict.
#[test]
fn verdicts_do_not_depend_on_what_was_asked_before() {
    for (family, seed, trace) in traces(3, 32) {
        let trace_model = TraceModel::new(&trace, Model::View);
        let mut experienced = OrderEngine::new(&trace_model);
        let mut all: Vec<_> =
            FindingKind::ALL.into_iter().flat_map(|a| candidates(&trace_model, a)).collect();
        all.reverse();
        for candidate in all {
            let query = candidate.query();
            let possible =
                |engine: &mut OrderEngine<'_>| match engine.decide(&query, &Limit::default()) {
                    Verdict::Witness(_) => true,
                    Verdict::Impossible => false,
                    Verdict::Undecided(reason) => panic!("{candidate:?}: {reason}"),
                };
            let fresh = possible(&mut OrderEngine::new(&trace_model));
            assert_eq!(possible(&mut experienced), fresh, "{family} seed {seed} {candidate:?}");
        }
    }
}
