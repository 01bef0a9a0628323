//! Files that are embedded in the command, unpacked for the programs that need them as files.
//!
//! They are kept in the user's cache. A file whose content differs is replaced by `rename`, so a
//! reader never sees a part of one. A directory that another user owns or may write to is not used.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Error;

/// Write permissions of the group and of others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Returns the path of a file with this content: `name`, a relative path, in the user's cache, a
/// directory called `foretell`.
pub(crate) fn unpacked(name: &str, content: &[u8]) -> Result<PathBuf, Error> {
    unpacked_in(&directory()?, name, content)
}

/// Returns a directory of the user's cache, which is made if it is not there.
pub(crate) fn subdirectory(name: &str) -> Result<PathBuf, Error> {
    let path = directory()?.join(name);
    own_directory(&path).map_err(Error::file(&path))?;
    Ok(path)
}

fn unpacked_in(cache: &Path, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
    let path = cache.join(name);
    let parents = Path::new(name).parent().into_iter().flat_map(Path::components);
    let mut directory = cache.to_owned();
    own_directory(&directory).map_err(Error::file(&directory))?;
    for parent in parents {
        directory.push(parent);
        own_directory(&directory).map_err(Error::file(&directory))?;
    }
    if !is_there(&path, content) {
        write(&directory, &path, content).map_err(Error::file(&path))?;
    }
    Ok(path)
}

/// Returns the cache of this user: below `XDG_CACHE_HOME` or `~/.cache`, or, for a user without a
/// home directory that can be written to, in the directory for temporary files.
fn directory() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        std::env::var_os(name).filter(|value| Path::new(value).is_absolute()).map(PathBuf::from)
    };
    let home = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    if let Some(directory) = home {
        let own = directory.join("foretell");
        if fs::create_dir_all(&directory).and_then(|()| own_directory(&own)).is_ok() {
            return Ok(own);
        }
    }
    let mut name = OsString::from("foretell-cache-");
    name.push(user().to_string());
    let of_user = std::env::temp_dir().join(name);
    let own = of_user.join("foretell");
    own_directory(&of_user).and_then(|()| own_directory(&own)).map_err(Error::file(&own))?;
    Ok(own)
}

/// Makes a directory that only this user can write to, or checks that it is one.
fn own_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not through a link, which may be another user's.
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != user() || found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "not a directory that only this user can write to",
        ));
    }
    Ok(())
}

fn is_there(path: &Path, content: &[u8]) -> bool {
    let length = content.len() as u64;
    fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.len() == length)
        && fs::read(path).is_ok_and(|found| found == content)
}

fn write(directory: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.flush()?;
    file.persist(path)?;
    Ok(())
}

fn user() -> u32 {
    // SAFETY: the call has no conditions.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn file_is_written_once_and_mended() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = place.path().join("cache");
        let path = unpacked_in(&cache, "1/2/a", b"content").expect("it is written");
        assert_eq!(fs::read(&path).expect("a file"), b"content");
        let made = fs::metadata(&path).expect("a file").ino();
        assert_eq!(unpacked_in(&cache, "1/2/a", b"content").expect("it is there"), path);
        assert_eq!(fs::metadata(&path).expect("a file").ino(), made);
        // A file with other content is not used.
        fs::write(&path, b"contend").expect("it can be written");
        unpacked_in(&cache, "1/2/a", b"content").expect("it is written again");
        assert_eq!(fs::read(&path).expect("a file"), b"content");
    }

    #[test]
    fn directory_of_other_users_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let open = place.path().join("open");
        fs::create_dir(&open).expect("a directory");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("permissions");
        assert!(unpacked_in(&open, "a", b"content").is_err());
        let link = place.path().join("link");
        symlink(place.path(), &link).expect("a link");
        assert!(unpacked_in(&link, "a", b"content").is_err());
    }
}
