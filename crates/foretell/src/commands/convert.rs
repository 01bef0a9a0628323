//! `foretell convert`: a trace in another format.

use std::path::PathBuf;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::output;
use crate::terminal::Terminal;

/// Write a trace in another format
///
/// The format read is recognised by what the file holds. The format written goes by the name: `.ft` is the
/// binary format, everything else is text; `.gz` and `.zst` after that compress it. `-` is
/// standard input or output.
#[derive(clap::Args, Debug)]
pub(crate) struct Convert {
    /// The trace to read
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// Where to write it
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    options: TraceOptions,
}

impl Convert {
    pub(crate) fn run(self, _: &mut Terminal) -> Result<Status, Failure> {
        let trace = input::trace(&self.input, self.options)?;
        output::save(&trace, &self.output)?;
        Ok(Status::Clean)
    }
}
