//! Nondeterminism: reads that can see something else, and variables that can end with another
//! write.
//!
//! The witnesses of the nondeterminism paper for a read r of write w: a challenger c with c → r →
//! w, w → c → r, or c → r with w absent. One query asks for any challenger. In the model `value` a
//! challenger that wrote the same value is none.

use foretell_model::TraceModel;
use foretell_trace::{EventId, VarId, visible_variable};

use super::Candidate;
use crate::engines::writers::FinalWrites;
use crate::query::{Goal, Query};

/// The read runs and is broken.
pub(super) fn query_read(read: EventId) -> Query {
    Query { run: vec![read], goal: Goal::Broken(read), ..Query::default() }
}

/// Everything runs, nothing is broken, and the write is not the last.
pub(super) fn query_final(write: EventId, x: VarId) -> Query {
    Query { goal: Goal::Overwritten(write, x), ..Query::default() }
}

/// Every read and update, then the last write of every variable that another thread may end with
/// another value.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let trace = trace_model.trace;
    let reads =
        trace.ids().filter(|&e| trace.op(e).reads() && visible_variable(trace, e).is_some());
    let mut candidates: Vec<_> = reads.map(Candidate::NondeterministicRead).collect();
    for x in (0..trace.variable_count()).map(VarId::from_index) {
        foretell_limit::check();
        if let Some(&last) = trace_model.reads_from.writes(x).last()
            && !trace.is_opaque(x)
            && !FinalWrites::besides(trace_model, last, x).differing.is_empty()
        {
            candidates.push(Candidate::FinalValue(last, x));
        }
    }
    candidates
}
