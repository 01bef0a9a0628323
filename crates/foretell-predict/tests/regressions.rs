//! What once went wrong, one trace each.

mod common;

use foretell_model::Structure;
use foretell_predict::analyses::Candidate;
use foretell_predict::finding::Finding;
use foretell_trace::{EventId, Model};
use foretell_verify::Checker;

/// Two sections of a lock at once. An engine that proposes this is wrong and must be told so by the
/// checker; trimming once looked for the end of the first section for ever.
#[test]
fn impossible_schedule_is_refused() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|w(x)
         T2|rel(l)",
    );
    let structure = Structure::new(&trace, Model::View);
    let checker = Checker::new(&trace, Model::View);
    let schedule = [3, 0, 4, 1, 5, 2].map(EventId);
    let candidate = Candidate::FinalValue(EventId(4));
    let refused = Finding::new(&structure, &checker, &candidate, &schedule, "order");
    assert_eq!(refused.unwrap_err().candidate, candidate);
}
