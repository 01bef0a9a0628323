//! Transaction cycles: outermost blocks, and the single events outside of them, that depend on each
//! other in a circle.
//!
//! Beyond the papers: this finds what no single block's path shows, such as
//! r1(x) r2(y) w1(y) w2(x) with a block in each thread.

use foretell_model::{BlockId, TraceModel};

use super::Candidate;
use crate::query::{Goal, Query};

/// A cycle goes through the block.
pub(super) fn query(block: BlockId) -> Query {
    Query { goal: Goal::Cycle(block), ..Query::default() }
}

/// Every outermost block.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let outermost = trace_model.blocks.iter().filter(|(id, block)| block.outermost == *id);
    outermost.map(|(id, _)| Candidate::Transactions(id)).collect()
}
