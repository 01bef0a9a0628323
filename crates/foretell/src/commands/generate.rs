//! `foretell generate`: legal traces on demand.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use foretell_generate::{Family, Params, generate};

use crate::failure::{Failure, Status};
use crate::output;
use crate::terminal::Terminal;

/// Generate a legal trace
///
/// A little concurrent program is made up and run under a random schedule. The same family, options and seed
/// give the same trace on every machine. `--list` says what families there are.
#[derive(clap::Args, Debug)]
pub(crate) struct Generate {
    /// The kind of program
    #[arg(required_unless_present = "list")]
    family: Option<Family>,

    /// List the families
    #[arg(long, conflicts_with_all = ["family", "output"])]
    list: bool,

    /// Where to write the trace; the name says the format, as for `convert`
    #[arg(short, long, value_name = "OUT", required_unless_present = "list")]
    output: Option<PathBuf>,

    /// Different seeds, different traces
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Threads [default: depends on the family]
    #[arg(long, value_parser = up_to(10_000))]
    threads: Option<usize>,

    /// Where to cut the run off [default: depends on the family]
    #[arg(long, value_parser = up_to(1_000_000_000))]
    events: Option<usize>,

    /// Shared variables [default: depends on the family]
    #[arg(long, value_parser = up_to(10_000_000))]
    vars: Option<usize>,

    /// Locks [default: depends on the family]
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
