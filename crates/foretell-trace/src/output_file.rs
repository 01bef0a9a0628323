//! Output files that appear under their name only when all of them is written.
//!
//! The bytes go to a temporary file in the same directory, which [`OutputFile::commit`] renames.
//! Until then the file that was there stays as it is: a full disk, a failure or a kill leaves it
//! whole. Pipes, devices and the descriptors in `/dev/fd` are written to directly.
//!
//! A temporary file is locked while its process lives. Temporary files of processes that were
//! killed are therefore known by their missing lock; the next output file in the directory removes
//! them.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// First part of the name of a temporary file.
const PREFIX: &str = ".foretell-";
/// Last part of the name of a temporary file.
const SUFFIX: &str = ".tmp";
/// Most symbolic links that are followed to a file that does not exist yet.
const LINKS: usize = 40;
/// Most attempts to find a free name.
const ATTEMPTS: u32 = 1000;
/// Age at which a temporary file is locked, unless its process was killed.
const LOCKED_BY_THEN: Duration = Duration::from_secs(60);

/// An output file under construction. Dropping it without [`commit`](OutputFile::commit) leaves
/// the file of that name as it was.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    replacement: Option<Replacement>,
}

/// Names of a file that is written beside the one it replaces.
#[derive(Debug)]
struct Replacement {
    temporary: PathBuf,
    target: PathBuf,
}

impl Replacement {
    /// Gives the temporary file the name of its target.
    fn rename(mut self) -> io::Result<()> {
        match fs::rename(&self.temporary, &self.target) {
            Ok(()) => {
                // The name is free for another thread.
                self.temporary.clear();
                Ok(())
            }
            // A file that is itself a mount point (of a container) cannot be replaced.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                fs::copy(&self.temporary, &self.target).map(|_| ())
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Whether a path names a stream (a pipe, a device, a descriptor of this process), which is written
/// to and not replaced.
pub fn is_stream(path: &Path) -> bool {
    let descriptor = ["/dev/stdout", "/dev/stderr"].map(Path::new).contains(&path)
        || path.starts_with("/dev/fd");
    descriptor
        || path.starts_with("/proc")
        || fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

impl OutputFile {
    /// Returns a file to be written under the name `path`.
    ///
    /// # Errors
    /// If no file can be created there.
    pub fn create(path: &Path) -> io::Result<OutputFile> {
        if is_stream(path) {
            let file = File::options().append(true).open(path)?;
            return Ok(OutputFile { file, replacement: None });
        }
        // The target of a link is replaced, not the link.
        let target = resolve(path);
        let before = match fs::metadata(&target) {
            Ok(before) if before.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(before) => {
                // A file that its user has protected stays.
                File::options().append(true).open(&target)?;
                Some(before)
            }
            Err(_) => None,
        };
        match create_beside(&target, before.as_ref()) {
            Ok((file, temporary)) => {
                let replacement = Some(Replacement { temporary, target });
                Ok(OutputFile { file, replacement })
            }
            // The file may be written, its directory may not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && before.is_some() => {
                let file = File::options().write(true).truncate(true).open(&target)?;
                Ok(OutputFile { file, replacement: None })
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If the rest of the file cannot be written.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(names) = self.replacement.take() else { return Ok(()) };
        self.file.sync_all()?;
        names.rename()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns the file that a path leads to, though it may not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(target) = target.canonicalize() {
            return target;
        }
        let Ok(link) = fs::read_link(&target) else { break };
        target = target.parent().map_or_else(|| link.clone(), |directory| directory.join(&link));
    }
    target
}

/// Creates and locks a new file in the directory of `target`, with the owner and the permissions of
/// the file `before`.
fn create_beside(target: &Path, before: Option<&Metadata>) -> io::Result<(File, PathBuf)> {
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file name"));
    }
    remove_abandoned(target.parent().unwrap_or(Path::new("/")));
    let mut attempt = 0;
    loop {
        let name = format!("{PREFIX}{}-{attempt}{SUFFIX}", std::process::id());
        let path = target.with_file_name(name);
        match File::options().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                attempt += 1;
            }
            Err(error) => return Err(error),
            Ok(file) => {
                // Not every file system has locks; the file is then never taken for abandoned.
                lock(&file);
                if let Some(before) = before {
                    let (user, group) = (before.uid(), before.gid());
                    if file.metadata().is_ok_and(|m| (m.uid(), m.gid()) != (user, group)) {
                        let _ = fchown(&file, Some(user), Some(group));
                    }
                    let _ = file.set_permissions(before.permissions());
                }
                return Ok((file, path));
            }
        }
    }
}

/// Locks a file, unless another process has it locked.
fn lock(file: &File) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes the temporary files of processes that were killed.
fn remove_abandoned(directory: &Path) {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
        let is_file = entry.file_type().is_ok_and(|t| t.is_file());
        if !is_file || !name.to_str().is_some_and(is_ours) {
            continue;
        }
        let Ok(file) = File::options().append(true).open(entry.path()) else { continue };
        // A new file without a byte may be about to be locked.
        let is_new = file.metadata().and_then(|m| m.modified()).is_ok_and(|time| {
            SystemTime::now().duration_since(time).is_ok_and(|age| age < LOCKED_BY_THEN)
        });
        let is_empty = file.metadata().is_ok_and(|m| m.len() == 0);
        if !(is_new && is_empty) && lock(&file) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn file_appears_when_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(OutputFile::create(&path).unwrap());
        assert_eq!((fs::read(&path).unwrap(), names(directory.path()).len()), (b"new".to_vec(), 1));
    }

    #[test]
    fn abandoned_files_are_removed_and_others_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path(".foretell-1-0.tmp"), "x").unwrap();
        fs::write(path(".foretell-notes"), "x").unwrap();
        let mut other = OutputFile::create(&path("b")).unwrap();
        other.write_all(b"b").unwrap();
        OutputFile::create(&path("a")).unwrap().commit().unwrap();
        let left = names(directory.path());
        assert!(!left.contains(&".foretell-1-0.tmp".to_owned()), "{left:?}");
        other.commit().unwrap();
        assert_eq!(names(directory.path()), [".foretell-notes", "a", "b"]);
    }

    #[test]
    fn links_are_followed_and_protection_is_respected() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        symlink("target", path("link")).unwrap();
        for text in ["one", "two"] {
            let mut file = OutputFile::create(&path("link")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read_to_string(path("target")).unwrap(), text);
            fs::set_permissions(path("target"), fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        assert_eq!(fs::metadata(path("target")).unwrap().mode() & 0o777, 0o600);
        assert!(OutputFile::create(directory.path()).is_err());
    }
}
