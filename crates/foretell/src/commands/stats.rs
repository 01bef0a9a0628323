//! `foretell stats`: what is in a trace.

use std::io::Write;
use std::path::PathBuf;

use foretell_report::text::printable;
use foretell_trace::stats;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::Terminal;

/// Say what is in a trace
///
/// Events by operation, threads, objects, atomic blocks, conflicting accesses, how closely the threads are
/// coupled, the most permissive model that the trace supports, and what is unusual about it.
#[derive(clap::Args, Debug)]
pub(crate) struct Stats {
    /// The trace
    trace: PathBuf,

    #[command(flatten)]
    options: TraceOptions,

    /// How to say it
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
