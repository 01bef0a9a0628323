//! Races that memory orders leave open (semantics section 3b): two conflicting accesses, not both
//! atomic, that happens-before of some feasible interleaving does not order.
//!
//! The candidates are the pairs of the race analysis that `TraceModel::common_order`, a part of
//! happens-before that every interleaving has, leaves open. Locks and must-happen-before say
//! nothing here: an order that a relaxed flag enforces is an order of every interleaving, and none
//! of happens-before. The recorded run is tried first; what a vector-clock detector reports for it
//! needs no search.

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model};

use crate::query::{Goal, Query};

/// Both accesses have run, and nothing orders them.
pub(super) fn query(a: EventId, b: EventId) -> Query {
    Query { run: vec![a, b], goal: Goal::Unordered(a, b), ..Query::default() }
}

/// The recorded run up to the later access, if its happens-before does not order the two.
///
/// In the symbolic model the recorded run need not be feasible: a guard may depend on a value that
/// is not known, such as that of freed memory. The search decides there.
pub(crate) fn recorded_witness(
    trace_model: &TraceModel<'_>,
    a: EventId,
    b: EventId,
) -> Option<Vec<EventId>> {
    let (first, last) = (a.min(b), a.max(b));
    if trace_model.model == Model::Symbolic {
        return None;
    }
    let is_ordered = trace_model.observed_order().ordered(trace_model, first, last);
    (last.0 < trace_model.feasible_prefix && !is_ordered)
        .then(|| (0..=last.0).map(EventId).collect())
}
