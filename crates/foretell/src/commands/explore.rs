//! `foretell explore`: every behaviour of a program, not only that of one run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use foretell_session::ExploreOptions;

use super::check::{CheckArguments, CheckJob, LOOP_BOUND, SourceOptions};
use crate::failure::{Failure, Status};
use crate::limits::seconds;
use crate::progress;
use crate::terminal::Terminal;

/// Drive a program into every schedule that shows its threads something else
///
/// A recorded run tells what else its events could have observed. The program is driven along the
/// schedule of each such observation and recorded further, and the new run tells more, until
/// nothing is left (complete) or the budget is used up (incomplete). Every run is predicted on
/// like that of `check`; a run that crashes, fails an assertion or gets stuck is a finding.
#[derive(clap::Args, Debug)]
pub(crate) struct Explore {
    /// C or C++ sources, objects and libraries; Java sources; or a jar
    #[arg(value_name = "SOURCE", required_unless_present = "arguments")]
    sources: Vec<PathBuf>,

    #[command(flatten)]
    depth: DepthOptions,

    /// Arguments of the program; without SOURCE, a whole command
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    build: SourceOptions,

    #[command(flatten)]
    common: CheckArguments,
}

/// Options of an exploration in depth.
#[derive(clap::Args, Debug)]
pub(crate) struct DepthOptions {
    /// Most runs, the first one included [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,

    /// Most time for runs after the first
    #[arg(long, value_name = "SECS", default_value = "60", value_parser = seconds)]
    time: Duration,

    /// Stop at the first run that fails
    #[arg(long)]
    first: bool,

    /// Most other observations of one place by one thread that are followed in a run
    #[arg(long, value_name = "N", default_value_t = LOOP_BOUND, hide_short_help = true)]
    loop_bound: u32,

    /// Most runs at a time [default: all cores]
    ///
    /// The result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,

    /// Directory of the exploration's state, to go on with it
    ///
    /// A new directory is filled; one of an exploration that was cut short, or killed, continues
    /// it.
    ///
    /// The directory also gets the program and the traces of runs with new outcomes, as with
    /// --save.
    #[arg(long, value_name = "DIR", conflicts_with = "save")]
    resume: Option<PathBuf>,

    /// Unix socket of a pool that does the runs, as `foretell cluster explore` is
    ///
    /// docs/cluster.md has the protocol. The result does not depend on it.
    #[arg(long, value_name = "SOCKET", hide = true, conflicts_with = "jobs")]
    pool: Option<PathBuf>,
}

impl DepthOptions {
    /// Returns the options of the exploration. Its state directory is that of `common`, too.
    pub(crate) fn explore(self, common: &mut CheckArguments) -> ExploreOptions {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        if self.resume.is_some() {
            common.save.clone_from(&self.resume);
        }
        if self.pool.is_some() {
            progress::leave_to_pool();
        }
        ExploreOptions {
            runs: self.runs.map(|runs| runs as usize),
            time: Some(self.time),
            first: self.first,
            loop_bound: self.loop_bound,
            in_depth: true,
            jobs: self.jobs.map_or_else(cores, |jobs| jobs as usize),
            state: self.resume,
            pool: self.pool,
        }
    }
}

impl Explore {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let Explore { sources, depth, arguments, build, mut common } = self;
        let explore = Some(depth.explore(&mut common));
        let job = CheckJob {
            sources,
            build,
            arguments,
            environment: None,
            explore_again: None,
            explore,
            in_depth: true,
            common,
        };
        job.run(terminal)
    }
}
