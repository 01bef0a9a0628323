//! Which writes a read can see, as far as program order and must-happen-before tell.

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model, VarId};

/// The writes (`None`: the initial value) that `read` could see and that preserve its view, or
/// those that do not. An update counts as what it is when it is not broken.
pub(crate) fn writers(
    trace_model: &TraceModel<'_>,
    read: EventId,
    preserving: bool,
) -> Vec<Option<EventId>> {
    let TraceModel { trace, chains, reads_from, must_happen_before, .. } = trace_model;
    let Some(x) = trace.variable(read) else { return Vec::new() };
    let wanted = |w: Option<EventId>| reads_from.preserves(trace, read, w) == preserving;
    let own = reads_from.own_write(trace, read);
    let mut writers = Vec::new();
    if wanted(own) {
        writers.push(own);
    }
    for (thread, writes) in reads_from.writes_by_thread(x) {
        if *thread == trace.thread(read) {
            continue;
        }
        let after = must_happen_before.first_after(chains, trace, read, *thread);
        let after = after.unwrap_or(u32::MAX);
        let end = writes.partition_point(|&w| chains.position(w) < after);
        let mut hidden = false;
        // From the latest that can come before the read back to the one that hides the rest.
        for &w in writes[..end].iter().rev() {
            foretell_limit::check();
            if hidden {
                break;
            }
            hidden = must_happen_before.ordered_before(chains, trace, w, read);
            let overwritten =
                own.is_some_and(|own| must_happen_before.ordered_before(chains, trace, w, own));
            if wanted(Some(w)) && !overwritten {
                writers.push(Some(w));
            }
        }
    }
    writers
}

/// The last writes of a variable that other threads than that of its observed last write have: one
/// of them is the final one if that write is not.
pub(crate) struct FinalWrites {
    /// Those that may leave another value.
    pub(crate) differing: Vec<EventId>,
    /// Those that are known to leave an equal value. In the symbolic model nothing is known before
    /// an interleaving is.
    pub(crate) equal: Vec<EventId>,
}

impl FinalWrites {
    /// Returns the final writes besides `write`, the observed last write of `x`.
    pub(crate) fn besides(trace_model: &TraceModel<'_>, write: EventId, x: VarId) -> Self {
        let TraceModel { trace, reads_from, model, .. } = trace_model;
        let mut writes = Self { differing: Vec::new(), equal: Vec::new() };
        let value = trace.written_value(write).filter(|_| *model == Model::Value);
        for (thread, list) in reads_from.writes_by_thread(x) {
            foretell_limit::check();
            let Some(&last) = list.last().filter(|_| *thread != trace.thread(write)) else {
                continue;
            };
            if value.is_some() && trace.written_value(last) == value {
                writes.equal.push(last);
            } else {
                writes.differing.push(last);
            }
        }
        writes
    }
}
