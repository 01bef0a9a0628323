//! The chunks of a log, stored while the program runs in case they have to be read again.
//!
//! They are in memory, and beyond a limit in a file. Pages of memory are taken many at a time: one
//! by one, or as a file, they would cost more than filling them does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap, MmapMut};

/// Size of a piece of memory, in bytes.
const PIECE: usize = 256 << 20;

/// Store of chunks that more are added to.
pub struct ChunkStore {
    /// Pieces of memory, and the number of bytes used of the last one.
    pieces: Vec<MmapMut>,
    taken: usize,
    /// Greatest number of bytes in memory.
    limit: u64,
    disk: Option<File>,
    directory: PathBuf,
    /// Number of bytes in memory and on disk.
    lengths: [u64; 2],
    chunks: Vec<StoredAt>,
}

/// Position of the records of a chunk.
#[derive(Clone, Copy)]
struct StoredAt {
    /// The piece of memory; none if they are in the file.
    piece: Option<usize>,
    start: usize,
    len: usize,
}

impl ChunkStore {
    /// Returns an empty store. Chunks that do not fit into `limit` bytes of memory go to a file in
    /// `directory`.
    pub fn new(limit: u64, directory: &Path) -> ChunkStore {
        ChunkStore {
            pieces: Vec::new(),
            taken: 0,
            limit,
            disk: None,
            directory: directory.to_path_buf(),
            lengths: [0; 2],
            chunks: Vec::new(),
        }
    }

    /// Adds a copy of the records of a chunk.
    ///
    /// # Errors
    /// When there is no room in memory or on disk.
    pub fn add(&mut self, records: &[u8]) -> io::Result<()> {
        let place = match self.in_memory(records) {
            Some(place) => place,
            None => self.on_disk(records)?,
        };
        self.chunks.push(place);
        Ok(())
    }

    fn in_memory(&mut self, records: &[u8]) -> Option<StoredAt> {
        let len = records.len();
        if self.lengths[0] + len as u64 > self.limit {
            return None;
        }
        if self.pieces.last().is_none_or(|piece| piece.len() - self.taken < len) {
            self.pieces.push(MmapMut::map_anon(PIECE.max(len)).ok()?);
            self.taken = 0;
        }
        let (start, number) = (self.taken, self.pieces.len() - 1);
        let piece = self.pieces.last_mut()?;
        // If the system does not know this advice, the pages come as they are filled.
        let _ = piece.advise_range(Advice::PopulateWrite, start, len);
        piece.get_mut(start..start + len)?.copy_from_slice(records);
        self.taken += len;
        self.lengths[0] += len as u64;
        Some(StoredAt { piece: Some(number), start, len })
    }

    fn on_disk(&mut self, records: &[u8]) -> io::Result<StoredAt> {
        let file = match self.disk.take() {
            Some(file) => file,
            None => tempfile::tempfile_in(&self.directory)?,
        };
        let (start, len) = (self.lengths[1], records.len());
        self.disk.insert(file).write_all_at(records, start)?;
        self.lengths[1] += len as u64;
        Ok(StoredAt { piece: None, start: start as usize, len })
    }

    /// Returns the chunks when there are no more.
    ///
    /// # Errors
    /// When the file cannot be mapped.
    pub fn finish(self) -> io::Result<StoredChunks> {
        let disk = match &self.disk {
            // SAFETY: the file has no name: no other process can change it.
            Some(file) if self.lengths[1] > 0 => Some(unsafe { Mmap::map(file) }?),
            _ => None,
        };
        Ok(StoredChunks { pieces: self.pieces, disk, chunks: self.chunks })
    }
}

/// Store of all chunks of a run.
#[derive(Default)]
pub struct StoredChunks {
    pieces: Vec<MmapMut>,
    disk: Option<Mmap>,
    chunks: Vec<StoredAt>,
}

impl StoredChunks {
    /// Returns the records of a chunk.
    pub fn get(&self, chunk: usize) -> &[u8] {
        let Some(&StoredAt { piece, start, len }) = self.chunks.get(chunk) else { return &[] };
        let bytes = match piece {
            Some(piece) => self.pieces.get(piece).map(|piece| &piece[..]),
            None => self.disk.as_deref(),
        };
        bytes.and_then(|bytes| bytes.get(start..start + len)).unwrap_or(&[])
    }
}

/// Returns the number of bytes of memory that a store may use: a quarter of the machine's.
pub fn memory_limit() -> u64 {
    // SAFETY: no arguments that matter.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0)) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_from_memory_and_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        for limit in [0, 2500, 1 << 20] {
            let mut hold = ChunkStore::new(limit, dir.path());
            let chunk = |i: usize| vec![i as u8; 1000 * (i % 3)];
            (0..9).for_each(|i| hold.add(&chunk(i)).unwrap());
            assert_eq!((hold.lengths[0] <= limit, hold.lengths[1] > 0), (true, limit < 9000));
            let held = hold.finish().unwrap();
            (0..9).for_each(|i| assert!(held.get(i) == chunk(i)));
            assert!(held.get(9).is_empty());
        }
    }
}
