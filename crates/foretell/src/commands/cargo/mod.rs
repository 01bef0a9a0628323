//! `cargo foretell`: Rust programs, built by cargo with the user's stable toolchain.

mod options;
mod test;
mod tests_of_binary;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use foretell_session::cargo::{self, ProgramCommand, TestBinary, clean_rust, set_up_rust};
use foretell_session::{ExploreOptions, Launch, RustWrapper};

use self::options::{CargoOptions, ProgramOptions};
use super::check::{CheckArguments, CheckJob, RunBudget, SourceOptions};
use super::explore::DepthOptions;
use super::record::RecordArguments;
use crate::failure::{Failure, Status};
use crate::recording::quoted;
use crate::terminal::{Terminal, complain};

/// Build, record, check and test Rust programs: `cargo foretell`
///
/// Needs no change of the program and no nightly toolchain. The standard library is built once for
/// each toolchain, instrumented, into the user's cache; the program into target/foretell.
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell <COMMAND>")]
pub(crate) struct Cargo {
    #[command(subcommand)]
    command: CargoCommand,
}

/// A command of `cargo foretell`.
#[derive(clap::Subcommand, Debug)]
enum CargoCommand {
    Check(Box<Check>),
    Test(Box<test::Test>),
    Explore(Box<Explore>),
    Run(Box<Run>),
    Setup(Setup),
    Clean(Clean),
}

/// Build a program, record it, predict, and replay the findings
///
/// The program is the one that `cargo run` with the same options runs. See `foretell check`.
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell check [OPTIONS] [-- ARGS]")]
struct Check {
    #[command(flatten)]
    program: ProgramOptions,

    #[command(flatten)]
    budget: RunBudget,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    common: CheckArguments,
}

/// Drive a program into every schedule that shows its threads something else
///
/// The program is the one that `cargo run` with the same options runs. See `foretell explore`.
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell explore [OPTIONS] [-- ARGS]")]
struct Explore {
    #[command(flatten)]
    program: ProgramOptions,

    #[command(flatten)]
    depth: DepthOptions,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    common: CheckArguments,
}

/// Build a program, run it, and save its trace
///
/// The program is the one that `cargo run` with the same options runs. See `foretell record`.
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell run [OPTIONS] [-- ARGS]")]
struct Run {
    #[command(flatten)]
    program: ProgramOptions,

    #[command(flatten)]
    common: RecordArguments,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Build the instrumented standard library, if it is not there
///
/// The other commands do this by themselves. It takes about a minute, and needs the component
/// rust-src of the toolchain.
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell setup [OPTIONS]")]
struct Setup {
    /// Show the output of the build
    #[arg(long, short)]
    verbose: bool,
}

/// Remove target/foretell
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell clean [OPTIONS]")]
struct Clean {
    /// Path of Cargo.toml
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<std::path::PathBuf>,

    /// Remove the instrumented standard libraries of all toolchains, too
    #[arg(long)]
    all: bool,
}

impl Cargo {
    /// Whether signals end the command's work but not its report, and its memory is limited.
    pub(crate) fn is_limited(&self) -> bool {
        !matches!(self.command, CargoCommand::Run(_))
    }

    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        match self.command {
            CargoCommand::Check(command) => command.run(terminal),
            CargoCommand::Test(command) => command.run(terminal),
            CargoCommand::Explore(command) => command.run(terminal),
            CargoCommand::Run(command) => command.run(),
            CargoCommand::Setup(command) => command.run(terminal),
            CargoCommand::Clean(command) => command.run(terminal),
        }
    }
}

impl Check {
    fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let Some(program) = build(&self.program, &self.arguments)? else {
            return Ok(Status::Program(2));
        };
        let again = again(&self.program, &self.arguments);
        job(program, again, self.budget.explore(), self.common).run(terminal)
    }
}

impl Explore {
    fn run(mut self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let Some(program) = build(&self.program, &self.arguments)? else {
            return Ok(Status::Program(2));
        };
        let explore = self.depth.explore(&mut self.common);
        let again = again(&self.program, &self.arguments);
        job(program, again, Some(explore), self.common).run(terminal)
    }
}

impl Run {
    fn run(self) -> Result<Status, Failure> {
        let Some(program) = build(&self.program, &self.arguments)? else {
            return Ok(Status::Program(2));
        };
        let ProgramCommand { command, environment } = program;
        let launch = self.common.launch(command);
        self.common.record(Launch { environment: Some(environment), ..launch })
    }
}

impl Setup {
    fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let directory = set_up_rust(self.verbose, |toolchain| say_building(&toolchain.release))?;
        writeln!(terminal, "the instrumented standard library is {}", directory.display())?;
        Ok(Status::Clean)
    }
}

impl Clean {
    fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let mut options = Vec::new();
        if let Some(path) = self.manifest_path {
            options.extend(["--manifest-path".into(), path.into_os_string()]);
        }
        let directory = clean_rust(&options, self.all)?;
        writeln!(terminal, "removed {}", directory.display())?;
        Ok(Status::Clean)
    }
}

/// Returns the check of a program that cargo has built.
fn job(
    program: ProgramCommand,
    again: String,
    explore: Option<ExploreOptions>,
    common: CheckArguments,
) -> CheckJob {
    let ProgramCommand { command: arguments, environment } = program;
    CheckJob {
        sources: Vec::new(),
        build: SourceOptions::default(),
        arguments,
        environment: Some(environment),
        explore_again: Some(again),
        in_depth: explore.as_ref().is_some_and(|explore| explore.in_depth),
        explore,
        common,
    }
}

/// Returns the command that explores a program further.
fn again(program: &ProgramOptions, arguments: &[OsString]) -> String {
    let mut command = "cargo foretell explore".to_owned();
    command.extend(program.words().iter().map(|word| format!(" {}", quoted(word))));
    if !arguments.is_empty() {
        command += " --";
        command.extend(arguments.iter().map(|word| format!(" {}", quoted(word))));
    }
    command
}

/// Builds a program. `None`: cargo refused, and has said why.
fn build(
    options: &ProgramOptions,
    arguments: &[OsString],
) -> Result<Option<ProgramCommand>, Failure> {
    let cargo = prepare(&options.cargo)?;
    Ok(cargo.program(&options.words(), arguments)?)
}

/// Prepares instrumented builds.
fn prepare(options: &CargoOptions) -> Result<cargo::Cargo, Failure> {
    let words = options.metadata_words()?;
    let cargo = cargo::Cargo::prepare(&words, |toolchain| say_building(&toolchain.release))?;
    Ok(cargo)
}

fn say_building(release: &str) {
    complain(&format!(
        "foretell: building the instrumented standard library of Rust {release}, once, in about a \
         minute"
    ));
}

/// Does what cargo asks this process for: compiles in the place of rustc, notes a program, or runs
/// the tests of a binary. `None`: cargo did not start this process.
pub(crate) fn asked_for() -> Option<Result<Status, Failure>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (first, rest) = arguments.split_first()?;
    if let Some(wrapper) = RustWrapper::of_environment(first) {
        let failed = |error| Failure::Input(format!("foretell: {error}"));
        return Some(wrapper.run(&arguments).map(Status::Program).map_err(failed));
    }
    match first.to_str()? {
        ProgramCommand::NOTE => {
            Some(ProgramCommand::note(rest).map(|()| Status::Clean).map_err(Failure::from))
        }
        TestBinary::RUN => Some(tests_of_binary::run(rest)),
        _ => None,
    }
}

/// Returns the last part of a path.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
