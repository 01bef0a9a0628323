//! Forks of the recorded program: the child is not recorded.

use crate::recording_state;
use crate::sys;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Whether the program has forked before: the first child has said that it is not recorded.
static FORKED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __register_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        library: *mut c_void,
    ) -> c_int;
}

/// Watches for forks, also for those that the C library makes by itself (`daemon`, `forkpty`).
pub(crate) fn watch() {
    // SAFETY: the handlers live as long as the process.
    unsafe { __register_atfork(None, Some(on_parent), Some(on_child), std::ptr::null_mut()) };
}

unsafe extern "C" fn on_parent() {
    in_parent();
}

unsafe extern "C" fn on_child() {
    in_child();
}

/// Notes in the parent that the program has forked.
pub(crate) fn in_parent() {
    FORKED.store(true, Relaxed);
}

/// Turns the hooks of a child off. The first child reports that it is not recorded.
pub(crate) fn in_child() {
    if !recording_state::off() || FORKED.load(Relaxed) {
        return;
    }
    // Without an allocation: another thread may have been in the middle of one.
    // SAFETY: asks for a number.
    let mut pid = unsafe { sys::call(libc::SYS_getpid, [0; 6]) } as u64;
    let mut line = *b"foretell: process           , a child of fork, is not recorded\n";
    let mut at = 28;
    while pid > 0 && at > 18 {
        at -= 1;
        line[at] = b'0' + (pid % 10) as u8;
        pid /= 10;
    }
    line.copy_within(at.., 18);
    sys::write_all(2, &line[..line.len() - (at - 18)]);
}
