//! Start of the commands of one word: the `foretell` command beside them does the work.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Replaces this process by `foretell COMMAND`, with the arguments of this process.
pub(crate) fn run(command: &str) -> ExitCode {
    // Through links: the package has the program elsewhere.
    let exe = std::env::current_exe().and_then(|path| path.canonicalize());
    let foretell = exe.map_or_else(|_| PathBuf::from("foretell"), |p| p.with_file_name("foretell"));
    let mut arguments = std::env::args_os().skip(1).peekable();
    // Cargo gives its subcommands their own name.
    if command == "cargo" {
        arguments.next_if(|word| word == "foretell");
    }
    let error = Command::new(&foretell).arg(command).args(arguments).exec();
    eprintln!("foretell {command}: {}: {error}", foretell.display());
    ExitCode::from(2)
}
