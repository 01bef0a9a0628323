//! `cargo foretell test`: the tests of a package, each in a recorded process of its own.

use std::ffi::OsString;
use std::time::Duration;

use foretell_session::Launch;

use super::super::test::TestArguments;
use super::options::{CargoOptions, HEADING, each, flags};
use super::prepare;
use crate::failure::{Failure, Status};
use crate::recording::JavaOptions;
use crate::terminal::{Terminal, complain};

/// Run the tests of a package, and analyse each of them
///
/// Takes the options of `cargo test`, and of libtest after `--`: --exact, --skip, --ignored,
/// --include-ignored, --nocapture. Each test runs in a process of its own. A bug that several tests
/// show is reported once, with the tests. Documentation tests are not run. Exit status: that of
/// `cargo test` if it failed; else 1 if something was found, else 0 (3 if cut short).
#[derive(clap::Args, Debug)]
#[command(override_usage = "cargo foretell test [OPTIONS] [FILTER] [-- ARGS]")]
pub(super) struct Test {
    /// Only tests whose name contains this
    #[arg(value_name = "FILTER")]
    filter: Option<OsString>,

    #[command(flatten)]
    common: TestArguments,

    /// Time limit of a recorded test; a longer one is killed, and fails
    #[arg(long, value_name = "SECS", default_value_t = 120, hide_short_help = true)]
    test_limit: u64,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    cargo: CargoOptions,

    /// Arguments of the test binaries
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Options that choose test binaries.
#[derive(clap::Args, Debug)]
struct Selection {
    /// All packages of the workspace
    #[arg(long, alias = "all", help_heading = HEADING)]
    workspace: bool,

    /// Package to leave out
    #[arg(long, value_name = "SPEC", help_heading = HEADING, hide_short_help = true)]
    exclude: Vec<OsString>,

    /// Tests of the library
    #[arg(long, help_heading = HEADING)]
    lib: bool,

    /// Tests of all binaries
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    bins: bool,

    /// Tests of a binary
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    bin: Vec<OsString>,

    /// Tests of all examples
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    examples: bool,

    /// Tests of an example
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    example: Vec<OsString>,

    /// Everything that is tested by default
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    tests: bool,

    /// Integration test
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    test: Vec<OsString>,

    /// Everything that can be tested
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    all_targets: bool,

    /// Documentation tests, which cannot be recorded
    #[arg(long, help_heading = HEADING, hide = true)]
    doc: bool,

    /// Run the other test binaries after one has failed
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    no_fail_fast: bool,
}

impl Selection {
    /// Returns the options for cargo.
    fn words(&self) -> Vec<OsString> {
        let mut words = each("--bin", &self.bin);
        words.extend(each("--example", &self.example));
        words.extend(each("--test", &self.test));
        words.extend(flags(&[
            ("--lib", self.lib),
            ("--bins", self.bins),
            ("--examples", self.examples),
            ("--tests", self.tests),
            ("--all-targets", self.all_targets),
        ]));
        if words.is_empty() {
            // All that `cargo test` runs, without the documentation tests.
            words.push("--tests".into());
            complain("foretell: documentation tests are not run: rustdoc builds them by itself");
        }
        words.extend(each("--exclude", &self.exclude));
        words.extend(flags(&[
            ("--workspace", self.workspace),
            ("--no-fail-fast", self.no_fail_fast),
        ]));
        words
    }
}

impl Test {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        if self.selection.doc {
            return Err(Failure::Input(
                "foretell: --doc: documentation tests cannot be recorded: rustdoc builds them by \
                 itself"
                    .to_owned(),
            ));
        }
        let cargo = prepare(&self.cargo)?;
        let mut options = self.cargo.words();
        options.extend(self.selection.words());
        let arguments: Vec<OsString> = self.filter.iter().chain(&self.arguments).cloned().collect();
        let limit = Duration::from_secs(self.test_limit);
        let command = cargo.test_command(&options, self.common.jobs(), limit, &arguments);
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let words = words.map(OsString::from).collect();
        // The variables that are set for cargo, in the place of those of this process.
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| !command.get_envs().any(|(set, _)| set == name))
            .collect();
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        environment.extend(set.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let launch = self.common.options.launch(words, &JavaOptions::default());
        self.common.run(terminal, Launch { environment: Some(environment), ..launch })
    }
}
