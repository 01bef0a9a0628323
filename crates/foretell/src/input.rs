//! Reading what the commands work on.

use std::fs;
use std::path::Path;

use foretell_report::json::Findings;
use foretell_trace::Trace;
use foretell_trace::io::{self, ReadOptions};

use crate::failure::Failure;
use crate::terminal::complain;

/// How to read a trace: the options that every command with a trace has.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct TraceOptions {
    /// Drop what makes the trace illegal, and say what was dropped
    #[arg(long)]
    lenient: bool,
}

/// Reads a trace, of any format; what was translated or dropped is told on standard error.
pub(crate) fn trace(path: &Path, options: TraceOptions) -> Result<Trace, Failure> {
    let options = ReadOptions { lenient: options.lenient, ..ReadOptions::default() };
    let loaded = io::load(path, &options).map_err(|error| Failure::Input(error.to_string()))?;
    for note in &loaded.notes {
        complain(&format!("{}: {note}", path.display()));
    }
    Ok(loaded.trace)
}

/// Reads a findings file.
pub(crate) fn findings(path: &Path) -> Result<Findings, Failure> {
    Findings::parse(&findings_text(path)?).map_err(|error| Failure::input(path, error))
}

/// Reads a file with the findings of one trace or of several.
pub(crate) fn all_findings(path: &Path) -> Result<Vec<Findings>, Failure> {
    Findings::parse_all(&findings_text(path)?).map_err(|error| Failure::input(path, error))
}

fn findings_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(Failure::file(path))?;
    String::from_utf8(bytes).map_err(|_| Failure::input(path, "not a findings file: not UTF-8"))
}

/// That a findings file is about this trace: the checker's answers would mean nothing otherwise.
pub(crate) fn same_trace(
    findings_path: &Path,
    findings: &Findings,
    trace_path: &Path,
    trace: &Trace,
) -> Result<(), Failure> {
    findings.trace.describes(trace).map_err(|mismatch| {
        let trace_path = trace_path.display();
        Failure::input(findings_path, format!("not about the trace {trace_path}: {mismatch}"))
    })
}
