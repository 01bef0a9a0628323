//! Lifetime violations: a block of memory, or a lock or condition in it, is used after it was freed.
//!
//! The candidates are the pairs of a `free` and a use of the same block in another thread. No race
//! is needed: locks that keep the two apart leave their order open. A block is freed once in most
//! programs, so there are about as many candidates as uses.

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, MemBlockId, Trace};
use rustc_hash::FxHashMap;

use super::Candidate;
use crate::query::Query;

/// The use runs after the `free`.
pub(super) fn query(free: EventId, used: EventId) -> Query {
    Query { run: vec![free, used], order: vec![(free, used)], ..Query::default() }
}

/// Every `free` with every use of its block in other threads. A `free` of a block with an opaque
/// variable is in no finding.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let trace = trace_model.trace;
    let mut frees: FxHashMap<MemBlockId, Vec<EventId>> = FxHashMap::default();
    for f in trace.ids() {
        if let Some(block) = trace.freed_block(f)
            && !trace.variables_in(block).iter().any(|&x| trace.is_opaque(x))
        {
            frees.entry(block).or_default().push(f);
        }
    }
    if frees.is_empty() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for used in trace.ids() {
        foretell_limit::check();
        let [first, second] = used_blocks(trace, used);
        let blocks = first.into_iter().chain(second.filter(|_| second != first));
        for &f in blocks.filter_map(|block| frees.get(&block)).flatten() {
            foretell_limit::check();
            if trace.thread(f) != trace.thread(used) {
                candidates.push(Candidate::Lifetime(f, used));
            }
        }
    }
    candidates.sort_unstable();
    candidates
}

/// The blocks that an event uses: that of its variable, lock or condition, or the one that it
/// frees. A wait has a lock and a condition.
fn used_blocks(trace: &Trace, e: EventId) -> [Option<MemBlockId>; 2] {
    if let Some(x) = trace.variable(e) {
        return [trace.block_of_variable(x), None];
    }
    match trace.event(e).kind {
        EventKind::Free { block } => [Some(block), None],
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock } => [trace.block_of_lock(lock), None],
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            [trace.block_of_lock(lock), trace.block_of_condition(cond)]
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            [trace.block_of_condition(cond), None]
        }
        _ => [None, None],
    }
}
