//! The commands, one file each.

mod merge;
mod report;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// What to do.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Merge(merge::Merge),
    Report(report::Report),
}

impl Command {
    /// Does it.
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        match self {
            Command::Merge(command) => command.run(terminal),
            Command::Report(command) => command.run(terminal),
        }
    }
}
