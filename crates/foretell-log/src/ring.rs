//! A log that is read while the program writes it: a ring of chunks in shared memory.
//!
//! The memory has no name but that of this process's descriptor. However the program ends, the
//! records that it wrote are in it.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

use foretell_rt_format::{
    CHUNK_HEADER_LEN, CHUNK_LEN, CHUNK_USED, Chunk, FormatError, HEADER_LEN, Header, Log, READY,
    header,
};
use memmap2::MmapRaw;

/// Number of chunks of the ring: enough for what a program writes while the reader sleeps.
const CHUNKS: usize = 16;
/// Shortest pause of the reader when there is nothing to read.
const PAUSE: Duration = Duration::from_micros(200);
/// Longest pause. The ring has room for what a program writes meanwhile.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The ring.
pub struct Ring {
    file: File,
    map: MmapRaw,
}

impl Ring {
    /// Returns a ring that a program may write to.
    ///
    /// # Errors
    /// When the system gives no shared memory.
    pub fn new() -> std::io::Result<Ring> {
        // SAFETY: the name ends with a zero.
        let fd = unsafe { libc::memfd_create(c"foretell".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len((HEADER_LEN + CHUNKS * CHUNK_LEN) as u64)?;
        let map = MmapRaw::map_raw(&file)?;
        let ring = Ring { file, map };
        ring.write(header::RING, &(CHUNKS as u32).to_le_bytes());
        ring.write(0, &READY);
        Ok(ring)
    }

    /// Returns the path at which a program finds the ring while this process lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= HEADER_LEN);
        // SAFETY: within the header.
        unsafe {
            let to = self.map.as_mut_ptr().add(at);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the header's counters are aligned, and accessed as atomics by both sides.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }

    /// Reads every chunk that is complete, until the program has ended.
    pub fn follow(&self, ended: &AtomicBool, mut f: impl FnMut(Chunk<'_>)) {
        let (produced, consumed) = (self.counter(header::PRODUCED), self.counter(header::CONSUMED));
        let (mut next, mut pause) = (0, PAUSE);
        loop {
            let last = ended.load(Acquire);
            let there = produced.load(Acquire);
            if next == there {
                if last {
                    return;
                }
                std::thread::sleep(pause);
                pause = (2 * pause).min(LONGEST_PAUSE);
            } else {
                pause = PAUSE;
            }
            while next < there {
                f(self.chunk(next as usize % CHUNKS));
                next += 1;
                consumed.store(next, Release);
            }
        }
    }

    /// Returns a chunk that the program has completed.
    fn chunk(&self, index: usize) -> Chunk<'_> {
        let start = HEADER_LEN + index * CHUNK_LEN;
        // SAFETY: within the map; the program does not touch it until it is consumed.
        unsafe {
            let base = self.map.as_ptr().add(start);
            let used = base.add(CHUNK_USED).cast::<u32>().read_volatile() as usize;
            let used = used.clamp(CHUNK_HEADER_LEN, CHUNK_LEN);
            let at = base.add(CHUNK_HEADER_LEN);
            let records = std::slice::from_raw_parts(at, used - CHUNK_HEADER_LEN);
            Chunk::complete(0, start + CHUNK_HEADER_LEN, records)
        }
    }

    /// Whether a program has taken the ring for its log.
    pub fn is_used(&self) -> bool {
        // SAFETY: within the header.
        unsafe { self.map.as_ptr().cast::<[u8; 8]>().read() != READY }
    }

    /// Returns the header and the last, incomplete chunk after the program has ended.
    ///
    /// # Errors
    /// When the header is not valid.
    pub fn rest(&self, f: impl FnOnce(Chunk<'_>)) -> Result<Header, FormatError> {
        // SAFETY: the program that wrote it has ended.
        let bytes = unsafe { std::slice::from_raw_parts(self.map.as_ptr(), self.map.len()) };
        let log = Log::parse(bytes)?;
        f(log.open_chunk());
        Ok(log.header)
    }
}
