//! Which writes a read can see, as far as program order and must-happen-before tell.

use foretell_model::TraceModel;
use foretell_trace::EventId;

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
