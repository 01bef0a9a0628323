//! Library functions that read and write the program's memory.

use crate::access::range;
use crate::entry::{checked, enter, enter_started, entries, leave};
use crate::memory::{P, copy, fresh, put_alloc};
use crate::real::real;
use foretell_rt_format::AccessKind::{Read, Write};
use std::ffi::c_int;

/// Returns the length of a string, at most `max`, without a call.
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

/// Returns the number of bytes of a string with its final zero, if that is within `max`.
pub(crate) unsafe fn whole(s: usize, max: usize) -> usize {
    // SAFETY: promised by the caller.
    unsafe { (length(s, max) + 1).min(max) }
}

const ALL: usize = usize::MAX / 2;

/// Functions that the library performs, with the ranges that they read before and write after.
macro_rules! library {
    ($($imp:ident = $name:ident ( $($arg:ident),* ) -> $r:ty {
       $(reads $from:expr, $len:expr;)* $(writes $to:expr, $wlen:expr;)?
    })*) => {$(
        #[allow(unused_variables)]
        unsafe extern "C" fn $imp($($arg: usize,)* pc: usize) -> $r {
            // SAFETY: as the program's own call.
            unsafe {
                let t = enter_started();
                if let Some(t) = t {
                    $(range(t, Read, $from, $len, pc, None);)*
                }
                let r = real!($name($($arg: usize),*) -> $r);
                if let Some(t) = t {
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
    memrchr_fn = memrchr(a, byte, n) -> usize {
        reads a, n;
    }
    memmem_fn = memmem(a, n, b, m) -> usize {
        reads a, n;
        reads b, m;
    }
    mempcpy_fn = mempcpy(to, from, n) -> usize {
        reads from, n;
        writes to, n;
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
    strcasestr_fn = strcasestr(a, b) -> usize {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strchrnul_fn = strchrnul(s, byte) -> usize {
        reads s, whole(s, ALL);
    }
    strspn_fn = strspn(a, b) -> usize {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strcspn_fn = strcspn(a, b) -> usize {
        reads a, whole(a, ALL);
        reads b, whole(b, ALL);
    }
    strpbrk_fn = strpbrk(a, b) -> usize {
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
    stpncpy_fn = stpncpy(to, from, n) -> usize {
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

checked! {
    mempcpy_chk = __mempcpy_chk(to, from, n, room; pc) if n <= room
        => mempcpy_fn(to, from, n, pc) as isize;
    strcpy_chk = __strcpy_chk(to, from, room; pc) if length(from, room) < room
        => strcpy_fn(to, from, pc) as isize;
    stpcpy_chk = __stpcpy_chk(to, from, room; pc) if length(from, room) < room
        => stpcpy_fn(to, from, pc) as isize;
    strncpy_chk = __strncpy_chk(to, from, n, room; pc) if n <= room
        => strncpy_fn(to, from, n, pc) as isize;
    strcat_chk = __strcat_chk(to, from, room; pc)
        if length(to, room) + length(from, room) < room => strcat_fn(to, from, pc) as isize;
    strncat_chk = __strncat_chk(to, from, n, room; pc)
        if length(to, room) + length(from, n.min(room)) < room
        => strncat_fn(to, from, n, pc) as isize;
}

/// Returns a copy of (the first `n` bytes of) a string in new memory.
unsafe fn duplicate(s: usize, n: usize, pc: usize) -> P {
    // SAFETY: as the program's own call.
    unsafe {
        let len = length(s, n);
        let p = fresh(len + 1);
        if p.is_null() {
            return p;
        }
        let t = enter();
        copy(p.cast(), s as *const u8, len);
        p.cast::<u8>().add(len).write(0);
        if let Some(t) = t {
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
    memrchr => memrchr_fn, "rcx";
    memmem => memmem_fn, "r8";
    mempcpy => mempcpy_fn, "rcx";
    stpncpy => stpncpy_fn, "rcx";
    strcasestr => strcasestr_fn, "rdx";
    strchrnul => strchrnul_fn, "rdx";
    strspn => strspn_fn, "rdx";
    strcspn => strcspn_fn, "rdx";
    strpbrk => strpbrk_fn, "rdx";
    __mempcpy_chk => mempcpy_chk, "r8";
    __strcpy_chk => strcpy_chk, "rcx";
    __stpcpy_chk => stpcpy_chk, "rcx";
    __strncpy_chk => strncpy_chk, "r8";
    __strcat_chk => strcat_chk, "rcx";
    __strncat_chk => strncat_chk, "r8";
}
