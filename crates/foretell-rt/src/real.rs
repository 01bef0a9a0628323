//! The functions behind the interposed ones.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Address of the next definition of a symbol, found once.
pub(crate) fn find(cell: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cell.load(Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the names end with a zero.
    let p = unsafe {
        // The unversioned lookup would find the oldest condition variables.
        let cond = name.to_bytes().starts_with(b"pthread_cond_");
        let versioned = if cond {
            libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr())
        } else {
            std::ptr::null_mut()
        };
        if versioned.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { versioned }
    };
    if p.is_null() {
        let name = name.to_string_lossy();
        crate::sys::say!(
            "the C library has no `{name}`: a program linked with -static cannot be recorded"
        );
        crate::sys::die_by(libc::SIGABRT);
    }
    cell.store(p, Relaxed);
    p
}

/// Calls the real function: `real!(close(fd: c_int) -> c_int)`. Used with the arguments of the
/// interposed call, or with the runtime's own.
macro_rules! real {
    ($name:ident ( $($arg:ident : $t:ty),* ) $(-> $r:ty)?) => {{
        static CELL: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
            std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
        let p = $crate::real::find(&CELL, NAME);
        // SAFETY: the function has this signature, and its arguments are the program's own: the
        // program's call of the interposed function has promised what the real one demands.
        #[allow(unused_unsafe)]
        unsafe {
            let f: unsafe extern "C-unwind" fn($($t),*) $(-> $r)? = std::mem::transmute(p);
            f($($arg),*)
        }
    }};
}
pub(crate) use real;
