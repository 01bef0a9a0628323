//! The three definitions of a conflict agree: `foretell_trace::conflict`, the checker's and the
//! brute force's. The checker's is seen through the races that it accepts.

mod common;

use common::{trace, verdict};
use foretell_trace::{EventId, Model, conflict};
use foretell_verify::{Pattern, Rule};

/// Every pair of these operations is tried.
const OPERATIONS: [&str; 8] =
    ["r(x)", "w(x)", "ar(x)", "aw(x)", "au(x)", "w(y)", "acq(l)", "guard[true]"];

#[test]
fn definitions_of_a_conflict_agree() {
    let (a, b) = (EventId(0), EventId(1));
    let mut conflicts = 0;
    for opaque in ["", "opaque(x)", "opaque(y)"] {
        for (first, second) in OPERATIONS.iter().flat_map(|f| OPERATIONS.map(|s| (*f, s))) {
            for other in [1, 2] {
                if first == "acq(l)" && second == "acq(l)" {
                    continue; // Not legal: the lock is held.
                }
                let text = format!("{opaque} 1:{first} {other}:{second}");
                let trace = trace(&text);
                let defined = conflict(&trace, a, b);
                assert_eq!(defined, conflict(&trace, b, a), "{text}");
                let checked = match verdict(&trace, Model::View, &Pattern::Race { a, b }, &[0, 1]) {
                    None | Some(Rule::BothAtomic) => true,
                    Some(Rule::NoConflict | Rule::NotAccess | Rule::Opaque) => false,
                    Some(rule) => panic!("{text}: {rule:?}"),
                };
                assert_eq!(checked, defined, "{text}");
                let both_atomic = trace.op(a).is_atomic() && trace.op(b).is_atomic();
                let races = foretell_brute::findings(&trace, Model::View).races;
                assert_eq!(races.contains(&[a, b]), defined && !both_atomic, "{text}");
                conflicts += usize::from(defined);
            }
        }
    }
    // 5 × 5 pairs of accesses of x in two threads less 2 × 2 of reads, and one of y: twice each, as
    // in one of the three rounds their variable is opaque.
    assert_eq!(conflicts, 2 * (25 - 4) + 2);
}
