//! Functions that allocate, free, copy and fill memory.

use crate::access::range;
use crate::call_effects::is_stream_buffer;
use crate::entry::{checked, enter_started, entries, leave};
use crate::real::real;
use crate::recorder;
use crate::sched::access_step;
use crate::thread::Baton;
use foretell_rt_format::AccessKind::{Read, Write};
use foretell_rt_format::{Kind, MAX_RANGE_DATA, Record};
use std::arch::asm;
use std::ffi::{c_int, c_void};

pub(crate) type P = *mut c_void;

// The C library's own allocator: reachable before symbols can be looked up.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> P;
    fn __libc_calloc(n: usize, size: usize) -> P;
    fn __libc_realloc(p: P, size: usize) -> P;
    fn __libc_memalign(align: usize, size: usize) -> P;
    fn __libc_valloc(size: usize) -> P;
    fn __libc_pvalloc(size: usize) -> P;
    fn __libc_free(p: P);
    fn malloc_usable_size(p: P) -> usize;
}

/// Returns memory of the library's own allocator, without a record.
pub(crate) unsafe fn fresh(size: usize) -> P {
    // SAFETY: as malloc.
    unsafe { __libc_malloc(size) }
}

/// Records memory that the library's allocator has just given. Returns it.
fn given(p: P, size: usize, pc: usize) -> P {
    if !p.is_null()
        && let Some(t) = enter_started()
    {
        put_alloc(t, p, size, pc);
        leave(t);
    }
    p
}

/// Records that memory was allocated.
pub(crate) fn put_alloc(t: Baton, p: P, size: usize, pc: usize) {
    let (pc, addr, size) = (pc as u64, p as u64, size as u64);
    recorder::put(t, &Record::Alloc { pc, addr, size });
}

/// Completes the last access to memory that is about to be freed, and records its end.
///
/// # Safety
/// `p` is null or allocated.
unsafe fn taken(p: P, pc: usize) {
    if p.is_null() {
        return;
    }
    let Some(t) = enter_started() else { return };
    // The C library frees its own memory at any time: that is no step of the program.
    let counted = !crate::modules::in_libc(pc);
    if counted {
        // SAFETY: promised by the caller.
        let size = unsafe { malloc_usable_size(p) };
        access_step(t, Kind::Free, pc, (p as usize, size));
    }
    // SAFETY: promised by the caller.
    let size = unsafe { malloc_usable_size(p) } as u64;
    let (pc, addr) = (pc as u64, p as u64);
    recorder::put(t, &Record::Free { counted, pc, addr, size });
    leave(t);
}

pub(crate) unsafe extern "C" fn malloc_fn(size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { given(__libc_malloc(size), size, pc) }
}

unsafe extern "C" fn calloc_fn(n: usize, size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { given(__libc_calloc(n, size), n.wrapping_mul(size), pc) }
}

unsafe extern "C" fn realloc_fn(p: P, size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe {
        taken(p, pc);
        given(__libc_realloc(p, size), size, pc)
    }
}

unsafe extern "C" fn reallocarray_fn(p: P, n: usize, size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe {
        match n.checked_mul(size) {
            Some(bytes) => realloc_fn(p, bytes, pc),
            None => {
                *libc::__errno_location() = libc::ENOMEM;
                std::ptr::null_mut()
            }
        }
    }
}

unsafe extern "C" fn memalign_fn(align: usize, size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { given(__libc_memalign(align, size), size, pc) }
}

unsafe extern "C" fn valloc_fn(size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { given(__libc_valloc(size), size, pc) }
}

unsafe extern "C" fn pvalloc_fn(size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { given(__libc_pvalloc(size), size, pc) }
}

unsafe extern "C" fn posix_memalign_fn(out: *mut P, align: usize, size: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        if !align.is_power_of_two() || !align.is_multiple_of(size_of::<P>()) {
            return libc::EINVAL;
        }
        let p = __libc_memalign(align, size);
        if p.is_null() {
            return libc::ENOMEM;
        }
        *out = given(p, size, pc);
        0
    }
}

pub(crate) unsafe extern "C" fn free_fn(p: P, pc: usize) {
    // SAFETY: as the program's own call.
    unsafe {
        taken(p, pc);
        __libc_free(p);
    }
}

/// C++ `new`: calls the real one only when there is no memory (it throws).
unsafe extern "C-unwind" fn new_fn(size: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe {
        let p = __libc_malloc(size.max(1));
        if p.is_null() {
            return real!(_Znwm(size: usize) -> P);
        }
        given(p, size, pc)
    }
}

/// Copies without calling anything: this library's own code may end up here.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= n {
            asm!("rep movsb", inout("rcx") n => _, inout("rdi") to => _, inout("rsi") from => _,
                 options(nostack, preserves_flags));
        } else {
            asm!("std", "rep movsb", "cld", inout("rcx") n => _,
                 inout("rdi") to.wrapping_add(n).wrapping_sub(1) => _,
                 inout("rsi") from.wrapping_add(n).wrapping_sub(1) => _, options(nostack));
        }
    }
}

unsafe extern "C" fn memmove_fn(to: *mut u8, from: *const u8, n: usize, pc: usize) -> *mut u8 {
    // SAFETY: as the program's own call.
    unsafe {
        if let Some(t) = enter_started() {
            if n > 0 && !is_stream_buffer(t, pc) {
                range(t, Read, from as usize, n, pc, None);
                range(t, Write, to as usize, n, pc, Some(from as usize));
            }
            leave(t);
        }
        copy(to, from, n);
        to
    }
}

unsafe extern "C" fn memset_fn(to: *mut u8, byte: c_int, n: usize, pc: usize) -> *mut u8 {
    // SAFETY: as the program's own call.
    unsafe {
        if let Some(t) = enter_started() {
            if n > 0 {
                let content = [byte as u8; MAX_RANGE_DATA];
                range(t, Write, to as usize, n, pc, Some(content.as_ptr() as usize));
            }
            leave(t);
        }
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") to => _, in("al") byte as u8,
             options(nostack, preserves_flags));
        to
    }
}

checked! {
    memcpy_chk = __memcpy_chk(to, from, n, room; pc) if n <= room
        => memmove_fn(to as *mut u8, from as *const u8, n, pc) as isize;
    memmove_chk = __memmove_chk(to, from, n, room; pc) if n <= room
        => memmove_fn(to as *mut u8, from as *const u8, n, pc) as isize;
    memset_chk = __memset_chk(to, byte, n, room; pc) if n <= room
        => memset_fn(to as *mut u8, byte as c_int, n, pc) as isize;
}

entries! {
    malloc => malloc_fn, "rsi";
    calloc => calloc_fn, "rdx";
    realloc => realloc_fn, "rdx";
    reallocarray => reallocarray_fn, "rcx";
    valloc => valloc_fn, "rsi";
    pvalloc => pvalloc_fn, "rsi";
    memalign => memalign_fn, "rdx";
    aligned_alloc => memalign_fn, "rdx";
    posix_memalign => posix_memalign_fn, "rcx";
    free => free_fn, "rsi";
    _Znwm => new_fn, "rsi";
    _Znam => new_fn, "rsi";
    _ZdlPv => free_fn, "rsi";
    _ZdaPv => free_fn, "rsi";
    _ZdlPvm => free_fn, "rsi";
    _ZdaPvm => free_fn, "rsi";
    memcpy => memmove_fn, "rcx";
    memmove => memmove_fn, "rcx";
    memset => memset_fn, "rcx";
    __tsan_memcpy => memmove_fn, "rcx";
    __tsan_memmove => memmove_fn, "rcx";
    __tsan_memset => memset_fn, "rcx";
    __memcpy_chk => memcpy_chk, "r8";
    __memmove_chk => memmove_chk, "r8";
    __memset_chk => memset_chk, "r8";
}
