//! Races: two conflicting accesses, not both atomic, that can both be next.
//!
//! The candidates are those of the race-witness paper (its set PDR). The paper asks for an
//! interleaving of all events with the two side by side; semantics section 2 asks only for a prefix
//! after which both are next, and so finds more.

use foretell_model::TraceModel;
use foretell_trace::{EventId, VarId, conflict};

use super::Candidate;
use crate::query::Query;

/// Both accesses are next.
pub(super) fn query(a: EventId, b: EventId) -> Query {
    Query { next: vec![a, b], ..Query::default() }
}

/// Every pair of accesses that conflicts and is not both atomic.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let trace = trace_model.trace;
    let mut candidates = Vec::new();
    for x in (0..trace.variable_count()).map(VarId::from_index) {
        let accesses = trace_model.reads_from.accesses(x);
        for (i, &a) in accesses.iter().enumerate() {
            for &b in &accesses[i + 1..] {
                foretell_limit::check();
                if conflict(trace, a, b) && !(trace.op(a).is_atomic() && trace.op(b).is_atomic()) {
                    candidates.push(Candidate::Race(a, b));
                }
            }
        }
    }
    candidates.sort_unstable();
    // Two frees of one block conflict on each of its variables.
    candidates.dedup();
    candidates
}
