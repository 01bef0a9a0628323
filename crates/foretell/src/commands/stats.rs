//! `foretell stats`: statistics of a trace.

use std::io::Write;
use std::path::PathBuf;

use foretell_report::text::printable;
use foretell_trace::stats;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::Terminal;

/// Print statistics of a trace
///
/// Events by operation, threads, objects, atomic blocks, conflicting accesses, coupling of the
/// threads, the most permissive model that the trace supports, and peculiarities.
#[derive(clap::Args, Debug)]
pub(crate) struct Stats {
    /// Trace to read
    trace: PathBuf,

    #[command(flatten)]
    options: TraceOptions,

    /// Format of standard output
    #[arg(long, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Stats {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let trace = input::trace(&self.trace, self.options)?;
        let stats = stats::Stats::of(&trace);
        match self.format {
            Format::Text => {
                for line in stats.to_string().split_terminator('\n') {
                    writeln!(terminal, "{}", printable(line))?;
                }
            }
            Format::Json => {
                let json = serde_json::to_string(&stats).map_err(std::io::Error::from)?;
                writeln!(terminal, "{json}")?;
            }
        }
        Ok(Status::Clean)
    }
}
