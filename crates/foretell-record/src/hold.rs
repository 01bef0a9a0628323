//! What is kept of a log while the program runs: the records of every chunk, in case they have to be read again.
//!
//! In memory; what is beyond a limit is in a file. Both are written like files, which, unlike memory of the process, need
//! not be cleared first.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

/// Chunks that are being kept.
pub(crate) struct Hold {
    memory: Option<File>,
    /// Bytes that may be in memory.
    limit: u64,
    disk: Option<File>,
    directory: PathBuf,
    /// Bytes so far, in memory and on disk.
    lengths: [u64; 2],
    chunks: Vec<Place>,
}

/// Where the records of a chunk are.
#[derive(Clone, Copy)]
struct Place {
    on_disk: bool,
    start: u64,
    len: usize,
}

impl Hold {
    /// What does not fit into `limit` bytes of memory goes to a file in `directory`.
    pub(crate) fn new(limit: u64, directory: &Path) -> Hold {
        Hold {
            memory: memory_file().ok(),
            limit,
            disk: None,
            directory: directory.to_path_buf(),
            lengths: [0; 2],
            chunks: Vec::new(),
        }
    }

    /// Keeps a copy of these records.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn add(&mut self, records: &[u8]) -> io::Result<()> {
        let len = records.len();
        let fits = self.lengths[0] + len as u64 <= self.limit;
        let on_disk = match &self.memory {
            Some(file) => !fits || file.write_all_at(records, self.lengths[0]).is_err(),
            None => true,
        };
        let length = &mut self.lengths[usize::from(on_disk)];
        if on_disk {
            let file = match self.disk.take() {
                Some(file) => file,
                None => tempfile::tempfile_in(&self.directory)?,
            };
            self.disk.insert(file).write_all_at(records, *length)?;
        }
        self.chunks.push(Place { on_disk, start: *length, len });
        *length += len as u64;
        Ok(())
    }

    /// No more chunks come.
    ///
    /// # Errors
    /// When what was kept cannot be mapped.
    pub(crate) fn finish(self) -> io::Result<Held> {
        let map = |file: &Option<File>, len: u64| match file {
            // SAFETY: the files have no names: nobody else can change them.
            Some(file) if len > 0 => unsafe { Mmap::map(file) }.map(Some),
            _ => Ok(None),
        };
        let maps = [map(&self.memory, self.lengths[0])?, map(&self.disk, self.lengths[1])?];
        Ok(Held { maps, chunks: self.chunks })
    }
}

/// A file in memory.
fn memory_file() -> io::Result<File> {
    // SAFETY: the name ends with a zero.
    let fd = unsafe { libc::memfd_create(c"foretell".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Chunks that were kept.
#[derive(Default)]
pub(crate) struct Held {
    maps: [Option<Mmap>; 2],
    chunks: Vec<Place>,
}

impl Held {
    /// The records of a chunk.
    pub(crate) fn get(&self, chunk: usize) -> &[u8] {
        let Some(&Place { on_disk, start, len }) = self.chunks.get(chunk) else { return &[] };
        let map = self.maps[usize::from(on_disk)].as_ref();
        map.and_then(|map| map.get(start as usize..start as usize + len)).unwrap_or(&[])
    }
}

/// How much memory may be used for this: a quarter of what there is.
pub(crate) fn memory_limit() -> u64 {
    // SAFETY: no arguments that matter.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0)) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_from_memory_and_from_files() {
        let dir = tempfile::tempdir().unwrap();
        for limit in [0, 2500, 1 << 20] {
            let mut hold = Hold::new(limit, dir.path());
            let chunk = |i: usize| vec![i as u8; 1000 * (i % 3)];
            (0..9).for_each(|i| hold.add(&chunk(i)).unwrap());
            assert_eq!((hold.lengths[0] <= limit, hold.lengths[1] > 0), (true, limit < 9000));
            let held = hold.finish().unwrap();
            (0..9).for_each(|i| assert!(held.get(i) == chunk(i)));
            assert!(held.get(9).is_empty());
        }
    }
}
