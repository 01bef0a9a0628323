//! What every engine offers: it decides queries, exactly, one after the other.

use crate::query::{Limit, Query, Verdict};

/// Decides queries about one trace. An engine may learn from one query for the next; its
/// verdicts must not depend on that.
pub trait Engine {
    /// The name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Is there a feasible interleaving that the query asks for?
    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict;
}
