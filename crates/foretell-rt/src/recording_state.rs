//! Whether this process is recorded.

use std::sync::atomic::{AtomicU32, Ordering::*};

const NEW: u32 = 0;
const STARTING: u32 = 1;
const ON: u32 = 2;
const OFF: u32 = 3;
static STATE: AtomicU32 = AtomicU32::new(NEW);

/// Whether the runtime has not been started yet.
#[inline(always)]
pub(crate) fn is_new() -> bool {
    STATE.load(Relaxed) == NEW
}

/// Whether this process is recorded.
pub(crate) fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

/// Begins the start of the runtime. Returns whether the caller is the first to do so.
pub(crate) fn begin() -> bool {
    STATE.compare_exchange(NEW, STARTING, Relaxed, Relaxed).is_ok()
}

/// Sets whether the start succeeded.
pub(crate) fn started(on: bool) {
    STATE.store(if on { ON } else { OFF }, Relaxed);
}

/// Turns all hooks of this process off. Returns whether they were on.
pub(crate) fn off() -> bool {
    let was_on = STATE.swap(OFF, Relaxed) == ON;
    crate::tls::set(std::ptr::null_mut());
    was_on
}
