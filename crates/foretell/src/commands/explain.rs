//! `foretell explain`: explains a kind of finding.

use std::io::Write;

use foretell_report::explain;
use foretell_trace::FindingKind;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// Explain a kind of finding: when it is benign, how it is usually fixed
#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// Kind of finding, or the name of one: race-1 [default: list all kinds]
    ///
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock,
    /// hang, lifetime
    #[arg(value_parser = kind)]
    kind: Option<FindingKind>,
}

/// A kind, or the kind of a finding: `race-1`.
fn kind(text: &str) -> Result<FindingKind, String> {
    let name = text.split('-').next().unwrap_or(text);
    FindingKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

impl Explain {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        match self.kind {
            Some(kind) => {
                let look = terminal.look();
                explain::write(terminal, kind, &look)?;
            }
            None => {
                for kind in FindingKind::ALL {
                    writeln!(terminal, "{kind:<16}{}", explain::title(kind))?;
                }
            }
        }
        Ok(Status::Clean)
    }
}
