//! Reading traces.

use std::io::Read as _;
use std::path::Path;

use foretell_trace::Trace;
use foretell_trace::compress::Limits;
use foretell_trace::io::{self, ReadOptions};

use crate::failure::Failure;
use crate::terminal::complain;

/// Options of every command that reads a trace.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct TraceOptions {
    /// Drop events that make the trace illegal, and list them
    #[arg(long, hide_short_help = true)]
    lenient: bool,

    /// Most MiB that a compressed trace may decompress to
    ///
    /// The default is 500 times the size of the file, at least 256 MiB and at most 64 GiB: more is
    /// taken for a file that was made to fill the memory.
    #[arg(long, value_name = "MIB", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    max_decompressed: Option<u64>,
}

impl TraceOptions {
    fn read_options(self) -> ReadOptions {
        let limits = match self.max_decompressed {
            None => Limits::default(),
            Some(mib) => Limits::of_bytes(mib.saturating_mul(1 << 20)),
        };
        ReadOptions { lenient: self.lenient, limits }
    }
}

/// Reads a regular file of text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::open_regular(path).and_then(|mut file| file.read_to_string(&mut text));
    read.map_err(Failure::file(path))?;
    Ok(text)
}

/// Reads a trace of any format. Remarks of the reader go to standard error.
pub(crate) fn trace(path: &Path, options: TraceOptions) -> Result<Trace, Failure> {
    let loaded = io::load(path, &options.read_options())
        .map_err(|error| Failure::Input(error.to_string()))?;
    for note in &loaded.notes {
        complain(&format!("{}: {note}", path.display()));
    }
    Ok(loaded.trace)
}
