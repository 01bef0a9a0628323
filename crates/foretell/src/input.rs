//! Reading what the commands work on.

use std::fs;
use std::path::Path;

use foretell_report::json::Findings;

use crate::failure::Failure;

/// Reads a findings file.
pub(crate) fn findings(path: &Path) -> Result<Findings, Failure> {
    let bytes = fs::read(path).map_err(Failure::file(path))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Failure::input(path, "not a findings file: not UTF-8"))?;
    Findings::parse(text).map_err(|error| Failure::input(path, error))
}
