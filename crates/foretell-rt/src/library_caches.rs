//! Caches of the C++ library that the first use fills.
//!
//! A stream converts characters by tables, which libstdc++ fills without a lock when the first
//! character is printed or the first regular expression is read. Which thread does so depends on
//! the schedule: a replay would have other steps than the recorded run, and the library's own benign
//! race would be reported. The tables of the "C" locale are therefore filled before `main`.
//!
//! The library also initialises its locales a second time, to no effect, when it first finds that
//! the program has several threads. That would order the first users, and is done here, too.

use crate::entry::{enter, leave};
use std::ffi::{CStr, c_void};

type Function = unsafe extern "C-unwind" fn(*const c_void) -> *const c_void;

/// Returns a function of a library, if the program has that library.
fn find(name: &CStr) -> Option<Function> {
    // SAFETY: the name ends with a zero; the functions below have this signature, in which an
    // unused argument or result does no harm.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        std::mem::transmute::<*mut c_void, Option<Function>>(found)
    }
}

/// Returns the address of a byte of a library.
fn find_byte(name: &CStr) -> Option<*mut u8> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found.cast())
}

/// Fills the tables; `main` has not begun, and all libraries are initialised.
pub(crate) extern "C-unwind" fn fill() {
    let Some(t) = enter() else { return };
    let locale = find(c"_ZNSt6locale7classicEv");
    let facet = find(c"_ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale");
    let tables = [c"_ZNKSt5ctypeIcE13_M_widen_initEv", c"_ZNKSt5ctypeIcE14_M_narrow_initEv"];
    if let Some((locale, facet)) = locale.zip(facet) {
        if let Some(single) = find_byte(c"__libc_single_threaded") {
            // SAFETY: a byte of the C library, which is for ever 0 once there are two threads. It
            // stays 0: counts of references are atomic from the start.
            unsafe { single.write(0) };
        }
        // SAFETY: `std::locale::classic`.
        unsafe { locale(std::ptr::null()) };
        for fill in tables.into_iter().filter_map(find) {
            // SAFETY: `std::locale::classic`, `std::use_facet<std::ctype<char>>`, and two members
            // of the facet.
            unsafe { fill(facet(locale(std::ptr::null()))) };
        }
    }
    leave(t);
}
