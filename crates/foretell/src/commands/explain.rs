//! `foretell explain`: what a kind of finding is.

use std::io::Write;

use foretell_report::explain;
use foretell_trace::FindingKind;

use crate::failure::{Failure, Status};
use crate::terminal::Terminal;

/// Say what a kind of finding is, when it is benign and how it is usually fixed
#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// The kind: race, atomicity, serializability, transactions, nondeterminism or deadlock [default: all, in a line each]
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
