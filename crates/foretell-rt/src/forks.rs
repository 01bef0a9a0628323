//! Forks of the recorded program: the child is a recorded process with a log of its own.
//!
//! The child has one thread, which becomes the first thread of the new log; the state of the
//! runtime begins afresh, but for what it knows of the program's objects (descriptors, barriers,
//! modules). The locks of the runtime are held across the fork, so that no other thread of the
//! parent is in the middle of a change. A child that ends, or runs another program, before it has a
//! second thread has no order that could be another one: its log stays in memory
//! ([`crate::log::keep`]) and ends with it, unless it crashes.
//!
//! The child of `_Fork`, for which no handlers run, is not recorded; nor is a child where further
//! processes have no logs (parallel recording, replay, a log that was asked for by hand). The first
//! such child of a process says so.
//!
//! A replay may be for a child ([`foretell_rt_format::env::FORKED`]): the processes above it are
//! passed through then, and the child follows the schedule.

use crate::arena;
use crate::init;
use crate::lock::Guarded;
use crate::modules;
use crate::recording_state;
use crate::sched::SCHED;
use crate::sys;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// Whether the program has forked before: the first child has said that it is not recorded.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Number of forks of this process so far.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Path of this process, see [`foretell_rt_format::Record::ChildOfFork`].
static PATH: Guarded<Vec<u8>> = Guarded::new(Vec::new());
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
    let (before, parent, child) = (Some(before as _), Some(on_parent as _), Some(on_child as _));
    // SAFETY: the handlers live as long as the process.
    unsafe { __register_atfork(before, parent, child, std::ptr::null_mut()) };
}

/// Runs before a fork, after the program's own handlers.
unsafe extern "C" fn before() {
    FORKS.fetch_add(1, Relaxed);
    SCHED.hold();
    modules::hold();
    arena::hold();
}

fn let_go() {
    arena::let_go();
    modules::let_go();
    SCHED.let_go();
}

unsafe extern "C" fn on_parent() {
    let_go();
    FORKED.store(true, Relaxed);
}

/// Runs in the child, before the program's own handlers.
unsafe extern "C" fn on_child() {
    let_go();
    // From here on nothing is written to the log of the parent, which the child shares.
    let thread = crate::tls::current().map(|t| t.index());
    let was_on = recording_state::off();
    let nth = FORKS.swap(0, Relaxed);
    let path = PATH.with(|path| {
        let dot = if path.is_empty() { "" } else { "." };
        path.extend_from_slice(format!("{dot}{nth}").as_bytes());
        path.clone()
    });
    let first = !FORKED.swap(false, Relaxed);
    crate::reader::release();
    let on = init::start_child(&path, was_on, thread);
    recording_state::started(on);
    if was_on && !on && first {
        say_unrecorded();
    }
}

/// Turns the hooks off in the child of a fork without handlers.
pub(crate) fn in_raw_child() {
    crate::reader::release();
    if recording_state::off() && !FORKED.load(Relaxed) {
        say_unrecorded();
    }
}

/// Notes in the parent a fork without handlers.
pub(crate) fn in_raw_parent() {
    FORKED.store(true, Relaxed);
}

/// Says that this process is not recorded.
fn say_unrecorded() {
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
