//! States of the C library that functions of the table `hidden/functions.txt` use.
//!
//! A state that the C library protects by no lock is a variable: two threads that use it at the
//! same time race, as the manual of the C library says. The environment is the word `environ`; the
//! other states have words here, whose names are shown to the user as `state of NAME`. A state that
//! the library does protect is a channel: a thread that uses it comes after the threads that have
//! changed it.

use foretell_rt_format::channel::Channel;
use std::ffi::c_char;
use std::mem::zeroed;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of bytes of a state's word.
pub(crate) const BYTES: usize = 8;

/// `states! { names }`: the words of the states, and a function for their addresses by number.
macro_rules! states {
    ($($name:ident)*) => {
        $(#[allow(non_upper_case_globals)]
        static $name: AtomicUsize = AtomicUsize::new(0);)*

        /// Returns the address of the word of a state; `foretell-build/src/link/effects.rs` has the
        /// numbers. The first state is the environment.
        pub(crate) fn address(state: usize) -> Option<usize> {
            let words = [$(&$name),*];
            match state.checked_sub(1) {
                None => Some((&raw const environ) as usize),
                Some(at) => words.get(at).map(|word| (&raw const **word) as usize),
            }
        }
    };
}

states! { timezone random strtok drand48 locale passwd group hosts hsearch getopt terminal }

unsafe extern "C" {
    static environ: *const *const c_char;
    fn asctime(tm: *const libc::tm) -> *mut c_char;
}

/// Returns the channel of a state that the library protects.
pub(crate) fn channel(state: usize) -> u64 {
    Channel::Library.number(&[state as u64])
}

/// Addresses of the static buffers of the C library; 0: not asked for yet.
static BUFFERS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Returns the address and the length of a static buffer, which the calling function is about to
/// write. The library is asked at the first use, by a call that writes the buffer, too.
pub(crate) fn buffer(number: usize) -> Option<(usize, usize)> {
    const DATE_BYTES: usize = 26;
    let known = BUFFERS.get(number)?;
    if known.load(Relaxed) == 0 {
        // SAFETY: all zeroes is a time; both functions return the address of their buffer.
        let at = unsafe {
            match number {
                0 => libc::gmtime(&0) as usize,
                _ => asctime(&zeroed()) as usize,
            }
        };
        known.store(at, Relaxed);
    }
    let len = if number == 0 { size_of::<libc::tm>() } else { DATE_BYTES };
    Some((known.load(Relaxed), len)).filter(|(at, _)| *at != 0)
}
