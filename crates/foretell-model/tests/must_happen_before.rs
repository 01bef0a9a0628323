//! Must-happen-before claims nothing that is not so: whatever it orders is in that order in every
//! feasible interleaving, and what it calls unreachable brute force does not reach.

use foretell_brute::{findings, maximal_interleavings};
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_trace::{EventId, Model, Op, Trace, text};

const FAMILIES: [Family; 13] = [
    Family::Locks,
    Family::Inversion,
    Family::ForkJoin,
    Family::ReadersWriters,
    Family::Values,
    Family::Mixed,
    Family::Uniform,
    Family::Lucky,
    Family::Hidden,
    Family::Sync,
    Family::Waiters,
    Family::Queue,
    Family::Permits,
];

/// `FORETELL_SEEDS=20000` is the long run.
fn seeds(usual: u64) -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(usual)
}

fn small_traces(seeds: u64, events: usize) -> impl Iterator<Item = (Trace, String)> {
    (0..seeds).flat_map(move |seed| {
        FAMILIES.map(|family| {
            let small = Params::small(family, seed);
            let params = Params { events, threads: small.threads.min(3), ..small };
            let trace = generate(family, &params);
            let mut shown = format!("{family} seed {seed}\n").into_bytes();
            text::write(&trace, &mut shown).expect("a generated trace can be written");
            (trace, String::from_utf8_lossy(&shown).into_owned())
        })
    })
}

/// Whether an event is enabled whenever it is the next one of a thread that has started and is not
/// cut.
fn is_always_enabled(op: Op) -> bool {
    op.is_access() || matches!(op, Op::Post | Op::Notify | Op::NotifyAll | Op::Begin | Op::End)
}

/// The uses of hidden state in a sequence that are broken: must-happen-before is about those that
/// are not.
fn broken_uses(trace: &Trace, sequence: &[EventId]) -> Vec<EventId> {
    let mut broken: Vec<EventId> = Vec::new();
    for (i, &e) in sequence.iter().enumerate() {
        let Some(x) = trace.variable(e).filter(|&x| trace.is_opaque(x)) else { continue };
        if trace.op(e) != Op::AtomicUpdate {
            continue;
        }
        let writes = |w: &EventId| trace.variable(*w) == Some(x) && trace.op(*w).writes();
        let here = sequence[..i].iter().copied().rfind(writes);
        let in_trace = trace.ids().take(e.index()).rev().find(writes);
        if here != in_trace || here.is_some_and(|w| broken.contains(&w)) {
            broken.push(e);
        }
    }
    broken
}

/// Pairs (a, b) of events of different threads for which some interleaving has b without an earlier
/// a.
fn free_pairs(trace: &Trace, model: Model) -> Vec<Vec<bool>> {
    let mut free = vec![vec![false; trace.len()]; trace.len()];
    for sequence in maximal_interleavings(trace, model) {
        let mut ran = vec![false; trace.len()];
        let broken = broken_uses(trace, &sequence);
        for b in sequence.into_iter().filter(|e| !broken.contains(e)) {
            for a in 0..trace.len() {
                free[a][b.index()] |= !ran[a];
            }
            ran[b.index()] = true;
        }
    }
    free
}

#[test]
fn ordered_events_are_never_reversed() {
    let mut claims = 0;
    for (trace, shown) in small_traces(seeds(150), 9) {
        for model in [Model::View, Model::Value] {
            let TraceModel { chains, must_happen_before, .. } = TraceModel::new(&trace, model);
            let free = free_pairs(&trace, model);
            for (a, b) in trace.ids().flat_map(|a| trace.ids().map(move |b| (a, b))) {
                if a == b || trace.thread(a) == trace.thread(b) {
                    continue;
                }
                let is_free = free[a.index()][b.index()];
                if must_happen_before.ordered_before(&chains, &trace, a, b) {
                    claims += 1;
                    assert!(!is_free, "{a:?} before {b:?}, {model}\n{shown}");
                }
                if is_always_enabled(trace.op(b))
                    && must_happen_before.run_before_next(&chains, &trace, a, b)
                {
                    assert!(!is_free, "{a:?} before {b:?} is next, {model}\n{shown}");
                }
            }
        }
    }
    assert!(claims > 1000, "{claims} pairs were ordered");
}

#[test]
fn found_events_have_a_frontier() {
    let (mut races, mut deadlocks) = (0, 0);
    for (trace, shown) in small_traces(seeds(100), 14) {
        for model in [Model::View, Model::Value] {
            let trace_model = TraceModel::new(&trace, model);
            let TraceModel { chains, must_happen_before, .. } = &trace_model;
            let found = findings(&trace, model);
            let pairs = found.races.iter().map(|r| r.to_vec());
            for next in pairs.chain(found.deadlocks.iter().cloned()) {
                let frontier = trace_model.frontier_of_next(&next);
                let frontier = frontier.unwrap_or_else(|| panic!("{next:?}, {model}\n{shown}"));
                for &e in &next {
                    let own = frontier[trace.thread(e).index()];
                    assert!(own <= chains.position(e), "{next:?}, {model}\n{shown}");
                    let has_run = |a: &EventId| {
                        *a != e && must_happen_before.run_before_next(chains, &trace, *a, e)
                    };
                    assert!(!next.iter().any(has_run), "{next:?}, {model}\n{shown}");
                }
            }
            races += found.races.len();
            deadlocks += found.deadlocks.len();
            for &[c, r, c2] in &found.atomicity {
                assert!(
                    !must_happen_before.ordered_before(chains, &trace, r, c),
                    "{model}\n{shown}"
                );
                assert!(
                    !must_happen_before.ordered_before(chains, &trace, c2, r),
                    "{model}\n{shown}"
                );
            }
        }
    }
    assert!(races > 500 && deadlocks > 20, "{races} races, {deadlocks} deadlocks");
}
