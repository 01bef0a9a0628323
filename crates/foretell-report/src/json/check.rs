//! The independent checker on every finding of a file.

use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern, Refusal};

use super::{Finding, Findings, FindingsError, pattern};

/// Whether the checker accepts a schedule as a witness of a finding, instead of the one that it has.
pub fn accepts(finding: &Finding, trace: &Trace, model: Model, schedule: &[EventId]) -> bool {
    let claim = pattern(finding, trace);
    claim.is_ok_and(|claim| Checker::new(trace, model).verify(&claim, schedule).is_ok())
}

/// What the checker says of each finding's witness, in the order of the file; what is wrong with the
/// file, if one of its findings is about no pattern of this trace.
pub fn check(
    file: &Findings,
    trace: &Trace,
    model: Model,
) -> Result<Vec<Result<(), Refusal>>, FindingsError> {
    // All of the file must make sense before anything is said about a part of it.
    let claims: Vec<Pattern> = file
        .findings
        .iter()
        .map(|finding| {
            pattern(finding, trace)
                .map_err(|message| FindingsError::Finding { finding: finding.id.clone(), message })
        })
        .collect::<Result<_, _>>()?;
    let checker = Checker::new(trace, model);
    let verdicts = file.findings.iter().zip(&claims).map(|(finding, claim)| {
        let schedule: Vec<EventId> = finding.witness.schedule.iter().map(|&e| EventId(e)).collect();
        checker.verify(claim, &schedule)
    });
    Ok(verdicts.collect())
}
