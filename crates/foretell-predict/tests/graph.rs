//! Choice graphs: the same nondeterminism as brute force on random traces of every family, no
//! witness refuted that the exact engine can show, the nondeterminism paper's examples, and a trace
//! with more than a million witnesses.
//!
//! `FORETELL_SEEDS=50000 cargo test --release -p foretell-predict --test graph` is the long soak.

mod common;

use std::collections::BTreeSet;

use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::candidates;
use foretell_predict::driver::{Options, Prediction, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engine::GraphCounts;
use foretell_predict::engines::EngineKind;
use foretell_predict::engines::graph::{GraphEngine, WitnessClass, WitnessOrder};
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::filters::Filters;
use foretell_predict::query::{Goal, Limit, Query, Verdict};
use foretell_trace::{EventId, FindingKind, Model, Trace};

fn nondeterminism(trace: &Trace, model: Model, engine: EngineKind) -> Prediction {
    let analyses = BTreeSet::from([FindingKind::Nondeterminism]);
    let filters = Filters::NONE;
    let options = Options {
        all: true,
        jobs: 1,
        engine,
        analyses,
        filters,
        unordered: false,
        ..Options::default()
    };
    let prediction = predict(trace, model, &options).expect("no witness is refused");
    assert!(prediction.undecided.is_empty());
    prediction
}

/// Predicts with graphs: the reads that are nondeterministic, and the counts.
fn reads(trace: &Trace) -> (Vec<u32>, GraphCounts) {
    let prediction = nondeterminism(trace, Model::View, EngineKind::Graph);
    let found = common::as_brute(&prediction.findings);
    let reads = found.nondeterministic_reads.iter().map(|r| r.0).collect();
    (reads, prediction.effort.graphs)
}

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1_000)
}

fn agree(family: Family) {
    let mut refuted = 0;
    for seed in 0..seeds() {
        let trace = generate(family, &Params::small(family, 9_000_000 + seed));
        for model in [Model::View, Model::Value] {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 200_000) else {
                continue;
            };
            let prediction = nondeterminism(&trace, model, EngineKind::Graph);
            let found = common::as_brute(&prediction.findings);
            let shown = || format!("{family} seed {seed} {model}\n{}", common::show(&trace));
            assert_eq!(
                found.nondeterministic_reads,
                expected.nondeterministic_reads,
                "{}",
                shown()
            );
            assert_eq!(found.final_values, expected.final_values, "{}", shown());
            assert!(prediction.findings.iter().all(|f| f.engine == "graph"));
            check(&prediction.effort.graphs);
            refuted += prediction.effort.graphs.refuted;
        }
    }
    assert!(refuted > 0, "the graphs never decided anything");
}

/// Relations between the counts.
fn check(counts: &GraphCounts) {
    let classes = counts.cyclic + counts.without_choice + counts.with_choice;
    assert_eq!(counts.witnesses, classes, "{counts:?}");
    assert!(counts.all_cyclic + counts.left_open <= counts.with_choice, "{counts:?}");
    assert!(counts.explored <= counts.possible || counts.left_open > 0, "{counts:?}");
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

/// The query that a witness is about; `None` where the writer is absent, which no query can say.
fn query(read: EventId, writer: EventId, c: EventId, form: WitnessOrder) -> Option<Query> {
    let order = match form {
        WitnessOrder::BeforeWriter => vec![(c, read), (read, writer)],
        WitnessOrder::AfterWriter => vec![(writer, c), (c, read)],
        WitnessOrder::WriterAbsent => return None,
    };
    let run = vec![c, read, writer];
    Some(Query { run, order, goal: Goal::Broken(read), ..Query::default() })
}

/// Every single witness of larger traces: what the graphs refute, the exact engine does not find.
/// And they refute most of what it does not find.
#[test]
fn refuted_witnesses_do_not_exist() {
    let (mut refuted, mut missed) = (0, 0);
    let families = Family::ALL.iter().copied().filter(|&f| f != Family::Scalable);
    for (family, seed) in families.flat_map(|f| (0..12).map(move |seed| (f, seed))) {
        let small = Params::small(family, seed);
        let params = Params { events: 50, threads: small.threads.max(3), ..small };
        let trace = generate(family, &params);
        for model in [Model::View, Model::Value] {
            let trace_model = TraceModel::new(&trace, model);
            let mut graphs = GraphEngine::new(&trace_model);
            let mut exact = OrderEngine::new(&trace_model);
            for read in trace.ids().filter(|&e| trace.op(e).reads()) {
                let Some(w) = trace_model.reads_from.observed(read) else { continue };
                let limit = Limit::default();
                let checked = graphs.witnesses_of(read, &limit, |(c, form), class| {
                    let breaks =
                        |c: EventId| !trace_model.reads_from.preserves(&trace, read, Some(c));
                    let Some(c) = c.filter(|&c| breaks(c)) else { return };
                    let Some(query) = query(read, w, c, form) else { return };
                    let impossible = exact.decide(&query, &limit) == Verdict::Impossible;
                    let shown = || common::show(&trace);
                    if class.refuted() {
                        assert!(impossible, "{family} {seed} {read:?} {form:?} {c:?}\n{}", shown());
                        refuted += 1;
                    } else if impossible {
                        missed += 1;
                    }
                });
                assert!(checked.is_some());
            }
        }
    }
    assert!(refuted > 4 * missed, "{refuted} refuted, {missed} missed");
}

/// Figure 1: free of races, and nondeterministic.
#[test]
fn race_free_is_not_deterministic() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|r(x)
         T2|rel(l)",
    );
    let (reads, counts) = reads(&trace);
    assert_eq!(reads, [4]);
    // The initial value before the read, with the write absent; the two orders with the write are
    // impossible: the broken read keeps the lock.
    assert_eq!((counts.witnesses, counts.cyclic, counts.without_choice), (3, 2, 1));
    let races =
        Options { analyses: [FindingKind::Race].into(), unordered: false, ..Options::default() };
    assert!(predict(&trace, Model::View, &races).expect("no defect").findings.is_empty());
}

/// Figure 5: the couple of w2 and r2 induces an order of the sections, which closes a cycle with
/// c → r1 → w1.
#[test]
fn induced_edges_close_a_cycle() {
    let trace = common::trace(
        "T3|w(x)
         T1|w(x)
         T1|acq(l)
         T1|w(y)
         T1|rel(l)
         T2|acq(l)
         T2|r(y)
         T2|r(x)
         T2|rel(l)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let mut engine = GraphEngine::new(&trace_model);
    let mut classes = Vec::new();
    let left = engine.witnesses_of(EventId(7), &Limit::default(), |(c, form), class| {
        classes.push((c.map(|c| c.0), form, class));
    });
    // Only T3's write after T1's is left: everything else has T1's write before the read.
    assert_eq!(left, Some(true));
    assert_eq!(classes, [(Some(0), WitnessOrder::AfterWriter, WitnessClass::WithoutChoice)]);
    assert_eq!(engine.counts().cyclic, 5);
    assert_eq!(reads(&trace).0, [6, 7], "r2 may come first");
}

/// Figure 6: no order of sections is forced by itself, and every choice leads from T1's write of z
/// to T4's. Whichever of the sections of m comes first, it ends after both sections of l have
/// begun; so one of those has ended, after T1's write of p; and the other section of m begins
/// before T4's write.
const BOTH_CHOICES_CYCLIC: &str = "T1|w(z)
    T1|w(p)
    T2|acq(l)
    T2|w(q)
    T2|r(p)
    T2|rel(l)
    T3|acq(l)
    T3|w(s)
    T3|r(p)
    T3|rel(l)
    T5|acq(m)
    T5|w(t)
    T5|r(q)
    T5|r(s)
    T5|rel(m)
    T6|acq(m)
    T6|w(u)
    T6|r(q)
    T6|r(s)
    T6|rel(m)
    T4|r(t)
    T4|r(u)
    T4|w(z)
    T4|r(z)";

#[test]
fn all_choices_are_cyclic() {
    let trace = common::trace(BOTH_CHOICES_CYCLIC);
    let trace_model = TraceModel::new(&trace, Model::View);
    let mut engine = GraphEngine::new(&trace_model);
    let mut classes = Vec::new();
    let left = engine.witnesses_of(EventId(23), &Limit::default(), |(c, form), class| {
        classes.push((c.map(|c| c.0), form, class));
    });
    assert_eq!(left, Some(false));
    assert_eq!(classes, [(Some(0), WitnessOrder::AfterWriter, WitnessClass::AllCyclic)]);
    assert_eq!((engine.counts().possible, engine.counts().explored), (2, 2));
    assert!(!reads(&trace).0.contains(&23));
}

/// A couple orders what comes after the read, not the read: T2 can be inside its section, with T1
/// not yet in its own. The published edge from T1's release to T2's acquire says otherwise.
#[test]
fn sections_are_ordered_only_where_they_end() {
    let trace = common::trace(
        "T1|r(z)
         T1|acq(l)
         T1|w(p)
         T1|rel(l)
         T2|acq(l)
         T2|w(z)
         T2|r(p)
         T2|rel(l)",
    );
    assert_eq!(reads(&trace).0, [0, 6]);
}

/// Another notification can wake the waiter: a fixed edge from the observed one would hide that.
#[test]
fn notifications_are_not_fixed() {
    let trace = common::trace(
        "T1|acq(l)
         T1|wait(c,l)
         T2|w(x)
         T2|notify(c)
         T1|woken(c,l)
         T1|r(x)
         T3|notify(c)",
    );
    assert_eq!(reads(&trace).0, [5]);
}

/// A broken update breaks its reader: the reader's own writer is the challenger.
#[test]
fn broken_updates_are_challengers() {
    let trace = common::trace(
        "T1|w(x)
         T1|fork(T2)
         T2|au(x)
         T3|r(x)
         T1|w(x)",
    );
    assert_eq!(reads(&trace).0, [2, 3]);
}

/// A third writer: T2's write after T1's and before the second read is an acyclic order, but there
/// the first read does not see T1's write, and the second one is never reached.
#[test]
fn third_writers_are_left_to_the_exact_engine() {
    let trace = common::trace("T2|w(x)\nT1|w(x)\nT2|r(x)\nT2|r(x)");
    let trace_model = TraceModel::new(&trace, Model::View);
    let mut engine = GraphEngine::new(&trace_model);
    let mut classes = Vec::new();
    engine.witnesses_of(EventId(3), &Limit::default(), |(c, form), class| {
        classes.push((c.map(|c| c.0), form, class));
    });
    assert_eq!(classes, [(Some(0), WitnessOrder::AfterWriter, WitnessClass::WithoutChoice)]);
    let (reads, counts) = reads(&trace);
    assert_eq!(reads, [2]);
    assert_eq!((counts.confirmed, counts.unconfirmed), (1, 2), "a read; a read, the final value");
}

#[test]
fn more_than_a_million_witnesses() {
    let small = Params::of(Family::Locks);
    let params = Params { seed: 4, threads: 4, events: 4_800, variables: 2, locks: 4, ..small };
    let trace = generate(Family::Locks, &params);
    let with_graphs = nondeterminism(&trace, Model::View, EngineKind::Graph);
    let counts = with_graphs.effort.graphs;
    assert!(counts.witnesses > 1_000_000, "{counts:?}");
    check(&counts);
    let exactly = nondeterminism(&trace, Model::View, EngineKind::Order);
    let found = |p: &Prediction| common::as_brute(&p.findings);
    assert_eq!(found(&with_graphs), found(&exactly));
}

/// Other analyses are the exact engine's, and say so.
#[test]
fn other_analyses_are_decided_exactly() {
    let trace = common::trace("T1|w(x)\nT2|r(x)");
    let options = Options { engine: EngineKind::Graph, unordered: false, ..Options::default() };
    let prediction = predict(&trace, Model::View, &options).expect("no defect");
    let engines: Vec<_> =
        prediction.findings.iter().map(|f| (f.candidate.kind().name(), f.engine)).collect();
    assert_eq!(engines, [("race", "order"), ("nondeterminism", "graph")]);
    let trace_model = TraceModel::new(&trace, Model::View);
    assert_eq!(candidates(&trace_model, FindingKind::Nondeterminism).len(), 1);
}
