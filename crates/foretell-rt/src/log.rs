//! The log: a file mapped window by window.
//!
//! Under the baton there is one stream and one writer at a time, so that a record is a few stores
//! behind a pointer. The state of a stream is itself in the file: whatever ends the program, the
//! reader knows how far the stream came. Where a reader follows the run, the file is a ring of
//! chunks: fresh memory for every chunk would cost more than filling it. Space is reserved before
//! it is mapped: a full disk shows as an error, not as SIGBUS; records then go to a scratch chunk
//! and are lost, and the header says so. The file is open only while a window is being mapped: the
//! program's descriptors stay as they would be.

use crate::arena;
use crate::lock::Guarded;
use crate::reader;
use crate::sys::{self, call};
use foretell_rt_format::{
    AccessCode, CHUNK_HEADER_LEN, CHUNK_LEN, CHUNK_USED, HEADER_LEN, LIVE, MAGIC, MAX_RECORD_LEN,
    MAX_SLOT_RECORDS, READY, Record, SLOTS, Slot, StopReason, VERSION, header, put_slot, slot_key,
    slot_of,
};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Chunks mapped at a time.
const WINDOW: usize = 32;
const MADV_POPULATE_WRITE: usize = 23;

/// A sequence of records. The first four fields are [`foretell_rt_format::Live`].
#[repr(C)]
pub(crate) struct Stream {
    /// Next byte.
    pub(crate) cur: *mut u8,
    /// The chunk that is being written, and its offset in the file.
    chunk: *mut u8,
    offset: u64,
    /// Address at which the value of the access under way goes; the scratch word: there is none.
    pub(crate) pending_value: *mut u8,
    /// The address of the access under way; that of the scratch word: there is none.
    pub(crate) pending_addr: usize,
    /// End of the chunk less the room of two records: past this a new chunk is taken.
    pub(crate) limit: *mut u8,
    /// The slots, which compact records refer to.
    pub(crate) slots: *mut Slot,
    /// The slots that are defined in this chunk.
    used_slots: *mut u16,
    used_count: usize,
    /// Number of the stream.
    pub(crate) id: u32,
    /// Thread of the last `Switch` record.
    pub(crate) thread: u32,
    /// Sequence number of the last `Seq` record.
    pub(crate) seq: u64,
}

const _: () = assert!(LIVE + size_of::<Stream>() <= CHUNK_HEADER_LEN);

/// The word that is read and written where no access is under way.
static mut SCRATCH_WORD: [u64; 2] = [0; 2];

/// The file behind all streams.
struct File {
    path: Vec<u8>,
    header: *mut u8,
    window: *mut u8,
    /// Number of chunks of the window.
    window_len: usize,
    /// Number of chunks of the window that are taken; of a ring, of all that ever were.
    taken: usize,
    /// Number of chunks of the ring; 0: the file grows.
    ring: usize,
    /// Bytes of the file that are reserved.
    len: usize,
    stopped: bool,
    /// Whether there is no file yet, see [`begin_in_memory`].
    in_memory: bool,
}

impl File {
    const fn new() -> File {
        File {
            path: Vec::new(),
            header: null_mut(),
            window: null_mut(),
            window_len: 0,
            taken: 0,
            ring: 0,
            len: 0,
            stopped: false,
            in_memory: false,
        }
    }
}

static FILE: Guarded<File> = Guarded::new(File::new());
/// Next sequence number of a parallel log.
pub(crate) static SEQ: AtomicU64 = AtomicU64::new(1);
static STOP: AtomicU32 = AtomicU32::new(0);

/// Fields of the header.
pub(crate) struct HeaderFields {
    pub(crate) mode: u32,
    pub(crate) seed: u64,
    pub(crate) quantum: u64,
}

/// Opens the log: a new file, or a ring that no process has claimed yet. Returns its header and the
/// chunks of a ring.
unsafe fn open(name: &[u8]) -> Result<(*mut u8, *mut u8), i32> {
    let at = libc::AT_FDCWD as isize as usize;
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
    let new = flags | (libc::O_CREAT | libc::O_EXCL) as usize;
    // SAFETY: plain system calls; the name ends with a zero.
    unsafe {
        let mut fd = call(libc::SYS_openat, [at, name.as_ptr() as usize, new, 0o600, 0, 0]);
        let there = fd == -(libc::EEXIST as isize);
        if there {
            fd = call(libc::SYS_openat, [at, name.as_ptr() as usize, flags, 0, 0, 0]);
        }
        if fd < 0 {
            return Err(-fd as i32);
        }
        let opened = if there {
            map_ring(fd as usize)
        } else {
            map_range(fd as usize, 0, HEADER_LEN).map(|page| (page, null_mut()))
        };
        call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
        opened
    }
}

/// Claims a ring and maps it.
unsafe fn map_ring(fd: usize) -> Result<(*mut u8, *mut u8), i32> {
    // SAFETY: plain system calls; what is read and written is within the file.
    unsafe {
        let end = call(libc::SYS_lseek, [fd, 0, libc::SEEK_END as usize, 0, 0, 0]);
        if end < (HEADER_LEN + CHUNK_LEN) as isize {
            return Err(libc::EEXIST);
        }
        let page = map_shared(fd, 0, HEADER_LEN)?;
        let ring = page.add(header::RING).cast::<u32>().read() as usize;
        let claimed = AtomicU32::from_ptr(page.add(header::CLAIMED).cast());
        if page.cast::<[u8; 8]>().read() != READY || claimed.swap(1, AcqRel) != 0 {
            return Err(libc::EEXIST);
        }
        let chunks = map_shared(fd, HEADER_LEN, ring * CHUNK_LEN)?;
        FILE.with(|file| (file.ring, file.taken) = (ring, 0));
        let a = [chunks as usize, ring * CHUNK_LEN, MADV_POPULATE_WRITE, 0, 0, 0];
        call(libc::SYS_madvise, a);
        Ok((page, chunks))
    }
}

/// Forgets the log of the parent in the child of a fork, and begins a new one, in memory: most
/// children do little before they end or run another program. See [`keep`].
pub(crate) fn begin_in_memory(path: &[u8], fields: &HeaderFields) {
    let page = arena::map(HEADER_LEN + CHUNK_LEN);
    if page.is_null() {
        out_of_memory();
    }
    SEQ.store(1, Relaxed);
    STOP.store(0, Relaxed);
    // SAFETY: the memory is new.
    unsafe { put_header(page, fields) };
    FILE.with(|file| {
        *file = File::new();
        file.path = absolute(path);
        file.path.push(0);
        file.header = page;
        file.window = page.wrapping_add(HEADER_LEN);
        file.window_len = 1;
        file.len = HEADER_LEN + CHUNK_LEN;
        file.in_memory = true;
    });
}

/// Makes a log that is in memory a file.
pub(crate) fn keep() {
    FILE.with(keep_file);
}

/// Makes a log that is in memory a file, in a signal handler: not if its thread is about to.
pub(crate) fn keep_in_handler() {
    if let Some(mut file) = FILE.try_lock() {
        keep_file(&mut file);
    }
}

/// Makes a log that is in memory a file. Returns whether the log is one now.
fn keep_file(file: &mut File) -> bool {
    if !std::mem::take(&mut file.in_memory) {
        return !file.stopped;
    }
    // SAFETY: the mapping of the new file replaces the memory, and has the same content.
    let kept = unsafe { move_to_file(file) };
    if let Err(errno) = kept {
        file.stopped = true;
        sys::say!("cannot create a log (error {errno}): a child of fork is not recorded");
    }
    kept.is_ok()
}

/// Replaces the memory of the log by a mapping of a new file.
unsafe fn move_to_file(file: &File) -> Result<(), i32> {
    let at = libc::AT_FDCWD as isize as usize;
    let flags = (libc::O_RDWR | libc::O_CLOEXEC | libc::O_CREAT | libc::O_EXCL) as usize;
    let fixed = (libc::MAP_SHARED | libc::MAP_FIXED) as usize;
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let (from, len) = (file.header as usize, file.len);
    // SAFETY: plain system calls on a file and on memory of the runtime.
    unsafe {
        let fd = call(libc::SYS_openat, [at, file.path.as_ptr() as usize, flags, 0o600, 0, 0]);
        if fd < 0 {
            return Err(-fd as i32);
        }
        let fd = fd as usize;
        let (mut done, mut errno) = (0, 0);
        while done < len && errno == 0 {
            match call(libc::SYS_pwrite64, [fd, from + done, len - done, done, 0, 0]) {
                n if n > 0 => done += n as usize,
                0 => errno = libc::EIO,
                e if e == -(libc::EINTR as isize) => {}
                e => errno = -e as i32,
            }
        }
        if errno == 0 {
            let p = call(libc::SYS_mmap, [from, len, prot, fixed, fd, 0]);
            errno = if p < 0 { -p as i32 } else { 0 };
        }
        call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]);
        if errno == 0 { Ok(()) } else { Err(errno) }
    }
}

/// Creates the log. Fails with an error number; with `EEXIST` when another process has claimed it.
pub(crate) fn create(path: &[u8], fields: &HeaderFields) -> Result<(), i32> {
    let mut name = absolute(path);
    name.push(0);
    // SAFETY: called at the start, by the only thread.
    unsafe {
        let (page, chunks) = open(&name)?;
        put_header(page, fields);
        let mut file = FILE.lock();
        file.path = name;
        file.header = page;
        file.window = chunks;
        file.len = HEADER_LEN;
    }
    Ok(())
}

/// Writes the fields of the header.
unsafe fn put_header(page: *mut u8, fields: &HeaderFields) {
    // SAFETY: promised by the caller: the page is the header's.
    unsafe {
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
    }
}

fn absolute(path: &[u8]) -> Vec<u8> {
    let mut full = Vec::new();
    if path.first() != Some(&b'/') {
        full.extend_from_slice(&sys::working_directory());
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
        map_shared(fd, at, len)
    }
}

unsafe fn map_shared(fd: usize, at: usize, len: usize) -> Result<*mut u8, i32> {
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping of our own file.
    let p = unsafe { call(libc::SYS_mmap, [0, len, prot, libc::MAP_SHARED as usize, fd, at]) };
    if p < 0 && p > -4096 {
        return Err(-p as i32);
    }
    arena::claim(p as *const u8, len);
    Ok(p as *mut u8)
}

/// Returns the next chunk of the ring, once its reader is done with it.
unsafe fn take_in_turn(file: &mut File) -> Result<(*mut u8, usize), i32> {
    // SAFETY: the header is mapped.
    unsafe {
        let consumed = AtomicU64::from_ptr(file.header.add(header::CONSUMED).cast());
        let mut looks = 0u32;
        let behind = |file: &File| file.taken as u64 - consumed.load(Acquire);
        // When the ring is full, some room is waited for: fewer pauses.
        let full = behind(file) >= file.ring as u64;
        let most = if full { file.ring as u64 * 3 / 4 } else { file.ring as u64 };
        while behind(file) >= most {
            let pause = [0u64, 250_000];
            call(libc::SYS_nanosleep, [pause.as_ptr() as usize, 0, 0, 0, 0, 0]);
            looks += 1;
            if looks.is_multiple_of(400) {
                reader::check();
            }
        }
        let at = file.taken % file.ring * CHUNK_LEN;
        file.taken += 1;
        Ok((file.window.add(at), HEADER_LEN + at))
    }
}

/// Returns a free chunk and its offset in the file, or the error number.
unsafe fn take_chunk(file: &mut File) -> Result<(*mut u8, usize), i32> {
    // SAFETY: the file's lock is held; the window is mapped.
    unsafe {
        if file.ring > 0 {
            return take_in_turn(file);
        }
        if file.taken == file.window_len {
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
            if file.len == HEADER_LEN {
                // A fault brings in one page, and not those after it.
                let a = [file.window as usize, WINDOW * CHUNK_LEN, libc::MADV_RANDOM as usize];
                call(libc::SYS_madvise, [a[0], a[1], a[2], 0, 0, 0]);
            }
            file.len += WINDOW * CHUNK_LEN;
            file.window_len = WINDOW;
            file.taken = 0;
        }
        let chunk = file.window.add(file.taken * CHUNK_LEN);
        let offset = file.len - (file.window_len - file.taken) * CHUNK_LEN;
        file.taken += 1;
        // Most programs that are run hundreds of times write a few pages: those of the first window
        // come as they are needed.
        if !file.in_memory && offset >= HEADER_LEN + WINDOW * CHUNK_LEN {
            call(libc::SYS_madvise, [chunk as usize, CHUNK_LEN, MADV_POPULATE_WRITE, 0, 0, 0]);
        }
        Ok((chunk, offset))
    }
}

impl Stream {
    /// Returns a new stream, in its first chunk.
    pub(crate) fn new(id: u32) -> *mut Stream {
        let slots: *mut Slot = arena::map(SLOTS * size_of::<Slot>()).cast();
        let used_slots: *mut u16 = arena::map((MAX_SLOT_RECORDS + 1) * 2).cast();
        if slots.is_null() || used_slots.is_null() {
            out_of_memory();
        }
        let (chunk, offset, scratch) = next_chunk(null_mut());
        let id = if scratch { id | SCRATCH } else { id };
        // SAFETY: the chunk is fresh, and its header has room for the stream.
        unsafe {
            let live = if id == 0 { file_header().add(header::LIVE) } else { chunk.add(LIVE) };
            let stream = live.cast::<Stream>();
            stream.write(Stream {
                cur: chunk.add(CHUNK_HEADER_LEN),
                chunk,
                offset: offset as u64,
                pending_value: scratch_word(),
                pending_addr: scratch_word() as usize,
                limit: chunk.add(CHUNK_LEN - 2 * MAX_RECORD_LEN),
                slots,
                used_slots,
                used_count: 0,
                id,
                thread: if id == 0 { u32::MAX } else { id },
                seq: 0,
            });
            chunk.cast::<u32>().write_volatile((id & !SCRATCH) + 1);
            stream
        }
    }

    /// Returns the index of the slot for a compact record, and defines the slot if it is not.
    pub(crate) unsafe fn slot(stream: *mut Stream, pc: u64, code: AccessCode, addr: u64) -> usize {
        let (key, high) = (slot_key(pc, code), addr >> 32);
        let index = slot_of(pc, code, high);
        // SAFETY: the caller's stream; there is room for the record and in the list.
        unsafe {
            let s = &mut *stream;
            let slot = s.slots.add(index);
            if (*slot).key != key || (*slot).high != high {
                if s.cur > s.limit {
                    grow(stream);
                }
                s.cur = put_slot(s.cur, slot, index, key, high);
                s.used_slots.add(s.used_count).write(index as u16);
                s.used_count += 1;
            }
        }
        index
    }

    /// Notes that no access is under way.
    #[inline(always)]
    pub(crate) unsafe fn settle(stream: *mut Stream) {
        // SAFETY: the caller's stream.
        unsafe {
            (*stream).pending_addr = scratch_word() as usize;
            (*stream).pending_value = scratch_word();
        }
    }
}

/// Returns the address of [`SCRATCH_WORD`].
#[inline(always)]
pub(crate) fn scratch_word() -> *mut u8 {
    (&raw mut SCRATCH_WORD).cast()
}

/// Returns the next chunk of a stream, its offset in the file, and whether it is a scratch chunk,
/// because the file cannot grow: `old` again, if that is one.
fn next_chunk(old: *mut u8) -> (*mut u8, usize, bool) {
    // SAFETY: the header is mapped.
    FILE.with(|file| unsafe {
        let full = file.taken == file.window_len;
        let stops = file.stopped || (full && !keep_file(file));
        let chunk = if stops { Err(0) } else { take_chunk(file) };
        let errno = match chunk {
            Ok((chunk, offset)) => return (chunk, offset, false),
            Err(errno) => errno,
        };
        if !file.stopped {
            file.stopped = true;
            stop(file, errno);
        }
        let lost = file.header.add(header::LOST).cast::<u64>();
        lost.write(lost.read() + CHUNK_LEN as u64 / 8);
        let chunk = if old.is_null() { arena::map(CHUNK_LEN) } else { old };
        if chunk.is_null() {
            out_of_memory();
        }
        (chunk, 0, true)
    })
}

/// Takes the next chunk for a stream; a scratch one when there is none.
#[cold]
#[inline(never)]
pub(crate) unsafe fn grow(stream: *mut Stream) {
    // SAFETY: the stream is the caller's, and no access is under way.
    unsafe {
        let s = &mut *stream;
        let old = s.chunk;
        let was_scratch = s.id & SCRATCH != 0;
        if !was_scratch {
            let used = s.cur as usize - old as usize;
            old.add(CHUNK_USED).cast::<u32>().write_volatile(used as u32);
            let produced = file_header().add(header::PRODUCED).cast();
            AtomicU64::from_ptr(produced).fetch_add(1, Release);
        }
        let (chunk, offset, scratch) = next_chunk(if was_scratch { old } else { null_mut() });
        for i in 0..s.used_count {
            (*s.slots.add(usize::from(*s.used_slots.add(i)))).key = 0;
        }
        s.used_count = 0;
        if scratch {
            s.id |= SCRATCH;
        } else {
            chunk.cast::<u32>().write_volatile(s.id + 1);
            chunk.add(CHUNK_USED).cast::<u32>().write_volatile(0);
        }
        s.chunk = chunk;
        s.offset = offset as u64;
        s.cur = chunk.add(CHUNK_HEADER_LEN);
        s.limit = chunk.add(CHUNK_LEN - 2 * MAX_RECORD_LEN);
        if !scratch && s.id == 0 && FILE.lock().ring == 0 {
            release_behind(old);
        }
    }
}

/// The page that the header of the log is mapped at.
fn file_header() -> *mut u8 {
    FILE.lock().header
}

/// Marks a stream that writes to scratch memory.
const SCRATCH: u32 = 1 << 31;

/// Unmaps a full chunk of a serialized log: its pages stay with the file.
unsafe fn release_behind(old: *mut u8) {
    // SAFETY: the chunk is full and this stream was its only user.
    unsafe { arena::unmap(old, CHUNK_LEN) };
}

fn out_of_memory() -> ! {
    say_stop("out of memory");
    sys::die_by(libc::SIGABRT)
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
            (*stream).cur.write(tag);
            (*stream).cur = (*stream).cur.add(len);
        }
        if (*stream).cur > (*stream).limit {
            grow(stream);
        }
    }
}

/// Writes which thread's records follow, if the last record was another thread's.
pub(crate) unsafe fn switch(stream: *mut Stream, thread: u32) {
    // SAFETY: the caller holds the baton.
    unsafe {
        if (*stream).thread != thread {
            (*stream).thread = thread;
            put(stream, &Record::Switch { thread });
        }
    }
}
