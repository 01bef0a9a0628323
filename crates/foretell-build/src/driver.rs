//! The compiler driver: `foretell cc` in the place of `cc`.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use crate::compiler::{Language, compiler};
use crate::{Error, instrument, rust, status, symbolic};

/// Runs the real compiler for recording, or for symbolic recording with `--symbolic`. Returns its
/// exit status; passes a warning, if there is one, to `warn`.
///
/// # Errors
/// When the command line cannot work, or the compiler or the runtime is missing.
pub fn compile(
    language: Language,
    arguments: &[OsString],
    warn: impl FnOnce(&str),
) -> Result<ExitStatus, Error> {
    let (symbolic, plain): (Vec<OsString>, _) =
        arguments.iter().cloned().partition(|word| word == "--symbolic");
    if !symbolic.is_empty() {
        return symbolic::build::compile(language, &plain, warn);
    }
    let (compiler, arguments) = compiler(language, &plain);
    let links_rust = arguments.iter().any(|word| word == instrument::RUST_LINK);
    if rust::compiles_for_host() && !links_rust {
        let start = |source| Error::Start { program: compiler.to_string_lossy().into(), source };
        return status(Command::new(&compiler).args(&arguments)).map_err(start);
    }
    instrument::run(&compiler, &arguments, warn)
}

/// Returns the exit status as a shell gives it: 128 and the signal for a process that a signal
/// ended.
pub fn shell_status(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    (code & 0xff) as u8
}
