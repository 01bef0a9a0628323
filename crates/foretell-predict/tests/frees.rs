//! Traces that free memory: prediction and brute force agree on every analysis.
//!
//! A `free` is one event that writes several variables. The traces are those of the generator with
//! the variables put into two memory blocks and some plain writes turned into frees.

mod common;

use foretell_generate::{Family, Params, generate};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engines::EngineKind;
use foretell_trace::{
    CondId, EventKind, FindingKind, LockId, MemBlockId, Model, Trace, VarId, legality,
};

/// The trace with variables in blocks, and about a third of its plain writes as frees.
fn with_frees(trace: &Trace, seed: u64) -> Trace {
    with_frees_of(trace, seed, true)
}

/// Like [`with_frees`]; without `variables` only locks and conditions lie in the blocks.
fn with_frees_of(trace: &Trace, seed: u64, variables: bool) -> Trace {
    let mut b = trace.builder_with_names();
    let blocks = [b.mem_block("first"), b.mem_block("second")];
    let block_of = |x: VarId| -> MemBlockId { blocks[(x.index() as u64 + seed) as usize / 2 % 2] };
    for x in (0..trace.variable_count()).map(VarId::from_index).filter(|_| variables) {
        b.set_variable_part(x, block_of(x));
    }
    for l in (0..trace.lock_count()).map(|l| LockId(l as u32)).filter(|l| l.0 % 2 == 0) {
        b.set_lock_part(l, blocks[(l.0 as u64 / 2 + seed) as usize % 2]);
    }
    for c in (0..trace.condition_count()).map(|c| CondId(c as u32)) {
        b.set_condition_part(c, blocks[(c.0 as u64 + seed) as usize % 2]);
    }
    for event in trace.events() {
        let frees = (u64::from(event.id.0) * 7 + seed).is_multiple_of(3);
        let kind = match event.kind {
            EventKind::Write { var, atomic: false, .. } if frees => {
                if !variables {
                    // Somebody may read the write.
                    b.push(event.thread, event.kind, event.site);
                }
                EventKind::Free { block: block_of(var) }
            }
            kind => kind,
        };
        b.push_ordered(event.thread, kind, event.order, event.site);
    }
    let trace = b.build();
    legality::check(&trace).expect("unknown values contradict nothing");
    trace
}

fn agree(family: Family, models: &[Model], seeds: std::ops::Range<u64>) {
    let (mut frees, mut lifetimes) = (0, 0);
    for seed in seeds {
        let trace = with_frees(&generate(family, &Params::small(family, seed)), seed);
        frees += trace.ids().filter(|&e| trace.freed_block(e).is_some()).count();
        for &model in models {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 100_000) else {
                continue;
            };
            lifetimes += expected.lifetimes.len();
            for search_only in [false, true] {
                let options = Options {
                    all: true,
                    unordered: false,
                    jobs: 1,
                    search_only,
                    ..Options::default()
                };
                let prediction = predict(&trace, model, &options)
                    .unwrap_or_else(|d| panic!("{family} {seed} {d:?}\n{}", common::show(&trace)));
                assert!(prediction.undecided.is_empty(), "{family} {seed}");
                assert_eq!(
                    common::as_brute(&prediction.findings),
                    expected,
                    "{family} seed {seed} {model}, search only: {search_only}\n{}",
                    common::show(&trace)
                );
            }
        }
    }
    assert!(frees > 50, "{frees} frees");
    assert!(lifetimes > 50, "{lifetimes} lifetime violations");
}

#[test]
fn frees_in_the_models_of_reads() {
    let families = [Family::Uniform, Family::Blocks, Family::Mixed, Family::Values];
    for family in
        families.into_iter().chain([Family::ForkJoin, Family::Locks, Family::Hidden, Family::Sync])
    {
        agree(family, &[Model::View, Model::Value], 0..150);
    }
}

#[test]
fn frees_in_the_symbolic_model() {
    for family in [Family::Symbolic, Family::Blocks] {
        agree(family, &[Model::Symbolic], 0..150);
    }
}

/// The explicit search finds the same violations, where blocks have no variables: it serves no
/// others.
#[test]
fn lifetimes_by_explicit_search() {
    let analyses = [FindingKind::Lifetime].into_iter().collect();
    let engine = EngineKind::Dpor;
    let options = Options { analyses, engine, all: true, jobs: 1, ..Options::default() };
    let mut found = 0;
    for family in [Family::Uniform, Family::Locks, Family::Queue, Family::Sync, Family::Mixed] {
        for seed in 0..100 {
            let trace = with_frees_of(&generate(family, &Params::small(family, seed)), seed, false);
            for model in [Model::View, Model::Value] {
                let expected = foretell_brute::findings_within(&trace, model, 60_000);
                let Some(expected) = expected else { continue };
                let prediction = predict(&trace, model, &options)
                    .unwrap_or_else(|d| panic!("{family} {seed} {d:?}\n{}", common::show(&trace)));
                assert!(prediction.undecided.is_empty(), "{family} {seed}");
                let lifetimes = common::as_brute(&prediction.findings).lifetimes;
                let context = format!("{family} seed {seed} {model}\n{}", common::show(&trace));
                assert_eq!(lifetimes, expected.lifetimes, "{context}");
                found += lifetimes.len();
            }
        }
    }
    assert!(found > 50, "{found} lifetime violations");
}

/// One finding for each pair of locations, with what the checker needs.
#[test]
fn lifetimes_are_grouped() {
    let trace = common::trace(
        "#! part x b
         #! part m b
         T1|acq(l)|a.c:1
         T1|w(x)|a.c:2
         T1|w(x)|a.c:2
         T1|rel(l)|a.c:3
         T1|acq(m)|a.c:4
         T1|rel(m)|a.c:5
         T2|acq(l)|a.c:6
         T2|free(b)|a.c:7
         T2|rel(l)|a.c:8
         T3|free(b)|a.c:7",
    );
    let prediction = predict(&trace, Model::View, &Options::default()).expect("no defects");
    let found = common::as_brute(&prediction.findings);
    assert_eq!(found.lifetimes.len(), 4, "{found:?}");
    let all = Options { all: true, ..Options::default() };
    let prediction = predict(&trace, Model::View, &all).expect("no defects");
    let found = common::as_brute(&prediction.findings);
    assert_eq!(found.lifetimes.len(), 10, "{found:?}");
}

/// A join before the `free` keeps every use before it.
#[test]
fn free_after_a_join_needs_no_search() {
    let trace = common::trace(
        "#! part x b
         T1|fork(T2)
         T2|w(x)
         T1|join(T2)
         T1|free(b)",
    );
    let analyses = [FindingKind::Lifetime].into_iter().collect();
    let options = Options { analyses, all: true, jobs: 1, ..Options::default() };
    let prediction = predict(&trace, Model::View, &options).expect("no defects");
    assert!(prediction.findings.is_empty() && prediction.undecided.is_empty());
    let counts = &prediction.counts[&FindingKind::Lifetime];
    assert_eq!((counts.candidates, counts.solved), (1, 0));
}

/// Races of both forms, by adjacency and by happens-before.
#[test]
fn frees_that_memory_orders_leave_open() {
    let analyses = [FindingKind::Race].into_iter().collect();
    let options = Options { analyses, all: true, jobs: 1, ..Options::default() };
    let mut unordered = 0;
    for (family, model) in [
        (Family::Orders, Model::View),
        (Family::Orders, Model::Value),
        (Family::Uniform, Model::View),
        (Family::Mixed, Model::Value),
        (Family::Symbolic, Model::Symbolic),
    ] {
        for seed in 0..150 {
            let trace = with_frees(&generate(family, &Params::small(family, seed)), seed);
            let expected = foretell_brute::races_of_both_forms(&trace, model, 60_000);
            let Some(expected) = expected else { continue };
            let prediction = predict(&trace, model, &options)
                .unwrap_or_else(|d| panic!("{family} {seed} {d:?}\n{}", common::show(&trace)));
            let found = common::as_brute(&prediction.findings);
            let context = format!("{family} seed {seed} {model}\n{}", common::show(&trace));
            assert_eq!(found.races, expected.races, "{context}");
            assert_eq!(found.unordered_races, expected.unordered_races, "{context}");
            unordered += found.unordered_races.len();
        }
    }
    assert!(unordered > 50, "only {unordered} races that memory orders leave open");
}

/// One finding for each group of locations: a `free` between accesses to two of its variables.
#[test]
fn free_between_two_variables_is_grouped() {
    let trace = common::trace(
        "#! part x b
         #! part y b
         T1|begin
         T1|r(x)|a.c:1
         T1|r(y)|a.c:2
         T1|end
         T2|free(b)|a.c:3",
    );
    let prediction = predict(&trace, Model::View, &Options::default()).expect("no defects");
    let found = common::as_brute(&prediction.findings);
    assert_eq!(found.atomicity.len(), 1, "{found:?}");
    assert_eq!(found.races.len(), 2, "{found:?}");
}
