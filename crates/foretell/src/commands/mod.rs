//! The commands, one file each.

pub(crate) mod cargo;
pub(crate) mod cc;
mod check;
mod cluster;
mod completions;
mod convert;
mod doctor;
mod explain;
mod explore;
mod generate;
mod man;
mod merge;
mod predict;
mod record;
mod replay;
mod report;
mod stats;
mod test;
mod verify;
mod work;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// A command with its arguments.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Check(Box<check::Check>),
    Cc(cc::Cc),
    #[command(name = "c++")]
    Cpp(cc::Cpp),
    Explore(Box<explore::Explore>),
    Cargo(cargo::Cargo),
    Cluster(cluster::Cluster),
    Record(record::Record),
    Test(Box<test::Test>),
    Predict(predict::Predict),
    Replay(replay::Replay),
    Report(report::Report),
    Explain(explain::Explain),
    Verify(verify::Verify),
    Merge(merge::Merge),
    Stats(stats::Stats),
    Convert(convert::Convert),
    Generate(generate::Generate),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
    Work(work::Work),
}

impl Command {
    /// Whether signals end the command's work but not its report, and its memory is limited. A
    /// recording passes signals to the program, and a compiler driver is one of many.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            Command::Record(_) | Command::Cc(_) | Command::Cpp(_) => false,
            Command::Cluster(_) | Command::Work(_) => false,
            Command::Cargo(command) => command.is_limited(),
            _ => true,
        }
    }

    /// Runs the command.
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        match self {
            Command::Check(command) => command.run(terminal),
            Command::Explore(command) => command.run(terminal),
            Command::Cargo(command) => command.run(terminal),
            Command::Cluster(command) => command.run(),
            Command::Cc(command) => command.run(),
            Command::Cpp(command) => command.run(),
            Command::Record(command) => command.run(),
            Command::Replay(command) => command.run(terminal),
            Command::Stats(command) => command.run(terminal),
            Command::Convert(command) => command.run(terminal),
            Command::Verify(command) => command.run(terminal),
            Command::Report(command) => command.run(terminal),
            Command::Merge(command) => command.run(terminal),
            Command::Predict(command) => command.run(terminal),
            Command::Generate(command) => command.run(terminal),
            Command::Explain(command) => command.run(terminal),
            Command::Test(command) => command.run(terminal),
            Command::Doctor(command) => command.run(terminal),
            Command::Completions(command) => command.run(terminal),
            Command::Man(command) => command.run(terminal),
            Command::Work(command) => command.run(),
        }
    }
}
