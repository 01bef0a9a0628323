//! Calls of functions that are not recorded.
//!
//! The linker's wrapper (`foretell-build/src/link`) gives every such function a stub, which jumps
//! here with the address of the function's descriptor in `r11`. The hook notes the call, as one
//! step, before the function runs, and then jumps to the function: registers, stack and return
//! address are those of the caller.
//!
//! Output of the program to its own standard output and error is not noted: it gives data away and
//! brings none back. That holds while the descriptor is the one that the program was started with,
//! not a pipe or a file that the program has put in its place.

use crate::arena;
use crate::call_effects::{ModelledCall, begin_call, is_readable};
use crate::calls::settled;
use crate::channels;
use crate::entry::{enter, leave};
use crate::lock::Guarded;
use crate::log;
use crate::recorder;
use crate::sched::step;
use crate::sync::library_lock;
use crate::sys;
use crate::thread::Baton;
use crate::tls;
use crate::unexplored;
use foretell_rt_format::{HiddenState, Kind, MAX_HIDDEN_ARGUMENTS, Record};
use std::ffi::{CStr, c_char, c_int, c_long};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::*};

/// Descriptor of a function, in the stubs' object; see `foretell-build/src/link/stubs.rs`.
#[repr(C)]
pub(crate) struct Descriptor {
    /// Used by the hook's last jump.
    pub(crate) function: usize,
    name: *const c_char,
    library: *const c_char,
    streams: *const Streams,
    /// State in the lowest byte, rule for output in the next one, then the arguments that count;
    /// operation of a lock function.
    pub(crate) class: u32,
    /// Numbers of the function in the log, by state; 0: none yet.
    numbers: [AtomicU32; 3],
    /// Further functions of a lock, or effects of a modelled function; other descriptors may end
    /// before this field.
    pub(crate) others: [usize; 2],
}

/// Addresses of the standard streams of libstdc++.
#[repr(C)]
struct Streams {
    output: usize,
    errors: [usize; 2],
}

/// Types of the standard streams' buffers, with and without `sync_with_stdio`, and of a string's.
const STANDARD_BUFFERS: [&CStr; 2] = [
    c"N9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE",
    c"N9__gnu_cxx13stdio_filebufIcSt11char_traitsIcEEE",
];
const FILE_BUFFER: &CStr = c"St13basic_filebufIcSt11char_traitsIcEE";
const STRING_BUFFER: &CStr = c"NSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE";

/// Rule for output of `syscall`.
const SYSTEM_CALL: u8 = 0x40;

/// Registers that vector arguments may be in: 0 `xmm`, 1 `ymm`, 2 `zmm`.
static VECTORS: AtomicU8 = AtomicU8::new(0);
/// Last number given to a function.
static LAST: Guarded<u32> = Guarded::new(0);
/// Numbers up to this one are not known to the log: it began when they had been given.
static UNKNOWN: AtomicU32 = AtomicU32::new(0);
/// Device and inode of the descriptors 1 and 2 at the start; all ones: closed.
static STANDARD: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(u64::MAX) }; 2] }; 2];

/// Notes the processor's registers, and the files behind the standard output and error.
pub(crate) fn start() {
    let vectors = if is_x86_feature_detected!("avx512f") {
        2
    } else {
        u8::from(is_x86_feature_detected!("avx"))
    };
    VECTORS.store(vectors, Relaxed);
    for (fd, place) in (1..).zip(&STANDARD) {
        if let Some(status) = channels::status(fd) {
            place[0].store(status.st_dev, Relaxed);
            place[1].store(status.st_ino, Relaxed);
        }
    }
}

/// Forgets the functions that the log knows: a new one begins.
pub(crate) fn reset() {
    UNKNOWN.store(*LAST.lock(), Relaxed);
}

/// Whether a descriptor is the program's standard output or error, as it was at the start.
pub(crate) fn is_standard(fd: c_int) -> bool {
    if fd != 1 && fd != 2 {
        return false;
    }
    let Some(status) = channels::status(fd) else { return false };
    let same = |place: &[AtomicU64; 2]| {
        place[0].load(Relaxed) == status.st_dev && place[1].load(Relaxed) == status.st_ino
    };
    // The program may have made one of them a duplicate of the other.
    STANDARD.iter().any(same)
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Whether a `FILE *` is the standard output or error.
pub(crate) unsafe fn is_standard_file(file: *mut libc::FILE) -> bool {
    // SAFETY: one of the two streams of the C library.
    unsafe { (file == stdout || file == stderr) && is_standard(libc::fileno(file)) }
}

/// Returns the state that a call uses; `None` for output that is not noted.
///
/// # Safety
/// The descriptor and the arguments are those of a call.
unsafe fn state(
    t: Baton,
    descriptor: &Descriptor,
    arguments: &[usize; 6],
    pc: usize,
) -> Option<HiddenState> {
    let [state, rule, ..] = descriptor.class.to_le_bytes();
    // SAFETY: the arguments are as the rule says.
    let standard = unsafe {
        match rule {
            0 => false,
            0x60 => {
                library_lock::makes_tasks();
                false
            }
            SYSTEM_CALL => passes_nothing_on(arguments[0] as c_long, arguments[1] as c_int),
            _ => {
                let call = ModelledCall { t, pc, arguments };
                return stream_state(descriptor, arguments[0], &call);
            }
        }
    };
    if standard { None } else { HiddenState::from_u8(state) }
}

/// Whether a system call is modelled, or passes nothing on that another thread could see; `fd` is
/// its first argument.
fn passes_nothing_on(number: c_long, fd: c_int) -> bool {
    match number {
        libc::SYS_write | libc::SYS_writev => is_standard(fd),
        libc::SYS_futex
        | libc::SYS_gettid
        | libc::SYS_getpid
        | libc::SYS_getppid
        | libc::SYS_getcpu
        | libc::SYS_sched_yield
        | libc::SYS_sched_getaffinity
        | libc::SYS_clock_gettime
        | libc::SYS_gettimeofday
        | libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | libc::SYS_membarrier
        | libc::SYS_rseq
        | libc::SYS_getrandom => true,
        _ => false,
    }
}

/// Returns the state that an operation on a C++ stream uses.
///
/// # Safety
/// `stream` is the address of a stream of libstdc++.
unsafe fn stream_state(
    descriptor: &Descriptor,
    stream: usize,
    call: &ModelledCall<'_>,
) -> Option<HiddenState> {
    /// Place of the offset of the virtual base in a virtual table, of the buffer in the base, and of
    /// the `FILE *` in the buffer of a file.
    const BASE: usize = 24;
    const BUFFER: usize = 0xe8;
    const FILE: usize = 104;
    // SAFETY: the layout of streams and of types is part of the library's binary interface.
    unsafe {
        let name = CStr::from_ptr(descriptor.name).to_bytes();
        let Some(streams) = descriptor.streams.as_ref() else { return Some(HiddenState::Kernel) };
        let word = |at: usize| (at as *const usize).read();
        let base = stream.wrapping_add(word(word(stream).wrapping_sub(BASE)));
        let buffer = word(base.wrapping_add(BUFFER));
        let Some(kind) = type_name(buffer) else { return Some(HiddenState::Kernel) };
        if kind == STRING_BUFFER {
            return Some(HiddenState::Arguments);
        }
        if kind == FILE_BUFFER {
            let file = word(buffer.wrapping_add(FILE)) as *mut libc::FILE;
            if file.is_null() {
                return Some(HiddenState::Arguments);
            }
            let fd = libc::fileno(file);
            if settled(fd) && !is_readable(fd) && is_output(name) {
                call.prints_object(name);
                call.writes_stream(stream, fd);
                return None;
            }
            if settled(fd) {
                call.uses_file(fd, true, is_readable(fd));
                return Some(HiddenState::Arguments);
            }
        }
        if STANDARD_BUFFERS.contains(&kind) {
            let output = stream == streams.output && is_standard(1);
            if output || streams.errors.contains(&stream) && is_standard(2) {
                unexplored::writes_output(call.t.index());
                if is_output(name) {
                    call.prints_object(name);
                }
                return None;
            }
        }
        Some(HiddenState::Kernel)
    }
}

/// Whether a function prints to the stream that is its first argument, and does nothing else.
fn is_output(name: &[u8]) -> bool {
    const OUTPUT: [&[u8]; 8] = [
        b"_ZNSols",
        b"_ZStls",
        b"_ZSt16__ostream_insert",
        b"_ZSt4endl",
        b"_ZSt5flush",
        b"_ZNSo3put",
        b"_ZNSo5write",
        b"_ZNSo9_M_insert",
    ];
    OUTPUT.iter().any(|start| name.starts_with(start))
}

/// Returns the mangled name of an object's class, if the class has type information.
///
/// # Safety
/// `object` is null, or the address of an object with virtual functions.
unsafe fn type_name(object: usize) -> Option<&'static CStr> {
    /// Place of the type before the first virtual function, and of the name in a type.
    const TYPE: usize = 8;
    const NAME: usize = 8;
    // SAFETY: promised by the caller.
    unsafe {
        let word = |at: usize| (at as *const usize).read();
        let class = (object != 0).then(|| word(word(object).wrapping_sub(TYPE)))?;
        (class != 0).then(|| CStr::from_ptr(word(class.wrapping_add(NAME)) as *const c_char))
    }
}

/// Lowest address that the program can have.
pub(crate) const FIRST_ADDRESS: usize = 1 << 16;

/// Those of the arguments that may be addresses of the program. `given` has a bit for each argument
/// that counts; 0: all. Registers without an argument hold anything, as a word of the runtime.
fn addresses(arguments: &[usize; 6], given: u8) -> Vec<u64> {
    const END: usize = 1 << 47;
    let mut out = Vec::with_capacity(MAX_HIDDEN_ARGUMENTS);
    let given = (0..).zip(arguments).filter(|(n, _)| given == 0 || given >> n & 1 != 0);
    let may_be = given.map(|(_, argument)| argument).filter(|a| {
        (FIRST_ADDRESS..END).contains(*a)
            && !arena::is_own(**a)
            && **a != log::scratch_word() as usize
    });
    for &argument in may_be.take(MAX_HIDDEN_ARGUMENTS) {
        if !out.contains(&(argument as u64)) {
            out.push(argument as u64);
        }
    }
    out
}

/// Notes a call.
unsafe extern "C-unwind" fn note(descriptor: &Descriptor, arguments: &[usize; 6], pc: usize) {
    let inside = tls::current().is_none_or(|t| t.hot(|hot| hot.busy != 0));
    if inside {
        return;
    }
    let errno = sys::errno();
    // Inside the runtime from here on: its own copies and comparisons are no accesses of the
    // program, and they depend on what the registers of missing arguments happen to hold.
    let Some(t) = enter() else { return };
    crate::exit::before_call(t, pc);
    begin_call();
    if descriptor.class.to_le_bytes()[1] == MODELLED {
        let call = ModelledCall { t, pc, arguments };
        // SAFETY: the caller's registers, as the function reads them.
        if let Some(rest) = unsafe { call.record(descriptor.others) } {
            let objects = match rest.object {
                None => addresses(arguments, 0),
                Some(object) => vec![object as u64],
            };
            step(t, Kind::HiddenCall, pc);
            // SAFETY: the stub's descriptor.
            unsafe { record(t, descriptor, rest.state, objects, pc) };
        }
        leave(t);
        return sys::set_errno(errno);
    }
    // SAFETY: the stub's descriptor and the caller's registers.
    if let Some(state) = unsafe { state(t, descriptor, arguments, pc) } {
        // A step even without an object, so that a replay counts the same steps.
        step(t, Kind::HiddenCall, pc);
        let given = descriptor.class.to_le_bytes()[2];
        // SAFETY: as above.
        unsafe { record(t, descriptor, state, addresses(arguments, given), pc) };
    }
    leave(t);
    sys::set_errno(errno);
}

/// Rule of functions whose effects are recorded.
const MODELLED: u8 = 0x50;

/// Returns the length of a text with a number, as far as a function reads it.
pub(crate) unsafe fn number_length(text: usize) -> usize {
    /// No text of a number that means anything is longer.
    const LONGEST: usize = 4096;
    // SAFETY: promised by the caller; what follows a byte of a number is read, too.
    let byte = |n: usize| unsafe { ((text + n) as *const u8).read_volatile() };
    let space = (0..LONGEST).find(|n| !matches!(byte(*n), b' ' | 9..=13)).unwrap_or(LONGEST);
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"+-.,'()_".contains(&b);
    let end = (space..LONGEST).find(|n| !is_part(byte(*n))).unwrap_or(LONGEST);
    end + 1
}

/// Writes the record of a call, and before the first one that of the function.
unsafe fn record(
    t: Baton,
    descriptor: &Descriptor,
    state: HiddenState,
    arguments: Vec<u64>,
    pc: usize,
) {
    let number = &descriptor.numbers[state as usize];
    let call = |function: u32| {
        let (pc, function) = (pc as u64, u64::from(function));
        recorder::put(t, &Record::HiddenCall { pc, function, arguments });
    };
    let known = number.load(Acquire);
    if known > UNKNOWN.load(Relaxed) {
        return call(known);
    }
    let mut last = LAST.lock();
    let known = number.load(Relaxed);
    if known > UNKNOWN.load(Relaxed) {
        drop(last);
        return call(known);
    }
    *last += 1;
    // SAFETY: the names of the stubs' object.
    let [name, library] =
        unsafe { [descriptor.name, descriptor.library].map(|s| CStr::from_ptr(s).to_bytes()) };
    recorder::put(t, &Record::HiddenFunction { function: u64::from(*last), state, name, library });
    call(*last);
    // Other threads use the number only now: in parallel recording their records come later.
    number.store(*last, Release);
}

/// Entry from the stubs.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __foretell_hidden_call() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        // A thread that is not recorded goes on at once.
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "mov rax, qword ptr [rip + __foretell_tls@GOTTPOFF]",
        "cmp qword ptr fs:[rax], 0",
        "pop rax",
        ".cfi_adjust_cfa_offset -8",
        "je 9f",
        ".cfi_remember_state",
        "sub rsp, 584",
        ".cfi_adjust_cfa_offset 584",
        "mov qword ptr [rsp], rdi",
        "mov qword ptr [rsp + 8], rsi",
        "mov qword ptr [rsp + 16], rdx",
        "mov qword ptr [rsp + 24], rcx",
        "mov qword ptr [rsp + 32], r8",
        "mov qword ptr [rsp + 40], r9",
        "mov qword ptr [rsp + 48], rax",
        "mov qword ptr [rsp + 56], r10",
        "mov qword ptr [rsp + 64], r11",
        "cmp byte ptr [rip + {vectors}], 1",
        "je 3f",
        "ja 4f",
        "movups xmmword ptr [rsp + 72], xmm0",
        "movups xmmword ptr [rsp + 136], xmm1",
        "movups xmmword ptr [rsp + 200], xmm2",
        "movups xmmword ptr [rsp + 264], xmm3",
        "movups xmmword ptr [rsp + 328], xmm4",
        "movups xmmword ptr [rsp + 392], xmm5",
        "movups xmmword ptr [rsp + 456], xmm6",
        "movups xmmword ptr [rsp + 520], xmm7",
        "jmp 5f",
        "3:",
        "vmovups ymmword ptr [rsp + 72], ymm0",
        "vmovups ymmword ptr [rsp + 136], ymm1",
        "vmovups ymmword ptr [rsp + 200], ymm2",
        "vmovups ymmword ptr [rsp + 264], ymm3",
        "vmovups ymmword ptr [rsp + 328], ymm4",
        "vmovups ymmword ptr [rsp + 392], ymm5",
        "vmovups ymmword ptr [rsp + 456], ymm6",
        "vmovups ymmword ptr [rsp + 520], ymm7",
        "jmp 5f",
        "4:",
        "vmovups zmmword ptr [rsp + 72], zmm0",
        "vmovups zmmword ptr [rsp + 136], zmm1",
        "vmovups zmmword ptr [rsp + 200], zmm2",
        "vmovups zmmword ptr [rsp + 264], zmm3",
        "vmovups zmmword ptr [rsp + 328], zmm4",
        "vmovups zmmword ptr [rsp + 392], zmm5",
        "vmovups zmmword ptr [rsp + 456], zmm6",
        "vmovups zmmword ptr [rsp + 520], zmm7",
        "5:",
        "mov rdi, r11",
        "mov rsi, rsp",
        "mov rdx, qword ptr [rsp + 584]",
        "call {note}",
        "cmp byte ptr [rip + {vectors}], 1",
        "je 6f",
        "ja 7f",
        "movups xmm0, xmmword ptr [rsp + 72]",
        "movups xmm1, xmmword ptr [rsp + 136]",
        "movups xmm2, xmmword ptr [rsp + 200]",
        "movups xmm3, xmmword ptr [rsp + 264]",
        "movups xmm4, xmmword ptr [rsp + 328]",
        "movups xmm5, xmmword ptr [rsp + 392]",
        "movups xmm6, xmmword ptr [rsp + 456]",
        "movups xmm7, xmmword ptr [rsp + 520]",
        "jmp 8f",
        "6:",
        "vmovups ymm0, ymmword ptr [rsp + 72]",
        "vmovups ymm1, ymmword ptr [rsp + 136]",
        "vmovups ymm2, ymmword ptr [rsp + 200]",
        "vmovups ymm3, ymmword ptr [rsp + 264]",
        "vmovups ymm4, ymmword ptr [rsp + 328]",
        "vmovups ymm5, ymmword ptr [rsp + 392]",
        "vmovups ymm6, ymmword ptr [rsp + 456]",
        "vmovups ymm7, ymmword ptr [rsp + 520]",
        "jmp 8f",
        "7:",
        "vmovups zmm0, zmmword ptr [rsp + 72]",
        "vmovups zmm1, zmmword ptr [rsp + 136]",
        "vmovups zmm2, zmmword ptr [rsp + 200]",
        "vmovups zmm3, zmmword ptr [rsp + 264]",
        "vmovups zmm4, zmmword ptr [rsp + 328]",
        "vmovups zmm5, zmmword ptr [rsp + 392]",
        "vmovups zmm6, zmmword ptr [rsp + 456]",
        "vmovups zmm7, zmmword ptr [rsp + 520]",
        "8:",
        "mov rdi, qword ptr [rsp]",
        "mov rsi, qword ptr [rsp + 8]",
        "mov rdx, qword ptr [rsp + 16]",
        "mov rcx, qword ptr [rsp + 24]",
        "mov r8, qword ptr [rsp + 32]",
        "mov r9, qword ptr [rsp + 40]",
        "mov rax, qword ptr [rsp + 48]",
        "mov r10, qword ptr [rsp + 56]",
        "mov r11, qword ptr [rsp + 64]",
        "add rsp, 584",
        ".cfi_restore_state",
        "9:",
        "jmp qword ptr [r11]",
        ".cfi_endproc",
        vectors = sym VECTORS,
        note = sym note,
    )
}
