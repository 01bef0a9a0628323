//! The instrumented standard library, in the user's cache.
//!
//! It is built once for each toolchain and each version of the edits: the name of its directory has
//! a hash of both. The build happens beside that directory and is renamed to it, under a lock, so
//! that a second process waits for the first and finds a whole library.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustc_hash::FxHasher;

use super::patch::Patch;
use super::{Toolchain, Wrapper};
use crate::{Error, ScratchDirectory, cache};

/// Version of the way in which the library is built: another one is another directory.
const FORMAT: u32 = 2;
/// Crates of the standard library to build.
const CRATES: &str = "std,panic_unwind,panic_abort,proc_macro,test";
/// Manifest of an empty package, whose dependencies are the standard library's crates.
const MANIFEST: &str = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
                        [lib]\npath = \"empty.rs\"\n[workspace]\n";

/// The instrumented standard library of a toolchain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sysroot {
    /// Its directory, for `rustc --sysroot`; the name differs for other toolchains and other edits.
    pub directory: PathBuf,
}

impl Sysroot {
    /// Returns the library of a toolchain, which may not be built yet.
    ///
    /// # Errors
    /// If the user has no cache.
    pub fn of(toolchain: &Toolchain) -> Result<Sysroot, Error> {
        let mut hash = FxHasher::default();
        hash.write_u32(FORMAT);
        hash.write(toolchain.version_text.as_bytes());
        Patch::texts().for_each(|text| hash.write(text.as_bytes()));
        let name = format!("{}-{:016x}", toolchain.release, hash.finish());
        Ok(Sysroot { directory: libraries()?.join(name) })
    }

    /// Whether it is built.
    pub fn is_built(&self) -> bool {
        self.directory.is_dir()
    }

    /// Builds it if it is not there. `executable` is the compiler's wrapper; `starts` is called
    /// before a build. The output of cargo goes to standard error if `verbose`.
    ///
    /// # Errors
    /// If the sources are missing, the edits do not fit, or the library cannot be built.
    pub fn build(
        &self,
        toolchain: &Toolchain,
        executable: &Path,
        verbose: bool,
        starts: impl FnOnce(),
    ) -> Result<(), Error> {
        if self.is_built() {
            return Ok(());
        }
        let sources = toolchain.library_sources()?;
        let parent = libraries()?;
        let _lock = lock(&self.directory.with_extension("lock"))?;
        if self.is_built() {
            return Ok(());
        }
        starts();
        let scratch =
            ScratchDirectory::new_in(&parent, ".foretell-").map_err(Error::file(&parent))?;
        let library = scratch.path().join("library");
        copy(&sources, &library).map_err(Error::file(&library))?;
        Patch::table().apply(&library, &toolchain.release)?;
        let built = compile(toolchain, executable, scratch.path(), verbose)?;
        let place = scratch.path().join("sysroot/lib/rustlib").join(&toolchain.target).join("lib");
        fs::create_dir_all(&place).map_err(Error::file(&place))?;
        let take = || -> io::Result<()> {
            for entry in fs::read_dir(&built)? {
                let name = entry?.file_name();
                let text = name.to_string_lossy();
                if text.ends_with(".rlib") && !text.starts_with("libempty") {
                    fs::rename(built.join(&name), place.join(&name))?;
                }
            }
            fs::rename(scratch.path().join("sysroot"), &self.directory)
        };
        take().map_err(Error::file(&self.directory))
    }
}

/// Returns the directory of all libraries.
fn libraries() -> Result<PathBuf, Error> {
    cache::subdirectory("rust")
}

/// Removes the libraries of all toolchains. Returns whether there were any.
///
/// # Errors
/// If one cannot be removed.
pub(super) fn remove_all() -> Result<bool, Error> {
    let parent = libraries()?;
    let mut entries = fs::read_dir(&parent).map_err(Error::file(&parent))?;
    let found = entries.any(|entry| entry.is_ok_and(|e| e.path().is_dir()));
    fs::remove_dir_all(&parent).map_err(Error::file(&parent))?;
    Ok(found)
}

/// Compiles the library in `directory`. Returns the directory with its crates.
fn compile(
    toolchain: &Toolchain,
    executable: &Path,
    directory: &Path,
    verbose: bool,
) -> Result<PathBuf, Error> {
    let package = directory.join("empty");
    let files = || -> io::Result<()> {
        fs::create_dir(&package)?;
        fs::write(package.join("empty.rs"), "#![no_std]\n")?;
        fs::write(package.join("Cargo.toml"), MANIFEST)
    };
    files().map_err(Error::file(&package))?;
    let library = directory.join("library");
    let target = directory.join("target");
    let mut cargo = Command::new(&toolchain.cargo);
    clear(&mut cargo);
    let none = PathBuf::new;
    let wrapper =
        Wrapper { sysroot: None, runtime: none(), driver: none(), artefacts: none(), next: None };
    wrapper.set(executable, &mut cargo);
    // Paths of sources are those of the library that the toolchain has.
    let flags = format!(
        "-Zforce-unstable-if-unmarked\u{1f}--remap-path-prefix\u{1f}{}=/rustc/{}/library",
        library.display(),
        toolchain.commit
    );
    cargo
        .args(["build", "--release", "--target", &toolchain.target])
        .arg(format!("-Zbuild-std={CRATES}"))
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "1")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", &library)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let failed = |why: &str| {
        Error::Other(format!(
            "the standard library of Rust {} cannot be built for recording: {why}",
            toolchain.release
        ))
    };
    let log = directory.join("log");
    if !verbose {
        cargo.stderr(File::create(&log).map_err(Error::file(&log))?);
    }
    let status = crate::status(&mut cargo).map_err(|source| Error::Start {
        program: toolchain.cargo.to_string_lossy().into_owned(),
        source,
    })?;
    if !status.success() {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("error"));
        return Err(failed(line.unwrap_or("`cargo foretell setup -v` shows the reason")));
    }
    Ok(target.join(&toolchain.target).join("release/deps"))
}

/// Removes the variables of the user's own build from the environment of a command.
fn clear(cargo: &mut Command) {
    let build = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_ENCODED_", "RUSTC_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if build.iter().any(|start| text.starts_with(start)) || name == OsStr::new("RUSTFLAGS") {
            cargo.env_remove(&name);
        }
    }
}

/// Waits until no other process builds, and locks the others out until the file is closed.
fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::file(path))?;
    // SAFETY: the descriptor is open.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(Error::file(path)(error));
        }
    }
    Ok(file)
}

/// Copies a directory.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &place)?,
            false => fs::copy(entry.path(), &place).map(drop)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_depends_on_the_toolchain() {
        let toolchain = |version: &str| Toolchain {
            rustc: "rustc".into(),
            cargo: "cargo".into(),
            version_text: version.to_owned(),
            release: "1.95.0".to_owned(),
            commit: "1".to_owned(),
            target: "t".to_owned(),
            directory: PathBuf::new(),
        };
        let of = |version: &str| Sysroot::of(&toolchain(version)).expect("a cache").directory;
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
    }
}
