//! Conflicts: the pairs of accesses whose order matters for a finding (semantics section 3).
//!
//! The analyses, the engines and the reports all use this one definition. Only the checker
//! (`foretell-verify`) and the brute force (`foretell-brute`) have their own, so that each can be
//! tested against the others; `foretell-verify/tests/conflict.rs` compares the three.
//!
//! A conflict is a step of a finding, and an opaque variable takes part in no finding (semantics
//! section 1): code that was not recorded also writes it, so nothing is known about the values that
//! another order would show. Its accesses therefore conflict with nothing.

use crate::{EventId, Trace, VarId};

/// Whether two accesses conflict: they are in different threads, touch the same variable, which is
/// not opaque, and at least one of them writes.
#[inline]
pub fn conflict(trace: &Trace, a: EventId, b: EventId) -> bool {
    let (Some(x), Some(y)) = (trace.variable(a), trace.variable(b)) else { return false };
    x == y
        && trace.thread(a) != trace.thread(b)
        && (trace.op(a).writes() || trace.op(b).writes())
        && !trace.is_opaque(x)
}

/// Returns the variable of an access that can take part in a finding: one that is not opaque.
#[inline]
pub fn visible_variable(trace: &Trace, e: EventId) -> Option<VarId> {
    trace.variable(e).filter(|&x| !trace.is_opaque(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn all_conflicts(text: &str) -> Vec<(u32, u32)> {
        let trace = text::parse(text.as_bytes()).unwrap().trace;
        let pairs = trace.ids().flat_map(|a| trace.ids().map(move |b| (a, b)));
        pairs.filter(|&(a, b)| a < b && conflict(&trace, a, b)).map(|(a, b)| (a.0, b.0)).collect()
    }

    #[test]
    fn conflicts_need_two_threads_one_variable_and_a_write() {
        assert_eq!(all_conflicts("T1|w(x)\nT2|r(x)\nT2|w(y)\nT2|r(y)\nT1|r(x)"), [(0, 1)]);
        assert_eq!(all_conflicts("T1|aw(x)\nT2|au(x)\nT1|acq(l)\nT1|rel(l)\nT2|acq(l)"), [(0, 1)]);
    }

    #[test]
    fn opaque_variables_conflict_with_nothing() {
        assert_eq!(all_conflicts("#! opaque x\nT1|w(x)\nT2|w(x)\nT1|w(y)\nT2|w(y)"), [(2, 3)]);
        let trace = text::parse(b"#! opaque x\nT1|w(x)\nT1|w(y)\nT1|acq(l)").unwrap().trace;
        let visible = |e: u32| visible_variable(&trace, EventId(e));
        assert_eq!([visible(0), visible(2)], [None, None]);
        assert_eq!(visible(1), trace.variable(EventId(1)));
    }
}
