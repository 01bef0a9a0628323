//! The explicit engine against brute force: the same findings on random traces of every family,
//! none missing, none extra, with every candidate put to the engine. Every witness is put to the
//! checker.
//!
//! Reductions that lose an interleaving show here and nowhere else, so there are thousands of
//! traces in both models;
//! `FORETELL_SEEDS=20000 cargo test --release -p foretell-predict --test dpor` is the long soak.

mod common;

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::{Effort, Engine};
use foretell_predict::engines::dpor::{DporEngine, DporOptions};
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_predict::finding::Finding;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{FindingKind, Model, Trace};
use foretell_verify::Checker;

/// Every finding of an engine, and the candidates that it left undecided.
fn predicted(
    trace_model: &TraceModel<'_>,
    options: DporOptions,
) -> (Findings, Vec<(Candidate, String)>, Effort) {
    let checker = Checker::new(trace_model.trace, trace_model.model);
    let mut engine = DporEngine::new(trace_model, options);
    let (mut found, mut undecided) = (Vec::new(), Vec::new());
    for candidate in FindingKind::ALL.into_iter().flat_map(|a| candidates(trace_model, a)) {
        match engine.decide(&candidate.query(), &Limit::default()) {
            Verdict::Impossible => {}
            Verdict::Undecided(reason) => undecided.push((candidate, reason)),
            Verdict::Witness(schedule) => {
                let name = engine.name();
                match Finding::new(trace_model, &checker, &candidate, &schedule, name) {
                    Ok(finding) => found.push(finding),
                    Err(defect) => panic!("{defect}\n{}", common::show(trace_model.trace)),
                }
            }
        }
    }
    (common::as_brute(&found), undecided, engine.effort())
}

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2_000)
}

fn agree(family: Family) {
    for seed in 0..seeds() {
        let trace = generate(family, &Params::small(family, 9_000_000 + seed));
        for model in [Model::View, Model::Value] {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 200_000) else {
                continue;
            };
            let trace_model = TraceModel::new(&trace, model).with_segments(seed % 4 != 3);
            let (actual, undecided, _) = predicted(&trace_model, DporOptions::default());
            let shown = || format!("{family} seed {seed} {model}\n{}", common::show(&trace));
            assert_eq!(undecided, [], "{}", shown());
            assert_eq!(actual, expected, "{}", shown());
        }
    }
}

macro_rules! families {
    ($($test:ident $family:ident;)*) => {$(
        #[test]
        fn $test() {
            agree(Family::$family);
        }
    )*};
}

families! {
    uniform Uniform;
    locks Locks;
    inversion Inversion;
    queue Queue;
    fork_join ForkJoin;
    blocks Blocks;
    lucky Lucky;
    mixed Mixed;
    readers_writers ReadersWriters;
    sync Sync;
    values Values;
    symbolic_without_symbols Symbolic;
    waiters Waiters;
}

/// On longer traces the two engines are compared with each other.
#[test]
fn longer_traces_agree_with_the_order_engine() {
    let (mut decided, mut undecided) = (0, 0);
    for &family in Family::ALL.iter().filter(|&&f| f != Family::Scalable) {
        for seed in 0..4 {
            let small = Params::small(family, 70_000 + seed);
            let trace = generate(family, &Params { events: 60, ..small });
            let trace_model = TraceModel::new(
                &trace,
                if trace.ids().any(|e| trace.read_value(e).is_some()) {
                    Model::Value
                } else {
                    Model::View
                },
            );
            let options = DporOptions { nodes: 2_000, ..DporOptions::default() };
            let mut explicit = DporEngine::new(&trace_model, options);
            let mut order = OrderEngine::new(&trace_model);
            for candidate in FindingKind::ALL.into_iter().flat_map(|a| candidates(&trace_model, a))
            {
                let query = candidate.query();
                let possible = match explicit.decide(&query, &Limit::default()) {
                    Verdict::Undecided(reason) => {
                        assert_eq!(reason, "node budget");
                        undecided += 1;
                        continue;
                    }
                    verdict => verdict != Verdict::Impossible,
                };
                decided += 1;
                let expected = order.decide(&query, &Limit::default()) != Verdict::Impossible;
                let shown = || format!("{family} seed {seed}\n{}", common::show(&trace));
                assert_eq!(possible, expected, "{candidate:?} {}", shown());
            }
        }
    }
    assert!(decided > 20 * undecided, "{decided} decided, {undecided} not");
}

/// A bounded search says "bounded" where it has not seen everything, never "impossible"; what it
/// finds is true, and with enough switches it finds all.
#[test]
fn context_bounds_never_say_impossible() {
    let (mut bounded, mut found) = (0, 0);
    for &family in Family::ALL.iter().filter(|&&f| f != Family::Scalable) {
        for seed in 0..40 {
            let trace = generate(family, &Params::small(family, 9_500_000 + seed));
            let trace_model = TraceModel::new(&trace, Model::View);
            let (exact, _, _) = predicted(&trace_model, DporOptions::default());
            let mut fewest = usize::MAX;
            for context_bound in [0, 1, 2, 40] {
                let options =
                    DporOptions { context_bound: Some(context_bound), ..Default::default() };
                let (some, undecided, _) = predicted(&trace_model, options);
                assert!(undecided.iter().all(|(_, reason)| reason == "bounded"));
                assert!(undecided.len() <= fewest, "{family} seed {seed}");
                fewest = undecided.len();
                bounded += undecided.len();
                found += count(&some);
                let missing = count(&exact) - count(&some);
                assert!(missing <= undecided.len(), "{family} seed {seed} bound {context_bound}");
                if context_bound == 40 {
                    assert_eq!((some, undecided.len()), (exact.clone(), 0));
                }
            }
        }
    }
    assert!(bounded > 100 && found > 1000, "{bounded} bounded, {found} found");
}

fn count(findings: &Findings) -> usize {
    findings.races.len()
        + findings.atomicity.len()
        + findings.serializability.len()
        + findings.transactions.len()
        + findings.nondeterministic_reads.len()
        + findings.final_values.len()
        + findings.deadlocks.len()
}

/// Trace segmentation, Figure 1: e2 → e4 → e3. One switch into T2 and one back; the first is needed
/// for the read's writer, so it is significant.
#[test]
fn figure_1_needs_one_switch() {
    let trace = common::trace("T2|w(p)\nT1|begin\nT1|r(p)\nT1|r(p)\nT1|end\nT2|w(p)");
    let trace_model = TraceModel::new(&trace, Model::View);
    let query = Candidate::Serializability(foretell_model::BlockId(0)).query();
    let decide = |context_bound| {
        let options = DporOptions { context_bound, ..DporOptions::default() };
        DporEngine::new(&trace_model, options).decide(&query, &Limit::default())
    };
    assert_eq!(decide(Some(0)), Verdict::Undecided("bounded".to_owned()));
    assert!(matches!(decide(Some(2)), Verdict::Witness(_)));
    assert!(matches!(decide(None), Verdict::Witness(_)));
}

#[test]
fn a_node_budget_ends_the_search() {
    let trace = generate(Family::Uniform, &Params { events: 60, ..Params::of(Family::Uniform) });
    let options = Options {
        all: true,
        jobs: 1,
        engine: EngineKind::Dpor,
        engine_options: EngineOptions {
            dpor: DporOptions { nodes: 3, context_bound: None },
            ..EngineOptions::default()
        },
        unordered: false,
        ..Options::default()
    };
    let prediction = predict(&trace, Model::View, &options).expect("no witness is refused");
    assert!(!prediction.undecided.is_empty());
    assert!(prediction.undecided.iter().all(|(_, reason)| reason == "node budget"));
    assert_eq!(prediction.effort.memory_outs, prediction.undecided.len() as u64);
    assert!(prediction.effort.nodes > 0);
}

fn nodes(trace: &Trace) -> u64 {
    let trace_model = TraceModel::new(trace, Model::View);
    predicted(&trace_model, DporOptions::default()).2.nodes
}

/// Threads that have nothing to do with each other do not multiply.
#[test]
fn independent_threads_are_not_interleaved() {
    let lone: Vec<String> =
        (0..12).flat_map(|t| (0..6).map(move |i| format!("T{t}|w(x{t}_{i})"))).collect();
    let few = nodes(&common::trace(&(lone[..12].join("\n") + "\nA|w(y)\nB|w(y)")));
    let many = nodes(&common::trace(&(lone.join("\n") + "\nA|w(y)\nB|w(y)")));
    // Only the query about y's final value asks for all events: each once.
    assert_eq!(many - few, 60);
    let joined: Vec<String> = (0..12)
        .flat_map(|t| {
            let work = (0..6).map(move |i| format!("T{t}|w(x{t}_{i})"));
            work.chain([format!("A|join(T{t})")])
        })
        .collect();
    let after = nodes(&common::trace(&(joined.join("\n") + "\nA|w(y)\nB|w(y)")));
    assert!(after < 400, "{after} states for {} events", joined.len());
}

/// The columns of the papers' tables: what is looked at is settled in exactly one way.
#[test]
fn every_candidate_is_in_one_column() {
    let (mut memory_outs, mut bounded, mut proofs) = (0, 0, 0);
    for (seed, nodes, context_bound) in
        [(1, 500_000, None), (2, 20, None), (3, 500_000, Some(1)), (4, 20, Some(0))]
    {
        let params = Params { seed, events: 80, ..Params::of(Family::Blocks) };
        let trace = generate(Family::Blocks, &params);
        let dpor = DporOptions { nodes, context_bound };
        let options = Options {
            all: true,
            engine: EngineKind::Dpor,
            engine_options: EngineOptions { dpor, ..EngineOptions::default() },
            unordered: false,
            ..Options::default()
        };
        let prediction = predict(&trace, Model::View, &options).expect("no witness is refused");
        let mut interleavings = 0;
        for (analysis, counts) in &prediction.counts {
            let cut_short = counts.time_outs + counts.memory_outs + counts.bounded;
            let searched = counts.impossible + counts.predicted + cut_short;
            assert_eq!(counts.solved, searched, "{analysis}");
            assert_eq!(counts.undecided, cut_short, "{analysis}");
            assert_eq!(counts.after_must(), counts.static_proofs() + searched, "{analysis}");
            assert_eq!(counts.examined, counts.candidates, "{analysis}");
            memory_outs += counts.memory_outs;
            bounded += counts.bounded;
            interleavings += prediction.work.get(analysis).map_or(0, |w| w.interleavings);
        }
        assert_eq!(interleavings, prediction.effort.interleavings);
        let blocks = prediction.counts[&FindingKind::Serializability];
        proofs += blocks.static_proofs();
        assert!(blocks.segment_events > 0);
        assert!(blocks.segment_events < blocks.candidates * trace.len() as u64);
    }
    assert!(memory_outs > 0 && bounded > 0 && proofs > 0, "{memory_outs} {bounded} {proofs}");
}
