//! The loaded modules: for the log, for messages, and to compare code locations in a replay.

use crate::lock::Guarded;
use crate::request_patches;
use foretell_rt_format::Record;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Module {
    bias: usize,
    start: usize,
    end: usize,
    path: Vec<u8>,
    build_id: Vec<u8>,
    seen: bool,
    /// Executable segments of a recorded module.
    code: Vec<(usize, usize)>,
    /// Distance of a thread's block of thread-local variables below its thread pointer; 0 if the
    /// module has no such variables, or not at the same distance in all threads.
    thread_locals: usize,
}

impl Module {
    fn record(&self) -> Record<'_> {
        let (bias, start, end) = (self.bias as u64, self.start as u64, self.end as u64);
        Record::Module { bias, start, end, path: &self.path, build_id: &self.build_id }
    }
}

static MODULES: Guarded<Vec<Module>> = Guarded::new(Vec::new());
/// Number of modules that had been loaded at the last [`scan`].
static LOADED: AtomicU64 = AtomicU64::new(0);
static LIBC: AddressRange = AddressRange::empty();
static LIBSTDCXX: AddressRange = AddressRange::empty();

/// Code addresses of one library. Set before threads exist, or after `dlopen`.
struct AddressRange(AtomicUsize, AtomicUsize);

impl AddressRange {
    const fn empty() -> AddressRange {
        AddressRange(AtomicUsize::new(0), AtomicUsize::new(0))
    }

    fn set(&self, (start, end): (usize, usize)) {
        self.0.store(start, Relaxed);
        self.1.store(end, Relaxed);
    }

    fn get(&self) -> (usize, usize) {
        (self.0.load(Relaxed), self.1.load(Relaxed))
    }

    fn contains(&self, pc: usize) -> bool {
        let (start, end) = self.get();
        (start..end).contains(&pc)
    }
}

/// Whether modules were loaded since the last [`scan`].
pub(crate) fn more_loaded() -> bool {
    let mut loaded = 0u64;
    // SAFETY: `count` gets the number.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut loaded).cast()) };
    loaded != LOADED.load(Relaxed)
}

/// Stores the number of modules that were ever loaded, and ends the iteration.
unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker gives a valid description; `data` is the number.
    unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
    1
}

/// Passes the records of the modules that were loaded and unloaded since the last call to `put`,
/// and makes the client requests of recorded ones visible.
pub(crate) fn scan(put: &dyn Fn(&Record<'_>)) {
    let mut list = MODULES.lock();
    list.iter_mut().for_each(|m| m.seen = false);
    let before = list.len();
    // SAFETY: `visit` gets the list.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::from_mut(&mut *list).cast()) };
    for m in list.iter().filter(|m| !m.seen) {
        put(&Record::ModuleGone { start: m.start as u64 });
    }
    // Blocks of modules that are loaded later are allocated for each thread when it uses them.
    if before > 0 {
        list[before..].iter_mut().for_each(|m| m.thread_locals = 0);
    }
    for m in &list[before..] {
        put(&m.record());
        // SAFETY: the module has just been loaded.
        unsafe { request_patches::apply(&m.path, (m.start, m.end), &m.code) };
    }
    list.retain(|m| m.seen);
    let range = |name: &[u8]| {
        let found = list.iter().find(|m| m.path.windows(name.len()).any(|w| w == name));
        found.map_or((0, 0), |m| (m.start, m.end))
    };
    LIBC.set(range(b"/libc.so"));
    LIBSTDCXX.set(range(b"/libstdc++.so"));
}

/// Passes the records of all modules to `put`, for a log that begins later.
pub(crate) fn log_all(put: &dyn Fn(&Record<'_>)) {
    for m in MODULES.lock().iter() {
        put(&m.record());
    }
}

/// Passes the records of the calling thread's blocks of thread-local variables to `put`.
pub(crate) fn log_thread_locals(put: &dyn Fn(&Record<'_>)) {
    for m in MODULES.lock().iter().filter(|m| m.thread_locals > 0) {
        let start = thread_pointer().wrapping_sub(m.thread_locals) as u64;
        put(&Record::ThreadLocals { module: m.start as u64, start });
    }
}

/// Returns the calling thread's thread pointer, which glibc has as its `pthread_t`.
fn thread_pointer() -> usize {
    // SAFETY: has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Keeps the list of modules as it is until [`let_go`]: before a fork.
pub(crate) fn hold() {
    MODULES.hold();
}

/// Ends [`hold`], in the parent and in the child.
pub(crate) fn let_go() {
    MODULES.let_go();
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker gives valid program headers; `data` is the list.
    unsafe {
        let list = &mut *data.cast::<Vec<Module>>();
        let info = &*info;
        LOADED.store(info.dlpi_adds, Relaxed);
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let bias = info.dlpi_addr as usize;
        let loads = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let start = loads.clone().map(|h| bias.wrapping_add(h.p_vaddr as usize)).min();
        let end = loads.map(|h| bias.wrapping_add((h.p_vaddr + h.p_memsz) as usize)).max();
        let (Some(start), Some(end)) = (start, end) else { return 0 };
        let name = CStr::from_ptr(info.dlpi_name).to_bytes();
        if let Some(m) = list.iter_mut().find(|m| m.start == start && m.end == end) {
            m.seen = true;
            return 0;
        }
        let path = if name.is_empty() { executable() } else { name.to_vec() };
        let notes = headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
        let build_id = notes
            .filter_map(|h| {
                let at = bias.wrapping_add(h.p_vaddr as usize) as *const u8;
                build_id(std::slice::from_raw_parts(at, h.p_memsz as usize))
            })
            .next()
            .unwrap_or_default();
        let mut code = Vec::new();
        if name.is_empty() || calls_hooks(headers, bias, (start, end)) {
            let executable = |h: &&libc::Elf64_Phdr| {
                h.p_type == libc::PT_LOAD && h.p_flags & (libc::PF_X | libc::PF_W) == libc::PF_X
            };
            code.extend(headers.iter().filter(executable).map(|h| {
                let at = bias.wrapping_add(h.p_vaddr as usize);
                (at, at + h.p_filesz as usize)
            }));
        }
        let thread_locals = match info.dlpi_tls_data as usize {
            block if block > 0 && !code.is_empty() => thread_pointer().saturating_sub(block),
            _ => 0,
        };
        list.push(Module { bias, start, end, path, build_id, seen: true, code, thread_locals });
        0
    }
}

/// Whether the names that a library uses are among them some of ThreadSanitizer's hooks.
///
/// # Safety
/// The headers are those of a library that is mapped from `start` to `end`.
unsafe fn calls_hooks(
    headers: &[libc::Elf64_Phdr],
    bias: usize,
    (start, end): (usize, usize),
) -> bool {
    const PT_DYNAMIC: u32 = 2;
    const DT_NULL: usize = 0;
    const DT_STRTAB: usize = 5;
    const DT_STRSZ: usize = 10;
    let Some(dynamic) = headers.iter().find(|h| h.p_type == PT_DYNAMIC) else { return false };
    let at = bias.wrapping_add(dynamic.p_vaddr as usize) as *const [usize; 2];
    let entries = dynamic.p_memsz as usize / size_of::<[usize; 2]>();
    let (mut table, mut len) = (0, 0);
    for i in 0..entries {
        // SAFETY: the entry is in the segment, which is mapped.
        match unsafe { at.add(i).read() } {
            [DT_NULL, _] => break,
            // The dynamic linker has added the bias, unless the segment is not writable.
            [DT_STRTAB, value] => {
                table = if value < start { bias.wrapping_add(value) } else { value };
            }
            [DT_STRSZ, value] => len = value,
            _ => {}
        }
    }
    if table < start || table.checked_add(len).is_none_or(|last| last > end) {
        return false;
    }
    // SAFETY: the string table is in the mapped library.
    let names = unsafe { std::slice::from_raw_parts(table as *const u8, len) };
    names.windows(7).any(|name| name == b"__tsan_")
}

/// The build id in a note segment.
fn build_id(mut note: &[u8]) -> Option<Vec<u8>> {
    loop {
        let word = |at: usize| {
            let b = note.get(at..at + 4)?;
            Some(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
        };
        let (name, len, kind) = (word(0)?, word(4)?, word(8)?);
        let body = 12 + name.next_multiple_of(4);
        let content = note.get(body..body.checked_add(len)?)?;
        if kind == 3 && note.get(12..16) == Some(b"GNU\0") {
            return Some(content.to_vec());
        }
        note = note.get(body + len.next_multiple_of(4)..)?;
    }
}

/// Path of the program.
fn executable() -> Vec<u8> {
    let mut buf = vec![0u8; 4096];
    let name = c"/proc/self/exe".as_ptr() as usize;
    let at = libc::AT_FDCWD as isize as usize;
    let a = [at, name, buf.as_mut_ptr() as usize, buf.len(), 0, 0];
    // SAFETY: the buffer is writable.
    let n = unsafe { crate::sys::call(libc::SYS_readlinkat, a) };
    buf.truncate(n.max(0) as usize);
    buf
}

/// Whether a code address is in the C library.
pub(crate) fn in_libc(pc: usize) -> bool {
    LIBC.contains(pc)
}

/// Whether a code address is in the C++ library.
pub(crate) fn in_libstdcxx(pc: usize) -> bool {
    LIBSTDCXX.contains(pc)
}

/// Returns the code address that a call counts for: `pc`, or where the program called the C++
/// library when the call comes from inside the library (waits, creation and join of threads do).
pub(crate) fn caller(pc: usize) -> usize {
    if !LIBSTDCXX.contains(pc) {
        return pc;
    }
    let mut walk = Walk { library: LIBSTDCXX.get(), inside: false, found: pc };
    // SAFETY: the frames are this thread's own.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.found
}

struct Walk {
    library: (usize, usize),
    inside: bool,
    found: usize,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        f: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Stops at the first frame after those of the library.
unsafe extern "C" fn step(context: *mut c_void, data: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context and our own data.
    unsafe {
        let walk = &mut *data.cast::<Walk>();
        let ip = _Unwind_GetIP(context);
        if (walk.library.0..walk.library.1).contains(&ip) {
            walk.inside = true;
        } else if walk.inside {
            walk.found = ip;
            return 5; // any code but "go on" ends the walk
        }
        0
    }
}

/// Returns `module+0xoffset` of a code address, for messages.
pub(crate) fn location(pc: usize) -> String {
    let list = MODULES.lock();
    match list.iter().find(|m| (m.start..m.end).contains(&pc)) {
        Some(m) => {
            let path = String::from_utf8_lossy(&m.path);
            let name = path.rsplit('/').next().unwrap_or("?");
            format!("{name}+{:#x}", pc.wrapping_sub(m.bias))
        }
        None => format!("{pc:#x}"),
    }
}

/// Offset of a code address in the module with this path.
pub(crate) fn offset_in(path: &[u8], pc: usize) -> Option<u64> {
    let list = MODULES.lock();
    let m = list.iter().find(|m| (m.start..m.end).contains(&pc))?;
    (m.path == path).then(|| pc.wrapping_sub(m.bias) as u64)
}
