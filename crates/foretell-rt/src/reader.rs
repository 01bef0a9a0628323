//! The reader process: the `foretell` that reads the log of this run.
//!
//! A recorded program does not outlive its reader, since its log would go nowhere. The kernel ends
//! the program that the reader itself started (`PR_SET_PDEATHSIG`); the runtime ends a program that
//! a script started, and one that waits for room in the log.
//!
//! The reader is named by the path of one of its descriptors, `/proc/PID/fd/N`. The path vanishes
//! with the descriptor: when the process ends, though it may remain as a zombie.

use crate::sys::{self, call, say};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Path of the reader's descriptor, with a final zero; unset when no reader was seen.
static PATH: OnceLock<Vec<u8>> = OnceLock::new();
/// Set in a child of `fork`, which is not recorded.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// Sets the path of the reader's descriptor, if there is such a descriptor: a reader in another
/// container, or of another user, is not visible.
pub(crate) fn set(path: &[u8]) {
    let mut name = path.to_vec();
    name.push(0);
    if look(&name) == 0 {
        let _ = PATH.set(name);
    }
}

/// Returns 0 or the error number of looking for the descriptor.
fn look(name: &[u8]) -> i32 {
    let at = libc::AT_FDCWD as isize as usize;
    let mut link = [0u8; 16];
    let a = [at, name.as_ptr() as usize, link.as_mut_ptr() as usize, link.len(), 0, 0];
    // SAFETY: the name ends with a zero; the buffer is writable.
    let r = unsafe { call(libc::SYS_readlinkat, a) };
    if r < 0 { -r as i32 } else { 0 }
}

/// Whether the reader has ended.
pub(crate) fn is_gone() -> bool {
    let gone = |name: &Vec<u8>| matches!(look(name), libc::ENOENT | libc::ESRCH | libc::ENOTDIR);
    !RELEASED.load(Relaxed) && PATH.get().is_some_and(gone)
}

/// Whether a process between this one and the reader started the program, so that the kernel does
/// not end it with the reader.
pub(crate) fn is_distant() -> bool {
    let Some(path) = PATH.get() else { return false };
    // SAFETY: no arguments.
    let parent = unsafe { call(libc::SYS_getppid, [0; 6]) };
    !path.starts_with(format!("/proc/{parent}/").as_bytes())
}

/// Lets the calling process live on without the reader.
pub(crate) fn release() {
    RELEASED.store(true, Relaxed);
}

/// Ends the process if its reader has ended.
pub(crate) fn check() {
    if is_gone() {
        say!("the process that reads the log is gone: the program is ended");
        // SAFETY: plain system calls.
        unsafe {
            let pid = call(libc::SYS_getpid, [0; 6]) as usize;
            call(libc::SYS_kill, [pid, libc::SIGKILL as usize, 0, 0, 0, 0]);
        }
        sys::exit_group(128 + libc::SIGKILL);
    }
}
