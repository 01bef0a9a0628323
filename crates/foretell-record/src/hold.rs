//! What is kept of a log while the program runs: the records of every chunk, in case they have to be read again.
//!
//! In memory, in large pages where there are some; what is beyond a limit is in a file, mapped.

use std::path::{Path, PathBuf};

use memmap2::{Advice, MmapMut};

/// Bytes that are mapped at a time.
const SEGMENT: usize = 32 << 20;

/// The records of chunks, by number.
pub(crate) struct Hold {
    segments: Vec<MmapMut>,
    /// Bytes of the last segment that are taken.
    taken: usize,
    /// Segment, start and length of each.
    chunks: Vec<(u32, u32, u32)>,
    /// Segments that may be in memory.
    most_in_memory: usize,
    directory: PathBuf,
}

impl Hold {
    /// What does not fit into `memory` bytes goes to a file in `directory`.
    pub(crate) fn new(memory: u64, directory: &Path) -> Hold {
        Hold {
            segments: Vec::new(),
            taken: SEGMENT,
            chunks: Vec::new(),
            most_in_memory: usize::try_from(memory).unwrap_or(usize::MAX) / SEGMENT,
            directory: directory.to_path_buf(),
        }
    }

    /// Keeps a copy of these records.
    ///
    /// # Errors
    /// When there is no room.
    pub(crate) fn add(&mut self, records: &[u8]) -> std::io::Result<()> {
        if self.segments.is_empty() || self.taken + records.len() > SEGMENT {
            self.segments.push(self.segment()?);
            self.taken = 0;
        }
        if let Some(segment) = self.segments.last_mut()
            && let Some(room) = segment.get_mut(self.taken..self.taken + records.len())
        {
            room.copy_from_slice(records);
        }
        let segment = self.segments.len() as u32 - 1;
        self.chunks.push((segment, self.taken as u32, records.len() as u32));
        self.taken += records.len();
        Ok(())
    }

    fn segment(&self) -> std::io::Result<MmapMut> {
        if self.segments.len() < self.most_in_memory {
            let segment = MmapMut::map_anon(SEGMENT)?;
            // Only a hint: it works without.
            let _ = segment.advise(Advice::HugePage);
            return Ok(segment);
        }
        let file = tempfile::tempfile_in(&self.directory)?;
        file.set_len(SEGMENT as u64)?;
        // SAFETY: the file has no name: nobody else can change it.
        unsafe { MmapMut::map_mut(&file) }
    }

    /// The records of a chunk.
    pub(crate) fn get(&self, chunk: usize) -> &[u8] {
        let Some(&(segment, start, len)) = self.chunks.get(chunk) else { return &[] };
        let (start, len) = (start as usize, len as usize);
        self.segments.get(segment as usize).and_then(|s| s.get(start..start + len)).unwrap_or(&[])
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
        let mut hold = Hold::new(SEGMENT as u64, dir.path());
        let chunk = |i: usize| vec![i as u8; (SEGMENT / 3) + i];
        (0..7).for_each(|i| hold.add(&chunk(i)).unwrap());
        assert_eq!(hold.segments.len(), 4);
        (0..7).for_each(|i| assert!(hold.get(i) == chunk(i)));
        assert!(hold.get(7).is_empty());
    }
}
