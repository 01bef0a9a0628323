//! Location of the runtime's libraries.
//!
//! The compiler driver links `libforetell_rt.a` into programs; `libforetell_rt.so` takes the place
//! of libtsan in programs that were built with gcc's `-fsanitize=thread`. The `cargo build` that
//! makes the `foretell` command makes both. They are searched for beside the command, in `deps`
//! beside it and in `../lib/foretell`; of several the newest is used (cargo leaves old ones beside
//! the command). `FORETELL_RT_DIR` replaces these directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::{Error, ScratchDirectory};

/// Environment variable with the runtime's directory.
const DIRECTORY: &str = "FORETELL_RT_DIR";
/// An archive without members, an input that adds nothing for every linker.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Returns the runtime's directory that the user names.
pub fn directory_override() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

fn find(file: &str) -> Result<PathBuf, Error> {
    let mut candidates = Vec::new();
    if let Some(dir) = directory_override() {
        candidates.push(dir.join(file));
    } else if let Some(dir) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        candidates.push(dir.join(file));
        candidates.push(dir.join("deps").join(file));
        candidates.push(dir.join("../lib/foretell").join(file));
    }
    let there = candidates.iter().filter(|path| path.is_file());
    let there = there.max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    there.and_then(|path| path.canonicalize().ok()).ok_or_else(|| {
        let names: Vec<String> = candidates.iter().map(|c| c.display().to_string()).collect();
        Error::NoRuntime { looked_for: names.join(", ") }
    })
}

/// Returns the path of the archive to link.
pub(crate) fn archive() -> Result<PathBuf, Error> {
    find("libforetell_rt.a")
}

/// Returns a directory for the linker's scripts, in which gcc finds the archive as its own
/// `libtsan.a`, or an empty archive without one.
pub(crate) fn linker_directory(archive: Option<&Path>) -> Result<ScratchDirectory, Error> {
    let dir = directory()?;
    let put = || -> std::io::Result<()> {
        match archive {
            Some(archive) => symlink(archive, dir.path().join("libtsan.a"))?,
            None => fs::write(dir.path().join("libtsan.a"), EMPTY_ARCHIVE)?,
        }
        fs::write(dir.path().join("libtsan_preinit.o"), EMPTY_ARCHIVE)
    };
    put().map_err(Error::file(dir.path()))?;
    Ok(dir)
}

/// Returns a directory in which the dynamic linker finds the shared library as libtsan.
///
/// # Errors
/// When the library is missing or the directory cannot be made.
pub fn preload_directory() -> Result<ScratchDirectory, Error> {
    let library = find("libforetell_rt.so")?;
    let dir = directory()?;
    for name in ["libtsan.so.0", "libtsan.so.1", "libtsan.so.2"] {
        symlink(&library, dir.path().join(name)).map_err(Error::file(dir.path()))?;
    }
    Ok(dir)
}

fn directory() -> Result<ScratchDirectory, Error> {
    ScratchDirectory::new().map_err(Error::file(std::env::temp_dir()))
}
