//! The terms of a trace: the values that its guards and accesses have, over loads.

use foretell_trace::EventId;
use rustc_hash::FxHashMap;

use super::term::{TermId, Terms};

/// The terms of a trace.
pub(super) struct TraceTerms {
    pub(super) terms: Terms,
    /// All guards, in the order of the trace.
    pub(super) guards: Vec<(EventId, TermId)>,
    /// By event: what an access finds, and what it leaves.
    pub(super) before: Vec<TermId>,
    pub(super) after: Vec<TermId>,
    /// For reads without a recorded value: whether they see what they saw in the trace.
    pub(super) observed: FxHashMap<EventId, TermId>,
}
