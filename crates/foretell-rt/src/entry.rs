//! Entries of the program into the runtime.
//!
//! Every exported function is a naked stub that puts its return address (the code location of
//! the event) into the register after its arguments and jumps to the implementation.

/// `entries! { name => implementation, "register"; }`: exported stubs.
macro_rules! entries {
    ($($name:ident => $imp:path, $reg:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
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
        extern "C" fn $name() {
            std::arch::naked_asm!("jmp {f}", f = sym $imp)
        }
    )*};
}
pub(crate) use plain_entries;

/// `entries7! { name => implementation; }`: exported stubs of functions with six arguments. The
/// code location is the seventh, on the stack.
macro_rules! entries7 {
    ($($name:ident => $imp:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
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

/// Functions that check the size of a buffer: the plain function where the check holds, and the
/// library's own, which ends the program, where it does not.
macro_rules! checked {
    ($($imp:ident = $real:ident ( $($arg:ident),* ; $pc:ident ) if $fits:expr => $plain:expr;)*) => {$(
        #[allow(clippy::too_many_arguments)]
        extern "C-unwind" fn $imp($($arg: usize,)* $pc: usize) -> isize {
            // SAFETY: as the program's own call.
            unsafe { if $fits { $plain } else { real!($real($($arg: usize),*) -> isize) } }
        }
    )*};
}
pub(crate) use checked;

use crate::adoption;
use crate::init;
use crate::inside;
use crate::recorder::flush;
use crate::recording_state;
use crate::thread::{Baton, ThreadRef};
use crate::tls;

pub(crate) use crate::inside::{enter_started, leave};

/// Returns the calling thread, when this call is to be modelled: from here to [`leave`] it is
/// inside the runtime. `None`: the call is passed through. The first call starts the runtime.
#[inline]
pub(crate) fn enter() -> Option<Baton> {
    let t = enter_unflushed()?;
    flush(t);
    Some(t)
}

/// Returns the calling thread as [`enter`] does, but writes nothing to the log yet.
#[inline]
pub(crate) fn enter_unflushed() -> Option<Baton> {
    let t = match tls::current() {
        Some(t) => t,
        None => start_or_adopt()?,
    };
    inside::enter_thread(t)
}

/// Starts the runtime, or makes the calling thread, which the runtime did not see being created, a
/// recorded one.
#[cold]
#[inline(never)]
fn start_or_adopt() -> Option<ThreadRef> {
    if recording_state::is_new() {
        init::init();
        return tls::current();
    }
    adoption::adopt()
}

/// Returns the calling thread as [`enter`] does, but not in parallel recording: for calls that the
/// scheduler models and that need no record otherwise.
pub(crate) fn enter_modelled() -> Option<Baton> {
    let t = enter()?;
    if t.parallel() {
        leave(t);
        return None;
    }
    Some(t)
}
