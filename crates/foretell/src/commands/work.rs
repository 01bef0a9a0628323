//! `foretell work`: a worker of a pool.

use crate::failure::{Failure, Status};

/// Do the work items of a pool, from standard input
///
/// docs/cluster.md has the protocol.
#[derive(clap::Args, Debug)]
#[command(hide = true)]
pub(crate) struct Work {}

impl Work {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        foretell_session::work(std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(|error| Failure::Input(format!("standard output: {error}")))?;
        Ok(Status::Clean)
    }
}
