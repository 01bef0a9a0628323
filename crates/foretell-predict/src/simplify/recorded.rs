//! Recorded values: what the trace says that a variable or an access held.

use foretell_model::TraceModel;
use foretell_trace::{Value, ValueId, VarId};

/// The initial value of a variable, if it is known.
pub(crate) fn initial(trace_model: &TraceModel<'_>, x: VarId) -> Option<Value> {
    known(trace_model, trace_model.reads_from.initial(x))
}

/// A recorded value, if there is one.
pub(crate) fn known(trace_model: &TraceModel<'_>, value: Option<ValueId>) -> Option<Value> {
    value.and_then(|v| trace_model.trace.values().get(v))
}
