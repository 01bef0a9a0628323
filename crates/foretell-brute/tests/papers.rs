//! Worked examples of the papers.

mod common;

use common::{ids, trace};
use foretell_brute::{findings, maximal_interleavings};
use foretell_trace::{EventId, Model};

/// Trace atomicity segmentation, Figure 1 and the set AVP given for it in the text.
#[test]
fn segmentation_figure_1_has_four_maximal_interleavings() {
    let trace = trace("T2|w(p)\n T1|begin\n T1|r(p)\n T1|r(p)\n T1|end\n T2|w(p)");
    let (e1, e2, e3, e4) = (EventId(0), EventId(2), EventId(3), EventId(5));
    let accesses = |m: Vec<EventId>| -> Vec<EventId> {
        m.into_iter().filter(|&e| trace.variable(e).is_some()).collect()
    };
    let found: std::collections::BTreeSet<Vec<EventId>> =
        maximal_interleavings(&trace, Model::View).into_iter().map(accesses).collect();
    let expected =
        [vec![e1, e2, e3, e4], vec![e1, e2, e4, e3], vec![e1, e4, e2], vec![e2, e1, e4]].into();
    assert_eq!(found, expected);
    // "e2 → e4 → e3 is such a path in the alternate interleaving (e1, e2, e4, e3)"
    let findings = findings(&trace, Model::View);
    assert_eq!(findings.atomicity, [[e2, e4, e3]].into());
    assert_eq!(findings.serializability, [EventId(1)].into());
}

/// Generating data race witnesses, Figure 2. The paper's wait is our wait (4) and woken (10).
#[test]
fn race_witness_figure_2() {
    let trace = trace(
        "#! init x=0
         T1|fork(T2)\n T1|w(x=1)\n T1|acq(o)\n T1|w(x=0)\n T1|wait(o,o)
         T2|acq(o)\n T2|r(x=0)\n T2|notifyall(o)\n T2|rel(o)\n T2|r(x=0)
         T1|woken(o,o)\n T1|rel(o)",
    );
    // By value T2 may read the initial 0, so it can get past its lock before T1 writes.
    assert_eq!(
        findings(&trace, Model::Value).races,
        [ids([1, 6]), ids([1, 9]), ids([3, 9])].into()
    );
    // By view its first read must come after 3, but for being the read that is broken.
    assert_eq!(findings(&trace, Model::View).races, [ids([1, 6])].into());
}
