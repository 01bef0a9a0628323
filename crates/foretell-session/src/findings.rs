//! Reading, checking and merging findings files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use foretell_report::cause;
use foretell_report::json::{self, Findings};
use foretell_trace::io::open_regular;
use foretell_trace::{Model, Trace};
use foretell_verify::Refusal;

use crate::Error;

/// Reads the findings file `path`. The findings need not be true: see [`verify`].
///
/// # Errors
/// If the file cannot be read or is not a findings file.
pub fn read_findings(path: &Path) -> Result<Findings, Error> {
    Findings::parse(&text(path)?)
        .map_err(|source| Error::Findings { path: path.to_path_buf(), source })
}

/// Reads a file with the findings of one trace or of several, one after the other.
///
/// # Errors
/// If the file cannot be read or is not a findings file.
pub fn read_all_findings(path: &Path) -> Result<Vec<Findings>, Error> {
    Findings::parse_all(&text(path)?)
        .map_err(|source| Error::Findings { path: path.to_path_buf(), source })
}

fn text(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(Error::file(path))?;
    String::from_utf8(bytes).map_err(|_| Error::NotText { path: path.to_path_buf() })
}

/// Reads the findings file `path` of the trace in `trace_path`.
///
/// # Errors
/// As for [`read_findings`], and if the findings are those of a different trace.
pub fn read_findings_of(path: &Path, trace_path: &Path, trace: &Trace) -> Result<Findings, Error> {
    let findings = read_findings(path)?;
    check_trace(path, &findings, trace_path, trace)?;
    Ok(findings)
}

/// Checks that a findings file is about a trace; the answers of the checker would mean nothing
/// otherwise.
///
/// # Errors
/// If the findings are those of a different trace.
pub fn check_trace(
    path: &Path,
    findings: &Findings,
    trace_path: &Path,
    trace: &Trace,
) -> Result<(), Error> {
    findings.trace.describes(trace).map_err(|mismatch| Error::OtherTrace {
        findings: path.to_path_buf(),
        trace: trace_path.to_path_buf(),
        mismatch: Box::new(mismatch),
    })
}

/// Puts the witness of every finding to the independent checker. Returns one verdict for each
/// finding, in the order of the file.
///
/// # Errors
/// If a finding is about no pattern of the trace, or the trace does not support the model; `path`
/// names the file in the message.
pub fn verify(
    path: &Path,
    findings: &Findings,
    trace: &Trace,
    model: Model,
) -> Result<Vec<Result<(), Refusal>>, Error> {
    if model == Model::Symbolic && Model::auto(trace) != Model::Symbolic {
        return Err(Error::NotSymbolic { trace: (&findings.trace.path).into() });
    }
    json::check(findings, trace, model)
        .map_err(|source| Error::Findings { path: path.to_path_buf(), source })
}

/// Puts the witness of every finding to the independent checker and marks the findings as
/// verified.
///
/// # Errors
/// As for [`verify`], and if the checker refuses one of the witnesses.
pub fn verify_all(path: &Path, findings: &mut Findings, trace: &Trace) -> Result<(), Error> {
    let verdicts = verify(path, findings, trace, findings.trace.model)?;
    for (finding, verdict) in findings.findings.iter_mut().zip(verdicts) {
        verdict.map_err(|refusal| Error::Refused {
            path: path.to_path_buf(),
            id: finding.id.clone(),
            refusal: Box::new(refusal),
        })?;
        finding.verified = true;
    }
    Ok(())
}

/// Puts the witness of one finding to the independent checker.
///
/// # Errors
/// As for [`verify`], and if the checker refuses the witness.
pub fn verify_one(
    path: &Path,
    findings: &Findings,
    index: usize,
    trace: &Trace,
) -> Result<(), Error> {
    let mut one = findings.clone();
    one.findings = vec![findings.findings[index].clone()];
    verify_all(path, &mut one, trace)
}

/// Merges the findings files of the shards of one analysis. Findings are numbered anew; the result
/// does not depend on the order of the parts.
///
/// # Errors
/// If a file cannot be read, or the files are not the parts of one whole.
pub fn merge(parts: &[PathBuf]) -> Result<Findings, Error> {
    let parts = parts
        .iter()
        .map(|path| Ok((path.display().to_string(), read_findings(path)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut whole = json::merge(parts)?;
    cause::assign(&mut whole.findings);
    Ok(whole)
}
