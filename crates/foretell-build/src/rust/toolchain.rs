//! The user's Rust toolchain.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use crate::Error;

/// The target that the runtime is for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A Rust toolchain.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: OsString,
    /// Cargo.
    pub cargo: OsString,
    /// The whole text of `rustc -vV`.
    pub version_text: String,
    /// Version: `1.95.0`.
    pub release: String,
    /// Hash of the compiler's commit, which paths of the standard library's sources contain.
    pub commit: String,
    /// Target that programs are built for, which is the host.
    pub target: String,
    /// Directory of the toolchain.
    pub directory: PathBuf,
}

impl Toolchain {
    /// Returns the toolchain of the current directory: that of the variables `RUSTC` and `CARGO`,
    /// which cargo sets for its subcommands, else of `PATH`.
    ///
    /// # Errors
    /// If there is none, or programs for its host cannot be recorded.
    pub fn find() -> Result<Toolchain, Error> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let version_text = answer(&rustc, &["-vV"])?;
        let directory = PathBuf::from(answer(&rustc, &["--print", "sysroot"])?.trim_end());
        let field = |name: &str| {
            let line = version_text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned()).unwrap_or_default()
        };
        let (release, commit, target) = (field("release:"), field("commit-hash:"), field("host:"));
        if target != TARGET {
            return Err(Error::Other(format!(
                "Rust programs are recorded on {TARGET}; the toolchain {release} is for {target}"
            )));
        }
        Ok(Toolchain { rustc, cargo, version_text, release, commit, target, directory })
    }

    /// Returns the sources of the standard library.
    ///
    /// # Errors
    /// If the toolchain has none; the message says how to get them.
    pub(crate) fn library_sources(&self) -> Result<PathBuf, Error> {
        let path = self.directory.join("lib/rustlib/src/rust/library");
        if path.join("std/src/lib.rs").is_file() {
            return Ok(path);
        }
        Err(Error::Other(format!(
            "the sources of Rust's standard library are missing ({}); `rustup component add \
             rust-src` installs them",
            path.display()
        )))
    }
}

/// Returns the standard output of a command.
fn answer(program: &OsStr, arguments: &[&str]) -> Result<String, Error> {
    let name = program.to_string_lossy();
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|source| Error::Start { program: name.clone().into_owned(), source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().next().unwrap_or("it failed").to_owned();
        return Err(Error::Other(format!("{name} {}: {line}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
