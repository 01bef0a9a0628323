//! Conflicts: the pairs of accesses whose order matters for a finding (semantics section 3).
//!
//! The analyses, the engines and the reports all use this one definition. Only the checker
//! (`foretell-verify`) and the brute force (`foretell-brute`) have their own, so that each can be
//! tested against the others; `foretell-verify/tests/conflict.rs` compares the three.
//!
//! A conflict is a step of a finding, and an opaque variable takes part in no finding (semantics
//! section 1): code that was not recorded also writes it, so nothing is known about the values that
//! another order would show. Its accesses therefore conflict with nothing. Neither does a `free` of
//! a block that has an opaque variable: it keeps its place among the accesses of that variable.

use crate::{EventId, MemBlockId, Op, Trace, VarId};

/// Whether two accesses conflict: they are in different threads, touch the same variable, which is
/// not opaque, and at least one of them writes.
#[inline]
pub fn conflict(trace: &Trace, a: EventId, b: EventId) -> bool {
    let (p, q) = (trace.op(a), trace.op(b));
    if trace.thread(a) == trace.thread(b) || !(p.writes() || q.writes()) {
        return false;
    }
    match (trace.variable(a), trace.variable(b)) {
        (Some(x), Some(y)) => x == y && !trace.is_opaque(x),
        (Some(x), None) | (None, Some(x)) => {
            let block = trace.freed_block(a).or_else(|| trace.freed_block(b));
            block.is_some_and(|b| trace.block_of_variable(x) == Some(b) && !has_opaque(trace, b))
        }
        (None, None) => {
            let block = trace.freed_block(a).filter(|_| q == Op::Free);
            block.is_some_and(|block| {
                trace.freed_block(b) == Some(block)
                    && !trace.variables_in(block).is_empty()
                    && !has_opaque(trace, block)
            })
        }
    }
}

/// Whether some variable in a block is opaque.
#[inline]
fn has_opaque(trace: &Trace, block: MemBlockId) -> bool {
    trace.variables_in(block).iter().any(|&x| trace.is_opaque(x))
}

/// Returns the variable of an access that can take part in a finding: one that is not opaque.
/// A `free` has several: see [`visible_variables`].
#[inline]
pub fn visible_variable(trace: &Trace, e: EventId) -> Option<VarId> {
    trace.variable(e).filter(|&x| !trace.is_opaque(x))
}

/// Returns the variables of an event that can take part in a finding: those that it accesses and
/// that are not opaque.
#[inline]
pub fn visible_variables(trace: &Trace, e: EventId) -> impl Iterator<Item = VarId> + '_ {
    let kept = trace.freed_block(e).is_some_and(|block| has_opaque(trace, block));
    trace.accessed_variables(e).filter(move |&x| !kept && !trace.is_opaque(x))
}

/// Whether an event accesses a variable that can take part in a finding.
#[inline]
pub fn is_visible_access(trace: &Trace, e: EventId) -> bool {
    visible_variables(trace, e).next().is_some()
}

/// The variables that two events both access, which are not opaque.
pub fn common_variables(trace: &Trace, a: EventId, b: EventId) -> impl Iterator<Item = VarId> + '_ {
    visible_variables(trace, a).filter(move |&x| trace.accessed_variables(b).any(|y| y == x))
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

    /// A free writes every variable in its block.
    #[test]
    fn free_conflicts_with_every_access_to_its_block() {
        let parts = "#! part x b\n#! part y b\n#! part z c\n";
        let text = format!("{parts}T1|free(b)\nT2|r(x)\nT2|aw(y)\nT2|r(z)\nT1|r(x)\nT2|free(b)");
        assert_eq!(all_conflicts(&text), [(0, 1), (0, 2), (0, 5), (4, 5)]);
        let opaque = format!("#! opaque y\n{text}");
        assert_eq!(all_conflicts(&opaque), []);
        assert_eq!(all_conflicts("T1|free(b)\nT2|free(b)\nT2|alloc(b)\nT1|fence"), []);
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
