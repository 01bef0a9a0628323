//! Serializability violations: a path of conflicts and program order that leaves an atomic block
//! and comes back to it.
//!
//! The definition of the trace-segmentation and the SMT-versus-DPOR paper, for any number of
//! threads and variables. The query is about reachability along the path; no path is enumerated.

use foretell_model::{BlockId, TraceModel};

use super::Candidate;
use crate::query::{Goal, Query};

/// A path leaves the block and comes back.
pub(super) fn query(block: BlockId) -> Query {
    Query { goal: Goal::Path(block), ..Query::default() }
}

/// Every block, nested ones too.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    trace_model.blocks.iter().map(|(id, _)| Candidate::Serializability(id)).collect()
}
