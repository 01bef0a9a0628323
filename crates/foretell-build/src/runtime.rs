//! Where the runtime is.
//!
//! `libforetell_rt.a` is linked into programs by the compiler driver, `libforetell_rt.so` stands in for
//! libtsan in programs that were built with gcc's `-fsanitize=thread`. Both are made by the same `cargo
//! build` as the `foretell` command and found from where that is: beside it, in `deps` beside it, or
//! in `../lib/foretell`, the newest if there are several (cargo leaves old ones beside the command). `FORETELL_RT_DIR` comes
//! before all of these.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;

/// Name of the variable that gives the runtime's directory.
const DIRECTORY: &str = "FORETELL_RT_DIR";
/// An archive without members: every linker takes it for an input that adds nothing.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// The directory that the user names.
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

/// The archive to link.
pub fn archive() -> Result<PathBuf, Error> {
    find("libforetell_rt.a")
}

/// A directory in which gcc finds the archive as its own `libtsan.a`; without an archive it
/// finds one that is empty.
pub fn gcc_directory(archive: Option<&Path>) -> Result<TempDir, Error> {
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

/// A directory in which the dynamic linker finds the shared library as libtsan's.
pub fn preload_directory() -> Result<TempDir, Error> {
    let library = find("libforetell_rt.so")?;
    let dir = directory()?;
    for name in ["libtsan.so.0", "libtsan.so.1", "libtsan.so.2"] {
        symlink(&library, dir.path().join(name)).map_err(Error::file(dir.path()))?;
    }
    Ok(dir)
}

fn directory() -> Result<TempDir, Error> {
    tempfile::Builder::new()
        .prefix("foretell-")
        .tempdir()
        .map_err(Error::file(std::env::temp_dir()))
}
