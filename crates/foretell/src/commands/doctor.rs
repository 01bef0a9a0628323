//! `foretell doctor`: what this machine has of what Foretell uses.

use std::io::Write;

use foretell_report::text::printable;
use foretell_session::{Health, diagnose};

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// Look at compilers, runtime, Java, solvers and limits of this machine
///
/// Builds and records a small program with a race, too. Exit status: 0 if C programs can be built
/// and recorded, 1 if something that this needs is missing. What is missing is shown with the
/// command that mends it. Adds the driver foretell-c++ where it is installed without that name.
#[derive(clap::Args, Debug)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let (mut status, mut written) = (Status::Clean, Ok(()));
        diagnose(|diagnosis| {
            let word = match diagnosis.health {
                Health::Good => "ok",
                Health::Absent => "absent",
                Health::Broken => {
                    status = Status::Found;
                    "broken"
                }
            };
            let mut text = format!("{word:<8}{:<18}{}", diagnosis.name, printable(&diagnosis.text));
            if let Some(remedy) = &diagnosis.remedy {
                text += &format!("\n{:26}mend: {}", "", printable(remedy));
            }
            if written.is_ok() {
                written = writeln!(terminal, "{text}").and_then(|()| terminal.flush());
            }
        });
        written?;
        Ok(status)
    }
}
