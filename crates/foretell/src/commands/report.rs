//! `foretell report`: a findings file for people.

use std::path::PathBuf;

use foretell_report::text;

use crate::failure::{Failure, Status};
use crate::input;
use crate::terminal::Terminal;

/// Show a findings file as text
#[derive(clap::Args, Debug)]
pub(crate) struct Report {
    /// The findings
    #[arg(value_name = "FINDINGS.json")]
    findings: PathBuf,
}

impl Report {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let file = input::findings(&self.findings)?;
        let look = terminal.look();
        text::findings(terminal, &file, None, &look)?;
        Ok(if file.findings.is_empty() { Status::Clean } else { Status::Found })
    }
}
