//! Memory given out and taken back, and library functions that read and write the program's
//! memory.

use crate::access::range;
use crate::entry::{enter, enter_late, entries, leave};
use crate::real::real;
use crate::sched::step;
use crate::thread::{self, Thread};
use foretell_rt_format::AccessKind::{Read, Write};
use foretell_rt_format::{Kind, MAX_RANGE_DATA, Record};
use std::arch::asm;
use std::ffi::{c_int, c_void};

type P = *mut c_void;

// The C library's own allocator: reachable before symbols can be looked up.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> P;
    fn __libc_calloc(n: usize, size: usize) -> P;
    fn __libc_realloc(p: P, size: usize) -> P;
    fn __libc_memalign(align: usize, size: usize) -> P;
    fn __libc_free(p: P);
    fn malloc_usable_size(p: P) -> usize;
}

unsafe fn given(p: P, size: usize, pc: usize) -> P {
    // SAFETY: enter gives the calling thread.
    unsafe {
        if !p.is_null() {
            let t = enter_late();
            if !t.is_null() {
                put_alloc(t, p, size, pc);
                leave(t);
            }
        }
        p
    }
}

unsafe fn put_alloc(t: *mut Thread, p: P, size: usize, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let (pc, addr, size) = (pc as u64, p as u64, size as u64);
        thread::put(t, &Record::Alloc { pc, addr, size });
    }
}

/// Before memory is given back: its last access is completed, its end is recorded.
unsafe fn taken(p: P, pc: usize) {
    // SAFETY: enter gives the calling thread.
    unsafe {
        if p.is_null() {
            return;
        }
        let t = enter_late();
        if t.is_null() {
            return;
        }
        // The C library frees what it likes when it likes: no step of the program's own.
        let counted = !crate::modules::in_libc(pc);
        if counted {
            step(t, Kind::Free, pc);
        }
        let size = malloc_usable_size(p) as u64;
        let (pc, addr) = (pc as u64, p as u64);
        thread::put(t, &Record::Free { counted, pc, addr, size });
        leave(t);
    }
}

unsafe extern "C" fn malloc_fn(size: usize, pc: usize) -> P {
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

unsafe extern "C" fn free_fn(p: P, pc: usize) {
    // SAFETY: as the program's own call.
    unsafe {
        taken(p, pc);
        __libc_free(p);
    }
}

/// C++ `new`: the real one only when there is no memory (it throws).
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

// ---- memory and string functions

/// Copies without calling anything: this library's own code may end up here.
unsafe fn copy(to: *mut u8, from: *const u8, n: usize) {
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
        let t = enter_late();
        if !t.is_null() {
            if n > 0 {
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
        let t = enter_late();
        if !t.is_null() {
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

/// Length of a string, at most `max`; never a call.
unsafe fn length(s: usize, max: usize) -> usize {
    // SAFETY: promised by the caller.
    unsafe {
        let mut n = 0;
        while n < max && (s as *const u8).add(n).read_volatile() != 0 {
            n += 1;
        }
        n
    }
}

/// Bytes of a string with its zero, if that is within `max`.
unsafe fn whole(s: usize, max: usize) -> usize {
    // SAFETY: promised by the caller.
    unsafe { (length(s, max) + 1).min(max) }
}

const ALL: usize = usize::MAX / 2;

/// Functions of the library, performed by it, with what they read and write: before and after.
macro_rules! library {
    ($($imp:ident = $name:ident ( $($arg:ident),* ) -> $r:ty {
       $(reads $from:expr, $len:expr;)* $(writes $to:expr, $wlen:expr;)?
    })*) => {$(
        #[allow(unused_variables)]
        unsafe extern "C" fn $imp($($arg: usize,)* pc: usize) -> $r {
            // SAFETY: as the program's own call.
            unsafe {
                let t = enter_late();
                if !t.is_null() {
                    $(range(t, Read, $from, $len, pc, None);)*
                }
                let r = real!($name($($arg: usize),*) -> $r);
                if !t.is_null() {
                    $(range(t, Write, $to, $wlen, pc, None);)?
                    leave(t);
                }
                r
            }
        }
    )*};
}

library! {
    memcmp_fn = memcmp(a, b, n) -> c_int {
        reads a, n;
        reads b, n;
    }
    memchr_fn = memchr(a, byte, n) -> usize {
        reads a, n;
    }
    strlen_fn = strlen(s) -> usize {
        reads s, whole(s, ALL);
    }
    strnlen_fn = strnlen(s, n) -> usize {
        reads s, whole(s, n);
    }
    strcmp_fn = strcmp(a, b) -> c_int {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strncmp_fn = strncmp(a, b, n) -> c_int {
        reads a, whole(a, n);
        reads b, whole(b, n);
    }
    strcasecmp_fn = strcasecmp(a, b) -> c_int {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strncasecmp_fn = strncasecmp(a, b, n) -> c_int {
        reads a, whole(a, n);
        reads b, whole(b, n);
    }
    strchr_fn = strchr(s, byte) -> usize {
        reads s, whole(s, ALL);
    }
    strrchr_fn = strrchr(s, byte) -> usize {
        reads s, whole(s, ALL);
    }
    strstr_fn = strstr(a, b) -> usize {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strcpy_fn = strcpy(to, from) -> usize {
        reads from, whole(from, ALL);
        writes to, whole(to, ALL);
    }
    stpcpy_fn = stpcpy(to, from) -> usize {
        reads from, whole(from, ALL);
        writes to, whole(to, ALL);
    }
    strncpy_fn = strncpy(to, from, n) -> usize {
        reads from, whole(from, n);
        writes to, n;
    }
    strcat_fn = strcat(to, from) -> usize {
        reads to, whole(to, ALL);
        reads from, whole(from, ALL);
        writes to, whole(to, ALL);
    }
    strncat_fn = strncat(to, from, n) -> usize {
        reads to, whole(to, ALL);
        reads from, whole(from, n);
        writes to, whole(to, ALL);
    }
}

/// A copy of (the first `n` bytes of) a string in fresh memory.
unsafe fn duplicate(s: usize, n: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe {
        let len = length(s, n);
        let p = __libc_malloc(len + 1);
        let t = if p.is_null() { std::ptr::null_mut() } else { enter() };
        if p.is_null() {
            return p;
        }
        copy(p.cast(), s as *const u8, len);
        p.cast::<u8>().add(len).write(0);
        if !t.is_null() {
            put_alloc(t, p, len + 1, pc);
            range(t, Read, s, whole(s, n), pc, None);
            range(t, Write, p as usize, len + 1, pc, None);
            leave(t);
        }
        p
    }
}

unsafe extern "C" fn strdup_fn(s: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { duplicate(s, ALL, pc) }
}

unsafe extern "C" fn strndup_fn(s: usize, n: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe { duplicate(s, n, pc) }
}

entries! {
    malloc => malloc_fn, "rsi";
    calloc => calloc_fn, "rdx";
    realloc => realloc_fn, "rdx";
    reallocarray => reallocarray_fn, "rcx";
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
    memcmp => memcmp_fn, "rcx";
    memchr => memchr_fn, "rcx";
    strlen => strlen_fn, "rsi";
    strnlen => strnlen_fn, "rdx";
    strcmp => strcmp_fn, "rdx";
    strncmp => strncmp_fn, "rcx";
    strcasecmp => strcasecmp_fn, "rdx";
    strncasecmp => strncasecmp_fn, "rcx";
    strchr => strchr_fn, "rdx";
    strrchr => strrchr_fn, "rdx";
    strstr => strstr_fn, "rdx";
    strcpy => strcpy_fn, "rdx";
    stpcpy => stpcpy_fn, "rdx";
    strncpy => strncpy_fn, "rcx";
    strcat => strcat_fn, "rdx";
    strncat => strncat_fn, "rcx";
    strdup => strdup_fn, "rsi";
    strndup => strndup_fn, "rdx";
}
