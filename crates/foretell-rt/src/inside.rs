//! Entering and leaving the runtime, once it has started.
//!
//! A thread that is inside the runtime ignores hooks and keeps signals for later. [`crate::entry`]
//! adds the start of the runtime for the functions that the program calls.

use crate::recorder::flush;
use crate::signal;
use crate::thread::{Baton, ThreadRef};
use crate::tls;

/// Marks the calling thread, which is `t`, as inside the runtime until [`leave`], after the signals
/// that were kept for it. `None`: it is inside already.
#[inline]
pub(crate) fn enter_thread(t: ThreadRef) -> Option<Baton> {
    if t.hot(|hot| hot.busy != 0) {
        return None;
    }
    // SAFETY: a recorded thread that is not inside the runtime runs the program's code, and so has
    // the baton.
    let t = unsafe { Baton::assume(t) };
    if t.signalled() {
        signal::deliver(t);
    }
    t.set_inside(true);
    Some(t)
}

/// Returns the calling thread, inside the runtime until [`leave`], if the runtime has started: for
/// functions that are called very early, and for the runtime's own handlers.
#[inline]
pub(crate) fn enter_started() -> Option<Baton> {
    let t = enter_thread(tls::current()?)?;
    flush(t);
    Some(t)
}

/// Returns to the program.
#[inline(always)]
pub(crate) fn leave(t: Baton) {
    t.set_inside(false);
}
