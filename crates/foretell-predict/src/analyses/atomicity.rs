//! Atomicity violations: an access of another thread between two accesses of an atomic block.
//!
//! The three-access violations of the symbolic-atomicity paper (its section 3): the five patterns
//! R-W-R, W-W-R, W-R-W, R-W-W, W-W-W are exactly the triples in which the middle access
//! conflicts with both others.

use foretell_model::TraceModel;
use foretell_trace::{EventId, conflict, visible_variable};

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
                if trace.variable(c) != trace.variable(c2) {
                    continue;
                }
                let Some(x) = visible_variable(trace, c) else { continue };
                for &r in trace_model.reads_from.accesses(x) {
                    foretell_limit::check();
                    if conflict(trace, c, r) && conflict(trace, r, c2) {
                        candidates.push(Candidate::Atomicity(c, r, c2));
                    }
                }
            }
        }
    }
    candidates.sort_unstable();
    candidates
}
