//! `foretell generate`: generates legal traces.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use foretell_generate::{Family, Params, generate};

use crate::failure::{Failure, Status};
use crate::output;
use crate::terminal::Terminal;

/// Generate a legal trace
///
/// The trace is that of a small random program under a random schedule. Equal family, options and
/// seed give equal traces on every machine. `--list` lists the families.
#[derive(clap::Args, Debug)]
pub(crate) struct Generate {
    /// Family of programs
    #[arg(required_unless_present = "list")]
    family: Option<Family>,

    /// List the families
    #[arg(long, conflicts_with_all = ["family", "output"])]
    list: bool,

    /// File for the trace; its name tells the format, as for `convert`
    #[arg(short, long, value_name = "OUT", required_unless_present = "list")]
    output: Option<PathBuf>,

    /// Seed of the random generator
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Number of threads [default: depends on the family]
    #[arg(long, value_parser = up_to(10_000))]
    threads: Option<usize>,

    /// Most events [default: depends on the family]
    #[arg(long, value_parser = up_to(1_000_000_000))]
    events: Option<usize>,

    /// Number of shared variables [default: depends on the family]
    #[arg(long, value_parser = up_to(10_000_000))]
    vars: Option<usize>,

    /// Number of locks [default: depends on the family]
    #[arg(long, value_parser = up_to(1_000_000))]
    locks: Option<usize>,

    /// Leave out the values of reads and writes
    #[arg(long)]
    no_values: bool,
}

/// A number from 1 to `limit`: beyond it the trace would not fit any machine.
fn up_to(limit: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=limit)
}

impl Generate {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let (Some(family), Some(path)) = (self.family, &self.output) else {
            for family in Family::ALL {
                writeln!(terminal, "{:<16} {}", family.name(), family.describe())?;
            }
            return Ok(Status::Clean);
        };
        let trace = generate(family, &self.params(family));
        output::save(&trace, path)?;
        Ok(Status::Clean)
    }

    fn params(&self, family: Family) -> Params {
        let defaults = Params::of(family);
        Params {
            seed: self.seed,
            threads: self.threads.unwrap_or(defaults.threads),
            events: self.events.unwrap_or(defaults.events),
            variables: self.vars.unwrap_or(defaults.variables),
            locks: self.locks.unwrap_or(defaults.locks),
            values: !self.no_values,
            ..defaults
        }
    }
}
