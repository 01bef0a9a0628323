//! `foretell cc` and `foretell c++`: instrumenting compiler drivers.

use std::ffi::OsString;

use foretell_session::{Language, compile, shell_status};

use crate::failure::{Failure, Status};
use crate::terminal::complain;

/// Compile C for recording: a drop-in compiler, `CC="foretell cc"`
///
/// Takes the arguments of gcc, calls gcc (clang with --foretell-compiler=clang or
/// FORETELL_CC=clang), instruments the code and links the runtime. With --symbolic it builds for
/// `record --symbolic`, with clang 16 or newer.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Cc {
    /// Arguments of the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Compile C++ for recording: a drop-in compiler, `CXX="foretell c++"`
///
/// As `cc`, with g++ (clang++ with --foretell-compiler=clang or FORETELL_CXX=clang++).
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Cpp {
    /// Arguments of the compiler
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Cc {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        run(Language::C, &self.arguments)
    }
}

impl Cpp {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        run(Language::Cpp, &self.arguments)
    }
}

/// Runs the compiler if the command line begins with `cc` or `c++`; returns `None` otherwise.
pub(crate) fn asked_for() -> Option<Result<Status, Failure>> {
    let mut arguments = std::env::args_os().skip(1);
    let language = match arguments.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cpp,
        _ => return None,
    };
    Some(run(language, &arguments.collect::<Vec<_>>()))
}

fn run(language: Language, arguments: &[OsString]) -> Result<Status, Failure> {
    let name = match language {
        Language::C => "foretell cc",
        Language::Cpp => "foretell c++",
    };
    let warn = |message: &str| complain(&format!("{name}: warning: {message}"));
    let status = compile(language, arguments, warn)
        .map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    Ok(Status::Program(shell_status(status)))
}
