//! The `foretell` command: arguments in, exit status out.
//!
//! Each command is one file in `commands/`; what it does is in the libraries. The exit status and
//! what goes where are a contract, written down in `docs/cli.md`: results go to standard output,
//! everything said about them to standard error; 0 means nothing was predicted or refused, 1
//! that something was, 2 that the command or its input was wrong, said in one line.

mod commands;
mod config;
mod failure;
mod input;
mod output;
mod progress;
mod recording;
mod reporting;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::terminal::{ColorChoice, Terminal};

/// Predicts the concurrency bugs that other interleavings of a recorded run would show.
///
/// Every finding comes with a schedule that proves it and that an independent checker has accepted.
#[derive(Parser, Debug)]
#[command(name = "foretell", version, propagate_version = true)]
#[command(after_help = "Exit status: 0 nothing found, 1 something found, 2 the command or its \
                        input was wrong, 3 with --strict: something stayed undecided.")]
pub(crate) struct Arguments {
    /// Whether to colour what goes to standard output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,

    /// Read options from this file [default: foretell.toml, here or in a directory above]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<std::path::PathBuf>,

    /// Read no foretell.toml
    #[arg(long, global = true, conflicts_with = "config")]
    no_config: bool,

    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // The arguments of a compiler are not ours to understand: `--version` is gcc's own.
    if let Some(result) = commands::cc::asked_for() {
        return match result {
            Ok(status) => status.into(),
            Err(failure) => fail(&failure.to_string()),
        };
    }
    let mut command = Arguments::command();
    command.build();
    let words = match config::with_file(&command, std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return fail(&failure.to_string()),
    };
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error),
    };
    let mut terminal = Terminal::new(arguments.color);
    let result = arguments.command.run(&mut terminal);
    match terminal.finish().and(result) {
        Ok(status) => status.into(),
        Err(failure) => fail(&failure.to_string()),
    }
}

/// Says what is wrong, and the status for it.
fn fail(message: &str) -> ExitCode {
    terminal::complain(message);
    ExitCode::from(2)
}

/// Help and version go out as they are; a wrong command line is told in one line.
fn explain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Whoever closed the pipe does not want the help.
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
    fail(&format!("foretell: {} (--help says more)", lines.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }
}
