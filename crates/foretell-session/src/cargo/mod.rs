//! Rust programs: cargo builds them instrumented, with the user's stable toolchain.
//!
//! Cargo is called with the compiler's wrapper ([`foretell_build::rust`]) and with a target
//! directory of its own, `foretell` in the user's. Cargo's runner is the foretell command: cargo
//! chooses the programs to run and their environment, and the runner notes them
//! ([`ProgramCommand`]) or runs their tests ([`TestBinary`]).

mod program_command;
mod test_binary;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use foretell_build::rust::{Sysroot, Toolchain, Wrapper};
use foretell_build::{ScratchDirectory, runtime};
use serde_json::Value;

use crate::Error;

pub use program_command::ProgramCommand;
pub(crate) use test_binary::ONE as ONE_TEST;
pub use test_binary::{ListedTest, TestBinary, TestOutcome};

/// Beginning of the names of variables with what the user's environment has in the place of a
/// variable that is set for cargo.
const SAVED: &str = "FORETELL_SAVED_";
/// Name of the runtime's shared library.
const LIBRARY: &str = "libforetell_rt.so";
/// File of the target directory that says which standard library and edits its artefacts use.
const STAMP: &str = ".foretell-sysroot";

/// Cargo with everything for instrumented builds.
#[derive(Debug)]
pub struct Cargo {
    toolchain: Toolchain,
    wrapper: Wrapper,
    /// The foretell command.
    executable: PathBuf,
    /// Target directory of instrumented builds.
    target_directory: PathBuf,
}

impl Cargo {
    /// Prepares instrumented builds of the package that cargo finds with `options`, options of
    /// cargo. Builds the standard library if it is not there; `starts` is called before.
    ///
    /// # Errors
    /// If there is no package or no toolchain that can be used, or the library cannot be built.
    pub fn prepare(options: &[OsString], starts: impl FnOnce(&Toolchain)) -> Result<Cargo, Error> {
        let toolchain = Toolchain::find()?;
        let executable = executable()?;
        let target_directory = user_target_directory(&toolchain, options)?.join("foretell");
        let sysroot = Sysroot::of(&toolchain)?;
        sysroot.build(&toolchain, &executable, false, || starts(&toolchain))?;
        let runtime = target_directory.join("runtime");
        let place = || prepare_directory(&target_directory, &runtime, &sysroot);
        place().map_err(Error::file(&target_directory))?;
        link_runtime(&runtime)?;
        let own = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"];
        let next = own.iter().find_map(std::env::var_os).filter(|wrapper| !wrapper.is_empty());
        let artefacts = target_directory.join(&toolchain.target);
        let driver = executable.with_file_name("foretell-cc");
        let sysroot = Some(sysroot.directory);
        let wrapper = Wrapper { sysroot, runtime, driver, artefacts, next };
        Ok(Cargo { toolchain, wrapper, executable, target_directory })
    }

    /// Returns a call of cargo's command `name` with these options.
    pub fn command(&self, name: &str, options: &[OsString]) -> Command {
        let mut command = Command::new(&self.toolchain.cargo);
        let triple = self.toolchain.target.replace('-', "_");
        let sibling = |name: &str| self.executable.with_file_name(name).into_os_string();
        let set: [(String, OsString); 5] = [
            ("CARGO_BUILD_TARGET".to_owned(), self.toolchain.target.clone().into()),
            ("CARGO_TARGET_DIR".to_owned(), self.target_directory.clone().into()),
            ("CARGO_INCREMENTAL".to_owned(), "0".into()),
            (format!("CC_{triple}"), sibling("foretell-cc")),
            (format!("CXX_{triple}"), sibling("foretell-cxx")),
        ];
        for (name, value) in &set {
            command.env(name, value);
        }
        self.wrapper.set(&self.executable, &mut command);
        let names = set.iter().map(|(name, _)| name.as_str()).chain(["RUSTC_WRAPPER"]);
        for name in names {
            let saved = std::env::var_os(name).unwrap_or_default();
            command.env(format!("{SAVED}{name}"), saved);
        }
        command.arg(name).args(options);
        command
    }

    /// Returns the option that makes cargo run programs with this command of foretell, and its
    /// arguments.
    fn runner(&self, words: &[&OsStr]) -> OsString {
        let words = [self.executable.as_os_str()].into_iter().chain(words.iter().copied());
        let words: Vec<Value> = words.map(|word| word.to_string_lossy().into()).collect();
        // A list of strings is the same in JSON and in TOML.
        format!("target.{}.runner={}", self.toolchain.target, Value::from(words)).into()
    }

    /// Builds the program that `cargo run` with these options runs, and returns the command.
    /// `None`: cargo refused, and has said why.
    ///
    /// # Errors
    /// If cargo cannot be started.
    pub fn program(
        &self,
        options: &[OsString],
        arguments: &[OsString],
    ) -> Result<Option<ProgramCommand>, Error> {
        let scratch = ScratchDirectory::new().map_err(Error::file(std::env::temp_dir()))?;
        let note = scratch.path().join("command");
        let mut build = self.command("build", options);
        build.stdin(Stdio::null());
        let status =
            foretell_build::status(&mut build).map_err(|source| self.not_started(source))?;
        if !status.success() {
            return Ok(None);
        }
        // Cargo would tell the runner's command line.
        let mut cargo = self.command("run", options);
        cargo.arg("--quiet");
        let runner = self.runner(&[ProgramCommand::NOTE.as_ref(), note.as_os_str()]);
        cargo.arg("--config").arg(runner).arg("--").args(arguments).stdin(Stdio::null());
        let status =
            foretell_build::status(&mut cargo).map_err(|source| self.not_started(source))?;
        if !status.success() {
            return Ok(None);
        }
        ProgramCommand::read(&note).map(Some)
    }

    /// Returns the command that runs tests: `cargo test` with these options, and with foretell as
    /// the runner of every test binary. `jobs` tests run at a time, each up to `limit`.
    pub fn test_command(
        &self,
        options: &[OsString],
        jobs: usize,
        limit: Duration,
        arguments: &[OsString],
    ) -> Command {
        let (jobs, limit) = (jobs.to_string(), limit.as_secs().to_string());
        let mut cargo = self.command("test", options);
        let runner = self.runner(&[TestBinary::RUN.as_ref(), jobs.as_ref(), limit.as_ref()]);
        cargo.arg("--config").arg(runner).arg("--").args(arguments);
        cargo
    }

    fn not_started(&self, source: io::Error) -> Error {
        let program = self.toolchain.cargo.to_string_lossy().into_owned();
        Error::Build(foretell_build::Error::Start { program, source })
    }
}

/// Builds the instrumented standard library of the toolchain, if it is not there. `starts` is
/// called before. Returns its directory.
///
/// # Errors
/// If there is no toolchain that can be used, or the library cannot be built.
pub fn set_up_rust(verbose: bool, starts: impl FnOnce(&Toolchain)) -> Result<PathBuf, Error> {
    let toolchain = Toolchain::find()?;
    let sysroot = Sysroot::of(&toolchain)?;
    sysroot.build(&toolchain, &executable()?, verbose, || starts(&toolchain))?;
    Ok(sysroot.directory)
}

/// Removes the artefacts of instrumented builds of the package that cargo finds with `options`, and
/// with `libraries` the standard libraries of all toolchains, too. Returns the directory of the
/// artefacts.
///
/// # Errors
/// If there is no package, or something cannot be removed.
pub fn clean_rust(options: &[OsString], libraries: bool) -> Result<PathBuf, Error> {
    if libraries {
        foretell_build::rust::remove_libraries()?;
    }
    let directory = user_target_directory(&Toolchain::find()?, options)?.join("foretell");
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
    }
    Ok(directory)
}

/// Returns the foretell command.
fn executable() -> Result<PathBuf, Error> {
    std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| Error::Unsupported(format!("the foretell command is not found: {error}")))
}

/// Returns the target directory of the user's own builds.
fn user_target_directory(toolchain: &Toolchain, options: &[OsString]) -> Result<PathBuf, Error> {
    let mut cargo = Command::new(&toolchain.cargo);
    cargo.args(["metadata", "--format-version=1", "--no-deps"]).args(options);
    let output = cargo.output().map_err(|source| {
        let program = toolchain.cargo.to_string_lossy().into_owned();
        Error::Build(foretell_build::Error::Start { program, source })
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let line = lines.join(" ");
        return Err(Error::Unsupported(line.trim_start_matches("error: ").to_owned()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| Error::Unsupported("cargo metadata names no target directory".to_owned()))
}

/// Makes the target directory. Cargo does not see that another standard library or other edits of
/// crates are used: artefacts with others are removed.
fn prepare_directory(directory: &Path, runtime: &Path, sysroot: &Sysroot) -> io::Result<()> {
    let stamp = directory.join(STAMP);
    let edits = foretell_build::rust::version_of_edits();
    let content = format!("{}\n{edits:x}\n", sysroot.directory.display());
    if fs::read(&stamp).ok().as_deref() != Some(content.as_bytes()) {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        fs::write(&stamp, content)?;
    }
    fs::create_dir_all(runtime)
}

/// Puts a link to the runtime's library into a directory, where programs look for it: they need not
/// be linked again when the runtime changes.
fn link_runtime(directory: &Path) -> Result<(), Error> {
    let library = runtime::shared_library()?;
    let link = directory.join(LIBRARY);
    if fs::read_link(&link).ok().as_ref() == Some(&library) {
        return Ok(());
    }
    let next = directory.join(format!("{LIBRARY}.{}", std::process::id()));
    symlink(&library, &next).and_then(|()| fs::rename(&next, &link)).map_err(Error::file(&link))
}

/// Returns the environment of a program without the variables that are set for cargo.
fn user_environment() -> Vec<(OsString, OsString)> {
    let saved: Vec<(String, OsString)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.to_str()?.strip_prefix(SAVED)?.to_owned(), value)))
        .collect();
    let is_ours = |name: &OsStr| {
        let is_setting = name.to_string_lossy().starts_with("FORETELL_RUST_")
            || name.to_string_lossy().starts_with(SAVED);
        is_setting || saved.iter().any(|(saved, _)| name == saved.as_str())
    };
    let others = std::env::vars_os().filter(|(name, _)| !is_ours(name));
    let restored = saved.iter().filter(|(_, value)| !value.is_empty());
    let restored = restored.map(|(name, value)| (name.into(), value.clone()));
    let mut all: Vec<(OsString, OsString)> = others.chain(restored).collect();
    // A backtrace reads debug information, in every replay that panics, and tells nothing that a
    // report lacks.
    all.retain(|(name, _)| name != "RUST_BACKTRACE");
    all.push(("RUST_BACKTRACE".into(), "0".into()));
    all
}
