//! Reading what the commands work on.

use std::path::Path;

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
