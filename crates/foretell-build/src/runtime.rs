//! Location of the runtime's libraries.
//!
//! The compiler driver links `libforetell_rt.a` into programs; `libforetell_rt.so` takes the place
//! of libtsan in programs that were built with gcc's `-fsanitize=thread`. Both are embedded in the
//! command and unpacked when they are needed. `FORETELL_RT_DIR` names a directory with others.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::{Error, ScratchDirectory, cache};

/// Environment variable with the runtime's directory.
const DIRECTORY: &str = "FORETELL_RT_DIR";
/// The static library.
const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libforetell_rt.a"));
/// The shared library.
const SHARED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libforetell_rt.so"));
/// Hash of both.
const VERSION: &str = concat!("rt-", env!("FORETELL_RT_HASH"));
/// An archive without members, an input that adds nothing for every linker.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Returns the runtime's directory that the user names.
pub fn directory_override() -> Option<PathBuf> {
    std::env::var_os(DIRECTORY).map(PathBuf::from)
}

fn find(file: &str, embedded: &[u8]) -> Result<PathBuf, Error> {
    let Some(directory) = directory_override() else {
        return cache::unpacked(VERSION, file, embedded);
    };
    let path = directory.join(file);
    match path.canonicalize() {
        Ok(path) if path.is_file() => Ok(path),
        _ => Err(Error::NoRuntime { path }),
    }
}

/// Returns the directory of `foretell.h`, which programs may include.
///
/// # Errors
/// When the header cannot be unpacked.
pub(crate) fn header_directory() -> Result<PathBuf, Error> {
    const HEADER: &str = include_str!("../../../include/foretell.h");
    let version = concat!("header-", env!("FORETELL_RT_HASH"));
    let mut path = cache::unpacked(version, "foretell.h", HEADER.as_bytes())?;
    path.pop();
    Ok(path)
}

/// Returns the path of the archive to link.
///
/// # Errors
/// When it is not in the directory that the user names, or cannot be unpacked.
pub fn archive() -> Result<PathBuf, Error> {
    find("libforetell_rt.a", ARCHIVE)
}

/// Returns the path of the shared library.
///
/// # Errors
/// When it is not in the directory that the user names, or cannot be unpacked.
pub fn shared_library() -> Result<PathBuf, Error> {
    find("libforetell_rt.so", SHARED)
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
    let library = shared_library()?;
    let dir = directory()?;
    for name in ["libtsan.so.0", "libtsan.so.1", "libtsan.so.2"] {
        symlink(&library, dir.path().join(name)).map_err(Error::file(dir.path()))?;
    }
    Ok(dir)
}

fn directory() -> Result<ScratchDirectory, Error> {
    ScratchDirectory::new().map_err(Error::file(std::env::temp_dir()))
}
