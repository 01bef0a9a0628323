//! Reading traces.

use std::path::Path;

use foretell_trace::Trace;
use foretell_trace::io::{self, ReadOptions};

use crate::failure::Failure;
use crate::terminal::complain;

/// Options of every command that reads a trace.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct TraceOptions {
    /// Drop events that make the trace illegal, and list them
    #[arg(long, hide_short_help = true)]
    lenient: bool,
}

/// Reads a trace of any format. Remarks of the reader go to standard error.
pub(crate) fn trace(path: &Path, options: TraceOptions) -> Result<Trace, Failure> {
    let options = ReadOptions { lenient: options.lenient, ..ReadOptions::default() };
    let loaded = io::load(path, &options).map_err(|error| Failure::Input(error.to_string()))?;
    for note in &loaded.notes {
        complain(&format!("{}: {note}", path.display()));
    }
    Ok(loaded.trace)
}
