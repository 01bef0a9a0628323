//! The `foretell` command: arguments in, exit status out.
//!
//! Each command is one file in `commands/`; the work is done by `foretell-session`. Exit status and
//! output are a contract, written down in `docs/cli.md`: results go to standard output, remarks on
//! them to standard error; 0 means that nothing was predicted or refused, 1 that something was, 2
//! that the command or its input was wrong, with one line that says why, 3 that nothing was found
//! before the command was cut short.

mod commands;
mod config;
mod control_filter;
mod explored;
mod failure;
mod input;
mod limits;
mod output;
mod progress;
mod recording;
mod reporting;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use foretell_limit::{Limit, within};

use crate::commands::Command;
use crate::failure::Status;
use crate::terminal::{ColorChoice, Terminal};

/// Heading of the options that every command has.
const GENERAL: &str = "General options";

/// Predict the concurrency bugs that other interleavings of a recorded run would show
///
/// Every finding comes with a schedule that proves it and that an independent checker has
/// accepted.
#[derive(Parser, Debug)]
#[command(name = "foretell", version, propagate_version = true)]
#[command(after_help = "Exit status: 0 nothing found, 1 something found, 2 the command or its \
                        input was wrong, 3 nothing found so far but cut short (interrupted, \
                        --budget, --memory), or with --strict: a query stayed undecided.")]
pub(crate) struct Arguments {
    /// Colour of standard output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = GENERAL, hide_short_help = true)]
    color: ColorChoice,

    /// File of options [default: foretell.toml, here or in a directory above]
    #[arg(long, global = true, value_name = "FILE")]
    #[arg(help_heading = GENERAL, hide_short_help = true)]
    config: Option<std::path::PathBuf>,

    /// Read no foretell.toml
    #[arg(long, global = true, conflicts_with = "config")]
    #[arg(help_heading = GENERAL, hide_short_help = true)]
    no_config: bool,

    /// Memory to use at most, such as 4G [default: 80 % of what is available]
    ///
    /// Work that needs more is undecided. It holds for the commands that read traces or findings.
    #[arg(long, global = true, value_name = "SIZE", value_parser = foretell_limit::parse_size)]
    #[arg(help_heading = GENERAL, hide_short_help = true)]
    memory: Option<u64>,

    #[command(subcommand)]
    command: Command,
}

#[global_allocator]
static ALLOCATOR: foretell_limit::CountingAllocator = foretell_limit::CountingAllocator;

fn main() -> ExitCode {
    // The arguments of a compiler are passed on unread: `--version` is gcc's own.
    if let Some(result) = commands::cc::asked_for() {
        return match result {
            Ok(status) => status.into(),
            Err(failure) => fail(&failure.to_string()),
        };
    }
    if let Some(result) = commands::cargo::asked_for() {
        return match result {
            Ok(status) => status.into(),
            Err(failure) => fail(&failure.to_string()),
        };
    }
    let mut command = Arguments::command();
    command.build();
    let configured = match config::with_file(&command, std::env::args_os().collect()) {
        Ok(configured) => configured,
        Err(failure) => return fail(&failure.to_string()),
    };
    let source = configured.found.map(|path| format!("options from {}", path.display()));
    let arguments = match Arguments::try_parse_from(configured.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error, source.as_deref()),
    };
    if let Some(source) = source {
        terminal::complain(&format!("foretell: {source}"));
    }
    let mut terminal = Terminal::new(arguments.color);
    let command = arguments.command;
    let result = if command.is_limited() {
        limits::limit_memory(arguments.memory);
        limits::end_on_signals();
        within(&Limit::none(), || command.run(&mut terminal)).unwrap_or_else(|reason| {
            terminal::complain(limits::message(reason));
            Ok(Status::CutShort)
        })
    } else {
        if let (commands::Command::Work(_), Some(memory)) = (&command, arguments.memory) {
            limits::limit_memory(Some(memory));
        }
        command.run(&mut terminal)
    };
    match terminal.finish().map_err(failure::Failure::from).and(result) {
        Ok(status) => status.into(),
        Err(failure) => fail(&failure.to_string()),
    }
}

/// Prints a message to standard error and returns the status of a failure.
fn fail(message: &str) -> ExitCode {
    terminal::complain(message);
    ExitCode::from(2)
}

/// Prints help and version as they are, and one line about a wrong command line. `source` tells of
/// options that were not typed.
fn explain(error: &clap::Error, source: Option<&str>) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe is no failure.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let text = error.to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or(&text);
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let lines: Vec<&str> = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let source = source.map_or_else(String::new, |source| format!("{source}; "));
    fail(&format!("foretell: {} ({source}see --help)", lines.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
