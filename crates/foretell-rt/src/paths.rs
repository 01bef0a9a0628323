//! Names of files, as channels between threads that change them and threads that look at them.
//!
//! A file is known by its canonical path, which the kernel tells; a file that does not exist, by
//! that of its directory and its name. Whether a path can be opened depends on every directory
//! above it, too.

use crate::channels;
use crate::sys;
use foretell_rt_format::channel::Channel;
use std::ffi::{CStr, c_char, c_int};

/// A canonical path.
#[derive(PartialEq, Eq)]
pub(crate) struct Path(Vec<u8>);

/// Longest path that is followed.
const LONGEST: usize = 4096;

/// Opens a path without access to its content.
fn locate(directory: c_int, path: &[u8], follow: bool) -> Option<c_int> {
    let mut text = path.to_vec();
    text.push(0);
    let flags = libc::O_PATH | libc::O_CLOEXEC | if follow { 0 } else { libc::O_NOFOLLOW };
    let a = [directory as isize as usize, text.as_ptr() as usize, flags as usize, 0, 0, 0];
    // SAFETY: the kernel reads the path.
    let fd = unsafe { sys::call(libc::SYS_openat, a) };
    c_int::try_from(fd).ok().filter(|fd| *fd >= 0)
}

/// Returns the path of a descriptor.
fn path_of(fd: c_int) -> Option<Vec<u8>> {
    let link = format!("/proc/self/fd/{fd}\0");
    let mut out = vec![0u8; LONGEST];
    let a = [link.as_ptr() as usize, out.as_mut_ptr() as usize, LONGEST, 0, 0, 0];
    // SAFETY: the kernel writes at most the length.
    let n = unsafe { sys::call(libc::SYS_readlink, a) };
    out.truncate(usize::try_from(n).ok()?);
    out.starts_with(b"/").then_some(out)
}

impl Path {
    /// Returns the path that the program gives, relative to a directory.
    ///
    /// # Safety
    /// `path` is the address of a text.
    pub(crate) unsafe fn given(directory: c_int, path: usize, follow: bool) -> Option<Path> {
        // SAFETY: promised by the caller.
        let text = unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes();
        (text.len() < LONGEST).then(|| canonical(directory, text, follow))?
    }

    /// Returns the path of an open directory.
    pub(crate) fn of(fd: c_int) -> Option<Path> {
        path_of(fd).map(Path)
    }

    /// Returns the path of the directory that holds this one.
    fn parent(&self) -> Option<Path> {
        let end = self.0.iter().rposition(|b| *b == b'/')?;
        let parent = if end == 0 { &b"/"[..] } else { &self.0[..end] };
        (parent != self.0).then(|| Path(parent.to_vec()))
    }

    fn number(&self, kind: u64) -> u64 {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, b| word << 8 | u64::from(*b));
        let words: Vec<u64> = [kind].into_iter().chain(self.0.chunks(8).map(word)).collect();
        Channel::Path.number(&words)
    }

    /// Returns the channel of what the path names.
    pub(crate) fn entry(&self) -> u64 {
        self.number(0)
    }

    /// Returns the channel of the content of the directory at this path.
    pub(crate) fn listing(&self) -> u64 {
        self.number(1)
    }

    /// Returns the channels that a look at this path depends on: the path and all directories
    /// above it.
    pub(crate) fn with_parents(&self) -> Vec<u64> {
        let mut out = vec![self.entry()];
        let mut above = self.parent();
        while let Some(path) = above {
            above = path.parent();
            if above.is_some() {
                out.push(path.entry());
            }
        }
        out
    }

    /// Returns the channels that a change at this path concerns.
    pub(crate) fn changed(&self) -> Vec<u64> {
        let listing = self.parent().map(|parent| parent.listing());
        [self.entry()].into_iter().chain(listing).collect()
    }

    /// Whether the path is a directory with files in it; if the kernel does not say, there are.
    pub(crate) fn has_entries(&self) -> bool {
        /// Number of links of a directory without directories in it: its name, and `.`.
        const LINKS: u64 = 2;
        self.status().is_none_or(|status| status.st_nlink > LINKS || !self.is_empty())
    }

    /// Whether the path is a directory without files in it.
    fn is_empty(&self) -> bool {
        let mut text = self.0.clone();
        text.push(0);
        let at = libc::AT_FDCWD as isize as usize;
        let flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
        let mut entries = [0u64; 64];
        // SAFETY: the kernel reads the path and writes at most the length.
        unsafe {
            let fd = sys::call(libc::SYS_openat, [at, text.as_ptr() as usize, flags, 0, 0, 0]);
            let Some(fd) = c_int::try_from(fd).ok().filter(|fd| *fd >= 0) else { return false };
            let a = [fd as usize, entries.as_mut_ptr() as usize, size_of_val(&entries), 0, 0, 0];
            let n = sys::call(libc::SYS_getdents64, a);
            close(fd);
            // Two entries of 24 bytes: the directory itself and the one above it.
            n == 48
        }
    }

    /// Returns the channel of the content of the file at the path.
    pub(crate) fn content(&self) -> Option<u64> {
        let fd = locate(libc::AT_FDCWD, &self.0, false)?;
        let status = channels::status(fd);
        let file = status.filter(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG);
        let channel = file.map(|status| channels::file(fd, &status));
        close(fd);
        channel
    }

    /// Returns the status of what is at the path.
    pub(crate) fn status(&self) -> Option<libc::stat> {
        let fd = locate(libc::AT_FDCWD, &self.0, false)?;
        let status = channels::status(fd);
        close(fd);
        status
    }
}

fn close(fd: c_int) {
    // SAFETY: a descriptor of the runtime.
    unsafe { sys::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Returns the canonical form of a path.
fn canonical(directory: c_int, path: &[u8], follow: bool) -> Option<Path> {
    if let Some(fd) = locate(directory, path, follow) {
        let out = path_of(fd);
        close(fd);
        return out.map(Path);
    }
    let end = path.iter().rposition(|b| *b != b'/')? + 1;
    let start = path[..end].iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    let (parent, name) = (&path[..start], &path[start..end]);
    let Path(mut out) = match parent {
        b"" => canonical(directory, b".", true)?,
        b"/" => Path(Vec::new()),
        _ => canonical(directory, parent, true)?,
    };
    if !out.ends_with(b"/") {
        out.push(b'/');
    }
    out.extend_from_slice(name);
    Some(Path(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &CStr) -> Vec<u8> {
        // SAFETY: a text.
        let path = unsafe { Path::given(libc::AT_FDCWD, text.as_ptr() as usize, true) };
        path.map(|path| path.0).unwrap_or_default()
    }

    #[test]
    fn path_is_canonical_whether_its_file_exists_or_not() {
        assert_eq!(path(c"/usr/../usr/./bin"), b"/usr/bin");
        assert_eq!(path(c"/usr//none//below"), b"/usr/none/below");
        assert_eq!(path(c"/none"), b"/none");
        let here = std::env::current_dir().expect("a directory");
        assert_eq!(path(c"none"), here.join("none").as_os_str().as_encoded_bytes());
        assert_eq!(path(c""), b"");
    }

    #[test]
    fn change_concerns_the_listing_of_the_directory() {
        let file = Path(b"/a/b/c".to_vec());
        let directory = Path(b"/a/b".to_vec());
        assert_eq!(file.changed(), [file.entry(), directory.listing()]);
        assert_eq!(
            file.with_parents(),
            [file.entry(), directory.entry(), Path(b"/a".to_vec()).entry()]
        );
        assert_ne!(directory.entry(), directory.listing());
    }
}
