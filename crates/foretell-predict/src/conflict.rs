//! Conflicts: the accesses whose order matters.

use foretell_trace::{EventId, Trace, VarId};

/// Whether two accesses conflict: different threads, same variable, at least one writes. Opaque
/// variables take part in no finding, so their accesses conflict with nothing.
pub fn conflict(trace: &Trace, a: EventId, b: EventId) -> bool {
    let (Some(x), Some(y)) = (trace.variable(a), trace.variable(b)) else { return false };
    x == y
        && trace.thread(a) != trace.thread(b)
        && (trace.op(a).writes() || trace.op(b).writes())
        && !trace.is_opaque(x)
}

/// The variable of an access that can take part in a finding.
pub fn visible_variable(trace: &Trace, e: EventId) -> Option<VarId> {
    trace.variable(e).filter(|&x| !trace.is_opaque(x))
}
