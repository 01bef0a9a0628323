//! `foretell man`: manual pages.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// Write the manual page to standard output, or a page for each command to a directory
#[derive(clap::Args, Debug)]
pub(crate) struct Man {
    /// The directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let command = crate::Arguments::command();
        match self.out {
            Some(directory) => {
                std::fs::create_dir_all(&directory).map_err(Failure::file(&directory))?;
                clap_mangen::generate_to(command, &directory).map_err(Failure::file(&directory))?;
            }
            None => clap_mangen::Man::new(command).render(terminal)?,
        }
        Ok(Status::Clean)
    }
}
