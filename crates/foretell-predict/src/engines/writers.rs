//! Which writes a read can see, as far as program order and must-happen-before tell.

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model};

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
    let own = own_write(trace_model, read);
    let mut writers = Vec::new();
    if wanted(own) {
        writers.push(own);
    }
    for (thread, accesses) in reads_from.accesses_by_thread(x) {
        if *thread == trace.thread(read) {
            continue;
        }
        let mut hidden = false;
        // From the latest that can come before the read back to the one that hides the rest.
        for &w in accesses.iter().rev().filter(|&&w| trace.op(w).writes()) {
            if hidden {
                break;
            }
            if must_happen_before.ordered_before(chains, trace, read, w) {
                continue;
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
    /// Returns the final writes besides `write`, the observed last write of its variable.
    pub(crate) fn besides(trace_model: &TraceModel<'_>, write: EventId) -> Self {
        let TraceModel { trace, reads_from, model, .. } = trace_model;
        let mut writes = Self { differing: Vec::new(), equal: Vec::new() };
        let Some(x) = trace.variable(write) else { return writes };
        let value = trace.written_value(write).filter(|_| *model == Model::Value);
        for (thread, list) in reads_from.accesses_by_thread(x) {
            let last = list.iter().rev().find(|&&e| trace.op(e).writes());
            let Some(&last) = last.filter(|_| *thread != trace.thread(write)) else { continue };
            if value.is_some() && trace.written_value(last) == value {
                writes.equal.push(last);
            } else {
                writes.differing.push(last);
            }
        }
        writes
    }
}

/// The last write of the read's own thread before it: it hides the earlier ones and the
/// initial value.
pub(crate) fn own_write(trace_model: &TraceModel<'_>, read: EventId) -> Option<EventId> {
    let TraceModel { trace, chains, reads_from, .. } = trace_model;
    let x = trace.variable(read)?;
    let lists = reads_from.accesses_by_thread(x);
    let (_, accesses) = lists.iter().find(|(t, _)| *t == trace.thread(read))?;
    let before = accesses.partition_point(|&e| chains.position(e) < chains.position(read));
    accesses[..before].iter().rev().copied().find(|&e| trace.op(e).writes())
}
