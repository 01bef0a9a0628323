//! `foretell completions`: what a shell needs to complete our command lines.

use clap::CommandFactory;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// Write the completions for a shell to standard output
#[derive(clap::Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let mut command = crate::Arguments::command();
        clap_complete::generate(self.shell, &mut command, "foretell", terminal);
        Ok(Status::Clean)
    }
}
