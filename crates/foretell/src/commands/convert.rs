//! `foretell convert`: converts a trace to another format.

use std::path::PathBuf;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::output;
use crate::terminal::Terminal;

/// Convert a trace to another format
///
/// The format of IN is told by its contents, the format of OUT by its name: `.ft` is binary, all
/// other names are text; a further `.gz` or `.zst` compresses it. `-` is standard input or output.
#[derive(clap::Args, Debug)]
pub(crate) struct Convert {
    /// Trace to read
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// File to write
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
