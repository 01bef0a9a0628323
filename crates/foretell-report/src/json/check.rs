//! The independent checker on every finding of a file.

use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern, Refusal};

use super::{Finding, Findings, FindingsError, pattern};

/// Whether the checker accepts a schedule as a witness of a finding, in place of its own.
pub fn accepts(finding: &Finding, trace: &Trace, model: Model, schedule: &[EventId]) -> bool {
    let claim = pattern(finding, trace);
    claim.is_ok_and(|claim| Checker::new(trace, model).verify(&claim, schedule).is_ok())
}

/// Returns the verdict of the checker on the witness of each finding, in the order of the file.
///
/// # Errors
/// If a finding is about no pattern of this trace.
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
