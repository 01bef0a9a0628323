//! Directories for the files of one job, which do not outlive it.
//!
//! The owner of a directory holds a lock on a file in it. A process that was killed leaves its
//! directory behind without the lock; the next scratch directory in the same place removes it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// Name of the file with the lock.
const LOCK: &str = ".foretell-lock";
/// First part of the names of scratch directories.
const PREFIXES: [&str; 2] = [".foretell-", "foretell-"];
/// Age at which a directory has a lock, unless its process was killed.
const LOCKED_BY_THEN: Duration = Duration::from_secs(60);

/// A directory that is removed when it is dropped, or by a later process.
#[derive(Debug)]
pub struct ScratchDirectory {
    // Dropped before the lock.
    directory: TempDir,
    lock: File,
}

impl ScratchDirectory {
    /// Returns a new directory in `parent`, whose name begins with `foretell-` or, in a directory
    /// of the user, `.foretell-`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new_in(parent: &Path, prefix: &str) -> io::Result<ScratchDirectory> {
        debug_assert!(PREFIXES.iter().any(|known| prefix.starts_with(known)));
        remove_abandoned(parent);
        loop {
            let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
            let lock = File::create(directory.path().join(LOCK))?;
            // Between the two lines another process may take the directory for abandoned.
            if try_lock(&lock) && directory.path().join(LOCK).exists() {
                return Ok(ScratchDirectory { directory, lock });
            }
        }
    }

    /// Returns a new directory in the system's directory for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<ScratchDirectory> {
        Self::new_in(&std::env::temp_dir(), "foretell-")
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns a path that exists as long as this process lives and holds the directory.
    pub fn lifeline(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.lock.as_raw_fd()).into()
    }
}

/// Locks a file, unless another process has it locked. A file system without locks counts as
/// locked here, and nothing on it as abandoned.
fn try_lock(file: &File) -> bool {
    // SAFETY: the descriptor is open.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 };
    locked || io::Error::last_os_error().raw_os_error() != Some(libc::EWOULDBLOCK)
}

/// Removes a directory, unless another process holds its lock, or may be about to take it.
fn remove_abandoned_one(directory: &Path, made: &fs::Metadata) {
    match File::options().append(true).open(directory.join(LOCK)) {
        Ok(lock) => {
            // Kept until the directory is gone: a process that has just made it finds it locked,
            // and takes another one.
            // SAFETY: the descriptor is open.
            if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 } {
                remove(directory);
            }
        }
        Err(_) => {
            let age = made.modified().ok().and_then(|t| SystemTime::now().duration_since(t).ok());
            let is_new = age.is_none_or(|age| age < LOCKED_BY_THEN);
            if !is_new && fs::read_dir(directory).is_ok_and(|mut files| files.next().is_none()) {
                remove(directory);
            }
        }
    }
}

/// Removes the directories that processes of this user left when they were killed.
fn remove_abandoned(parent: &Path) {
    // SAFETY: no arguments.
    let user = unsafe { libc::geteuid() };
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if !name.to_str().is_some_and(is_ours) {
            continue;
        }
        // Not of a link's target.
        let Ok(made) = entry.path().symlink_metadata() else { continue };
        if made.is_dir() && made.uid() == user {
            remove_abandoned_one(&entry.path(), &made);
        }
    }
}

/// Removes a directory, its lock last: what another process puts there meanwhile stays with the
/// lock, for the next one to remove.
fn remove(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name() == LOCK {
            continue;
        }
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = match is_directory {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        };
    }
    let is_lock = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|e| e.file_name() == LOCK);
    if fs::read_dir(directory).is_ok_and(|mut entries| entries.all(is_lock)) {
        let _ = fs::remove_file(directory.join(LOCK));
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_directories_are_removed_and_held_ones_stay() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        let held = ScratchDirectory::new_in(parent.path(), ".foretell-").unwrap();
        fs::write(held.path().join("log"), "x").unwrap();
        fs::create_dir(path(".foretell-killed")).unwrap();
        fs::write(path(".foretell-killed").join(LOCK), "").unwrap();
        fs::write(path(".foretell-killed/log"), "x").unwrap();
        fs::create_dir(path("foretell-results")).unwrap();
        fs::write(path("foretell-results/run.ft"), "x").unwrap();
        let next = ScratchDirectory::new_in(parent.path(), "foretell-").unwrap();
        assert!(!path(".foretell-killed").exists());
        assert!(path("foretell-results/run.ft").exists(), "no lock: it is the user's");
        assert!(held.path().join("log").exists() && next.lifeline().exists());
        let (gone, lifeline) = (next.path().to_path_buf(), next.lifeline());
        drop(next);
        assert!(!gone.exists() && !lifeline.exists());
    }

    #[test]
    fn directories_that_are_made_at_the_same_time_stay() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let own = ScratchDirectory::new_in(parent.path(), "foretell-").unwrap();
                        fs::write(own.path().join("log"), "x").unwrap();
                        fs::read_dir(parent.path()).unwrap().for_each(drop);
                        assert!(own.path().join("log").exists());
                    }
                });
            }
        });
    }
}
