//! Waits that may end in a way which no record of another thread stands for: a time limit, a try, a
//! cancellation, a signal handler.
//!
//! A thread that waits so is not stuck where the trace says that nothing wakes it. The log has a
//! record of it, and the trace of such a run does not say which threads have ended.

use crate::sched::HANDLERS;
use crate::sync::put;
use crate::thread::Baton;
use foretell_rt_format::SyncKind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the log has the record.
static NOTED: AtomicBool = AtomicBool::new(false);

/// Takes note of such a wait, once.
pub(crate) fn note(t: Baton) {
    if !NOTED.swap(true, Relaxed) {
        put(t, SyncKind::OtherWake, 0, 0, 0);
    }
}

/// Takes note of signal handlers of the program, if it has any: they may run at any time.
pub(crate) fn note_handlers(t: Baton) {
    if HANDLERS.load(Relaxed) {
        note(t);
    }
}
