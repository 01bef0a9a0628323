//! `foretell stats`: what is in a trace.

use std::io::Write;
use std::path::PathBuf;

use foretell_report::json::TraceInfo;
use foretell_report::text::grouped;
use foretell_trace::{Model, Op, Trace};

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::terminal::Terminal;

/// Say what is in a trace
///
/// How many events, threads and objects there are, how often each operation occurs, and the most
/// permissive model that the trace supports.
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
        let info = TraceInfo::new(self.trace.display().to_string(), &trace, Model::auto(&trace));
        let operations = operations(&trace);
        match self.format {
            Format::Text => text(terminal, &info, &operations)?,
            Format::Json => {
                let mut value = serde_json::to_value(&info).map_err(std::io::Error::from)?;
                let operations =
                    operations.iter().map(|&(op, n)| (op.keyword().to_owned(), n.into()));
                value["operations"] = serde_json::Value::Object(operations.collect());
                writeln!(terminal, "{value}")?;
            }
        }
        Ok(Status::Clean)
    }
}

/// The operations that occur, and how often.
fn operations(trace: &Trace) -> Vec<(Op, u64)> {
    let mut counts = [0; Op::ALL.len()];
    for e in trace.ids() {
        counts[trace.op(e) as usize] += 1;
    }
    Op::ALL.into_iter().zip(counts).filter(|&(_, count)| count > 0).collect()
}

fn text(
    terminal: &mut Terminal,
    info: &TraceInfo,
    operations: &[(Op, u64)],
) -> Result<(), Failure> {
    let rows = [
        ("events", info.events),
        ("threads", info.threads),
        ("variables", info.variables),
        ("locks", info.locks),
        ("atomic blocks", info.blocks),
    ];
    for (name, count) in rows {
        writeln!(terminal, "{name:<16}{:>16}", grouped(count))?;
    }
    writeln!(terminal, "{:<16}{:>16}", "model", info.model.name())?;
    for (op, count) in operations {
        writeln!(terminal, "  {:<14}{:>16}", op.keyword(), grouped(*count))?;
    }
    Ok(())
}
