//! How the program gets into the runtime.
//!
//! Every exported function is a naked stub that puts its return address (the code location of
//! the event) into the register after its arguments and jumps to the implementation.

/// `entries! { name => implementation, "register"; }`: exported stubs.
macro_rules! entries {
    ($($name:ident => $imp:path, $reg:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $reg, ", qword ptr [rsp]"),
                "jmp {f}",
                f = sym $imp,
            )
        }
    )*};
}
pub(crate) use entries;

/// `plain_entries! { name => implementation; }`: exported stubs without a code location.
macro_rules! plain_entries {
    ($($name:ident => $imp:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!("jmp {f}", f = sym $imp)
        }
    )*};
}
pub(crate) use plain_entries;

/// `entries7! { name => implementation; }`: exported stubs of functions with six arguments. The code location
/// is the seventh, on the stack.
macro_rules! entries7 {
    ($($name:ident => $imp:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                ".cfi_startproc",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "call {f}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                f = sym $imp,
            )
        }
    )*};
}
pub(crate) use entries7;

/// Functions with a check of a buffer's size: they are the plain ones where it holds, and the
/// library's own, which end the program, where it does not.
macro_rules! checked {
    ($($imp:ident = $real:ident ( $($arg:ident),* ; $pc:ident ) if $fits:expr => $plain:expr;)*) => {$(
        #[allow(clippy::too_many_arguments)]
        unsafe extern "C-unwind" fn $imp($($arg: usize,)* $pc: usize) -> isize {
            // SAFETY: as the program's own call.
            unsafe { if $fits { $plain } else { real!($real($($arg: usize),*) -> isize) } }
        }
    )*};
}
pub(crate) use checked;

use crate::recorder::flush;
use crate::thread::Thread;
use std::ptr::null_mut;

/// The calling thread, when this call is to be modelled: from here to [`leave`] it is inside the
/// runtime. Null: pass the call through.
#[inline]
pub(crate) unsafe fn enter() -> *mut Thread {
    let mut t = crate::tls::get();
    if t.is_null() {
        if !crate::init::needed() {
            return null_mut();
        }
        crate::init::init();
        t = crate::tls::get();
        if t.is_null() {
            return null_mut();
        }
    }
    // SAFETY: `t` is the calling thread.
    unsafe {
        if (*t).hot.busy != 0 {
            return null_mut();
        }
        if (*t).hot.signalled != 0 {
            crate::signal::deliver(t);
        }
        (*t).hot.busy = 1;
        flush(t);
    }
    t
}

/// As [`enter`], but does not start the runtime: for functions that are called very early.
#[inline]
pub(crate) unsafe fn enter_late() -> *mut Thread {
    let t = crate::tls::get();
    // SAFETY: `t` is the calling thread.
    if t.is_null() || unsafe { (*t).hot.busy } != 0 { null_mut() } else { unsafe { enter() } }
}

/// Back to the program.
#[inline(always)]
pub(crate) unsafe fn leave(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe { std::ptr::write_volatile(&raw mut (*t).hot.busy, 0) };
}
