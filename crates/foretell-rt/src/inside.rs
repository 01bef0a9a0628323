//! Entering and leaving the runtime, once it has started.
//!
//! A thread that is inside the runtime ignores hooks and keeps signals for later. [`crate::entry`]
//! adds the start of the runtime for the functions that the program calls.

use crate::recorder::flush;
use crate::sched::unmodelled;
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
    if t.needs_attention() {
        return Some(attend(t));
    }
    // SAFETY: a recorded thread that is not inside the runtime, and from which the watchdog has not
    // taken the baton, runs the program's code, and so has it.
    let t = unsafe { Baton::assume(t) };
    t.set_inside(true);
    Some(t)
}

/// Takes the baton back if the watchdog has taken it, and handles the signals that were kept.
/// Returns with the thread inside the runtime.
#[cold]
#[inline(never)]
fn attend(t: ThreadRef) -> Baton {
    let (t, _) = unmodelled::hold(t);
    if t.signalled() {
        signal::deliver(t);
    }
    t.set_inside(true);
    t
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
