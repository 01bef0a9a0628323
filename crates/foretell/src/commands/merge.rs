//! `foretell merge`: combines the parts of one analysis.

use std::path::PathBuf;

use foretell_session::merge;

use crate::failure::{Failure, Status};
use crate::limits::Outcome;
use crate::output::Destination;
use crate::reporting::CountOptions;
use crate::terminal::Terminal;

/// Combine the parts of one analysis
///
/// The parts are findings files of one trace, usually of `predict --shard I/N`. Findings are
/// numbered anew; the result does not depend on the order of the parts.
#[derive(clap::Args, Debug)]
pub(crate) struct Merge {
    /// Findings files to combine
    #[arg(required = true, value_name = "FINDINGS.json")]
    parts: Vec<PathBuf>,

    /// File for the result [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    counting: CountOptions,
}

impl Merge {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let whole = merge(&self.parts)?;
        Destination::new(self.output).write(terminal, |mut out| whole.write(&mut out))?;
        let mut outcome = Outcome::default();
        outcome.add(&self.counting, &whole);
        Ok(outcome.status())
    }
}
