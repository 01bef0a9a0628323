//! The pointer to the calling thread's state, in a thread-local word of the initial-exec model:
//! one load in the static archive and in the shared library alike.

use crate::thread::{Thread, ThreadRef};
use std::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".globl __foretell_tls",
    ".hidden __foretell_tls",
    ".type __foretell_tls,@object",
    ".size __foretell_tls,8",
    "__foretell_tls:",
    ".zero 8",
    ".globl __foretell_unrecorded",
    ".hidden __foretell_unrecorded",
    ".type __foretell_unrecorded,@object",
    ".size __foretell_unrecorded,8",
    "__foretell_unrecorded:",
    ".zero 8",
    ".popsection",
);

/// The calling thread's state; null: not (or no longer) recorded.
#[inline(always)]
pub(crate) fn get() -> *mut Thread {
    let p: *mut Thread;
    // SAFETY: reads this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + __foretell_tls@GOTTPOFF]",
             "mov {0}, qword ptr fs:[{0}]",
             out(reg) p, options(nostack, readonly, preserves_flags));
    }
    p
}

/// Returns the calling thread, if it is recorded.
#[inline(always)]
pub(crate) fn current() -> Option<ThreadRef> {
    // SAFETY: the word holds a thread or null.
    unsafe { ThreadRef::from_ptr(get()) }
}

/// Sets the calling thread's state.
pub(crate) fn set(p: *mut Thread) {
    // SAFETY: writes this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + __foretell_tls@GOTTPOFF]",
             "mov qword ptr fs:[{0}], {1}",
             out(reg) _, in(reg) p, options(nostack, preserves_flags));
    }
}

/// Marks the calling thread as one that is not (or no longer) recorded: it is never adopted.
pub(crate) fn set_unrecorded() {
    set(std::ptr::null_mut());
    // SAFETY: writes this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + __foretell_unrecorded@GOTTPOFF]",
             "mov qword ptr fs:[{0}], 1",
             out(reg) _, options(nostack, preserves_flags));
    }
}

/// Whether the calling thread is marked as not recorded.
pub(crate) fn is_unrecorded() -> bool {
    let mark: u64;
    // SAFETY: reads this thread's own word.
    unsafe {
        asm!("mov {0}, qword ptr [rip + __foretell_unrecorded@GOTTPOFF]",
             "mov {0}, qword ptr fs:[{0}]",
             out(reg) mark, options(nostack, readonly, preserves_flags));
    }
    mark != 0
}
