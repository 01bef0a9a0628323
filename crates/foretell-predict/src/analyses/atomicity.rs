//! Atomicity violations: an access of another thread between two accesses of an atomic block.
//!
//! The three-access violations of the symbolic-atomicity paper (its section 3): the five patterns
//! R-W-R, W-W-R, W-R-W, R-W-W, W-W-W are exactly the triples in which the middle access
//! conflicts with both others.

use foretell_model::TraceModel;
use foretell_trace::{EventId, Op, Trace, conflict, visible_variables};

use super::Candidate;
use crate::query::Query;
use crate::reachability::accesses_of;

/// c, r, c' run in this order.
pub(super) fn query(c: EventId, r: EventId, c2: EventId) -> Query {
    let steps = vec![(c, r), (r, c2)];
    Query { run: vec![r, c2], order: steps.clone(), real: steps, ..Query::default() }
}

/// Every unserializable triple. Accesses that share an inner block share its outermost block, so
/// outermost blocks are enough.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let trace = trace_model.trace;
    let mut candidates = Vec::new();
    for (id, block) in trace_model.blocks.iter() {
        if block.outermost != id {
            continue;
        }
        let accesses = accesses_of(trace_model, id);
        for (i, &c) in accesses.iter().enumerate() {
            for &c2 in &accesses[i + 1..] {
                foretell_limit::check();
                // Accesses of two variables conflict with one event only if it frees both.
                let is_free = |e| trace.op(e) == Op::Free;
                let same = trace.variable(c) == trace.variable(c2);
                if !same && !may_be_freed(trace, c) {
                    continue;
                }
                for x in visible_variables(trace, c) {
                    for &r in trace_model.reads_from.accesses(x) {
                        foretell_limit::check();
                        let possible = same || is_free(c) || is_free(c2) || is_free(r);
                        if possible && conflict(trace, c, r) && conflict(trace, r, c2) {
                            candidates.push(Candidate::Atomicity(c, r, c2));
                        }
                    }
                }
            }
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

/// Whether an event accesses a variable that lies in a memory block.
fn may_be_freed(trace: &Trace, e: EventId) -> bool {
    trace.accessed_variables(e).any(|x| trace.block_of_variable(x).is_some())
}
