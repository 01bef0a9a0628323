//! Writing the raw log: a file mapped window by window.
//!
//! Under the baton there is one stream and one writer at a time, so that a record is a few
//! stores behind a pointer. Space is reserved before it is mapped: a full disk shows as an
//! error, not as SIGBUS; records then go to a scratch chunk and are lost, and the header says
//! so. The file is opened only while a window is mapped: the program's descriptors stay as they
//! would be.

use crate::arena;
use crate::sys::{self, call};
use foretell_rt_format::{
    CHUNK_HEADER_LEN, CHUNK_LEN, HEADER_LEN, MAGIC, MAX_RECORD_LEN, Record, SLOTS, Slot,
    StopReason, VERSION, header,
};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Chunks mapped at a time.
const WINDOW: usize = 32;
const MADV_POPULATE_WRITE: usize = 23;

/// Where one sequence of records goes.
#[repr(C)]
pub(crate) struct Stream {
    /// Next byte.
    pub(crate) cur: *mut u8,
    /// Past this a new chunk is taken.
    pub(crate) limit: *mut u8,
    /// Slots of code addresses.
    pub(crate) slots: *mut Slot,
    /// Number of the stream.
    pub(crate) id: u32,
    /// Thread of the last `Switch` record.
    pub(crate) thread: u32,
    /// Place of the last `Seq` record.
    pub(crate) seq: u64,
}

/// The file behind all streams.
struct File {
    path: Vec<u8>,
    header: *mut u8,
    window: *mut u8,
    /// Chunks of the window that are taken.
    taken: usize,
    /// Bytes of the file that are reserved.
    len: usize,
    stopped: bool,
}

static LOCK: crate::lock::Lock = crate::lock::Lock::new();
static mut FILE: File = File {
    path: Vec::new(),
    header: null_mut(),
    window: null_mut(),
    taken: WINDOW,
    len: 0,
    stopped: false,
};
/// Places in a parallel log.
pub(crate) static SEQ: AtomicU64 = AtomicU64::new(1);
static STOP: AtomicU32 = AtomicU32::new(0);

fn file() -> *mut File {
    &raw mut FILE
}

/// What goes into the header.
pub(crate) struct HeaderFields {
    pub(crate) mode: u32,
    pub(crate) seed: u64,
    pub(crate) quantum: u64,
}

/// Creates the log. An error number when that is impossible; `EEXIST` when it is taken.
pub(crate) fn create(path: &[u8], fields: &HeaderFields) -> Result<(), i32> {
    let mut name = absolute(path);
    name.push(0);
    // SAFETY: called once, at the start, by the only thread.
    unsafe {
        let flags = (libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC) as usize;
        let at = libc::AT_FDCWD as isize as usize;
        let fd = call(libc::SYS_openat, [at, name.as_ptr() as usize, flags, 0o600, 0, 0]);
        if fd < 0 {
            return Err(-fd as i32);
        }
        let mapped = map_range(fd as usize, 0, HEADER_LEN);
        call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
        let page = mapped?;
        let put = |at: usize, bytes: &[u8]| {
            for (i, b) in bytes.iter().enumerate() {
                page.add(at + i).write_volatile(*b);
            }
        };
        let pid = call(libc::SYS_getpid, [0; 6]) as u32;
        put(header::VERSION, &VERSION.to_le_bytes());
        put(header::MODE, &fields.mode.to_le_bytes());
        put(header::SEED, &fields.seed.to_le_bytes());
        put(header::QUANTUM, &fields.quantum.to_le_bytes());
        put(header::PID, &pid.to_le_bytes());
        put(header::CHUNK_LEN, &(CHUNK_LEN as u32).to_le_bytes());
        put(header::MAGIC, &MAGIC);
        let file = &mut *file();
        file.path = name;
        file.header = page;
        file.len = HEADER_LEN;
    }
    Ok(())
}

fn absolute(path: &[u8]) -> Vec<u8> {
    let mut full = Vec::new();
    if path.first() != Some(&b'/') {
        let mut cwd = [0u8; 4096];
        let a = [cwd.as_mut_ptr() as usize, cwd.len(), 0, 0, 0, 0];
        // SAFETY: the buffer is writable; the count includes the final zero.
        let n = unsafe { call(libc::SYS_getcwd, a) };
        full.extend_from_slice(&cwd[..(n.max(1) - 1) as usize]);
        full.push(b'/');
    }
    full.extend_from_slice(path);
    full
}

/// Reserves and maps a part of the file.
unsafe fn map_range(fd: usize, at: usize, len: usize) -> Result<*mut u8, i32> {
    // SAFETY: a new shared mapping of our own file.
    unsafe {
        let r = call(libc::SYS_fallocate, [fd, 0, at, len, 0, 0]);
        if r == -(libc::EOPNOTSUPP as isize) {
            let r = call(libc::SYS_ftruncate, [fd, at + len, 0, 0, 0, 0]);
            if r < 0 {
                return Err(-r as i32);
            }
        } else if r < 0 {
            return Err(-r as i32);
        }
        let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let p = call(libc::SYS_mmap, [0, len, prot, libc::MAP_SHARED as usize, fd, at]);
        if p < 0 && p > -4096 { Err(-p as i32) } else { Ok(p as *mut u8) }
    }
}

/// A free chunk, or the error number.
unsafe fn take_chunk(file: &mut File) -> Result<*mut u8, i32> {
    // SAFETY: the file's lock is held; the window is mapped.
    unsafe {
        if file.taken == WINDOW {
            let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
            let at = libc::AT_FDCWD as isize as usize;
            let name = file.path.as_ptr() as usize;
            let fd = call(libc::SYS_openat, [at, name, flags, 0, 0, 0]);
            if fd < 0 {
                return Err(-fd as i32);
            }
            let mapped = map_range(fd as usize, file.len, WINDOW * CHUNK_LEN);
            call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
            // Older windows stay mapped: a stream may still be writing there.
            file.window = mapped?;
            file.len += WINDOW * CHUNK_LEN;
            file.taken = 0;
        }
        let chunk = file.window.add(file.taken * CHUNK_LEN);
        file.taken += 1;
        call(libc::SYS_madvise, [chunk as usize, CHUNK_LEN, MADV_POPULATE_WRITE, 0, 0, 0]);
        Ok(chunk)
    }
}

impl Stream {
    /// A stream without a chunk yet.
    pub(crate) fn new(id: u32) -> *mut Stream {
        let slots = arena::map(SLOTS * size_of::<Slot>()).cast();
        let stream = Box::new(Stream {
            cur: null_mut(),
            limit: null_mut(),
            slots,
            id,
            thread: if id == 0 { u32::MAX } else { id },
            seq: 0,
        });
        let stream = Box::into_raw(stream);
        // SAFETY: just made.
        unsafe { grow(stream) };
        stream
    }
}

/// Takes the next chunk for a stream; a scratch one when there is none.
#[cold]
#[inline(never)]
pub(crate) unsafe fn grow(stream: *mut Stream) {
    LOCK.with(|| {
        // SAFETY: the lock is held, the stream is the caller's.
        unsafe {
            let file = &mut *file();
            let old = if (*stream).cur.is_null() {
                null_mut()
            } else {
                ((*stream).limit as usize + 2 * MAX_RECORD_LEN - CHUNK_LEN) as *mut u8
            };
            let chunk = if file.stopped { Err(0) } else { take_chunk(file) };
            let (chunk, scratch) = match chunk {
                Ok(chunk) => (chunk, false),
                Err(errno) => {
                    let first = !file.stopped;
                    if first {
                        file.stopped = true;
                        stop(file, errno);
                    }
                    let lost = file.header.add(header::LOST).cast::<u64>();
                    lost.write(lost.read() + CHUNK_LEN as u64 / 8);
                    // A scratch chunk of its own, used again and again.
                    if first || old.is_null() || (*stream).id & SCRATCH == 0 {
                        (*stream).id |= SCRATCH;
                        (arena::map(CHUNK_LEN), true)
                    } else {
                        (old, true)
                    }
                }
            };
            if chunk.is_null() {
                say_stop("out of memory");
                sys::die_by(libc::SIGABRT);
            }
            (*stream).cur = chunk.add(CHUNK_HEADER_LEN);
            (*stream).limit = chunk.add(CHUNK_LEN - 2 * MAX_RECORD_LEN);
            if !scratch {
                chunk.cast::<u32>().write_volatile((*stream).id + 1);
                if !old.is_null() && (*stream).id == 0 {
                    release_behind(old);
                }
            }
        }
    });
}

/// Marks a stream that writes to scratch memory.
const SCRATCH: u32 = 1 << 31;

/// Unmaps what a serialized log has behind it: the pages stay with the file.
unsafe fn release_behind(old: *mut u8) {
    // SAFETY: the chunk is full and this stream was its only user.
    unsafe { arena::unmap(old, CHUNK_LEN) };
}

fn say_stop(why: &str) {
    sys::say!("recording stopped: {why}; the program goes on");
}

unsafe fn stop(file: &mut File, errno: i32) {
    let no_space = errno == libc::ENOSPC || errno == libc::EDQUOT || errno == libc::EFBIG;
    let reason = if no_space { StopReason::NoSpace } else { StopReason::Failed };
    // SAFETY: the header is mapped.
    unsafe {
        file.header.add(header::STOP_ERRNO).cast::<u32>().write_volatile(errno as u32);
        file.header.add(header::STOPPED).cast::<u32>().write_volatile(reason as u32);
    }
    STOP.store(1, Relaxed);
    say_stop(if no_space { "no space left for the log" } else { "the log cannot grow" });
}

/// Writes a record that is not compact.
pub(crate) unsafe fn put(stream: *mut Stream, record: &Record<'_>) {
    // SAFETY: a stream always has room for the longest record twice.
    unsafe {
        let buf = std::slice::from_raw_parts_mut((*stream).cur, MAX_RECORD_LEN);
        if let Some((tag, len)) = record.encode(buf) {
            (*stream).cur.write_volatile(tag);
            (*stream).cur = (*stream).cur.add(len);
        }
        if (*stream).cur > (*stream).limit {
            grow(stream);
        }
    }
}

/// Says whose records follow.
pub(crate) unsafe fn switch(stream: *mut Stream, thread: u32) {
    // SAFETY: the caller holds the baton.
    unsafe {
        if (*stream).thread != thread {
            (*stream).thread = thread;
            put(stream, &Record::Switch { thread });
        }
    }
}
