//! The watchdog: a thread of the runtime that looks at the holder of the baton (see
//! [`crate::sched::unmodelled`]) and once a second whether anything moves, and reports what each
//! thread waits for when nothing does.

use crate::init::{STALL_SECS, WATCHDOG_SECS};
use crate::real::real;
use crate::sched::unmodelled::Watch;
use crate::sched::{NONE, PULSE, SCHED, describe, replay, wait_report};
use crate::sys::{self, say};
use foretell_rt_format::Record;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static STARTED: AtomicBool = AtomicBool::new(false);
static TID: AtomicU32 = AtomicU32::new(0);

/// Interval of the reports.
const SECOND_NS: u64 = 1_000_000_000;

/// Returns the thread id of the watchdog, if it runs.
pub(crate) fn tid() -> Option<u32> {
    Some(TID.load(Relaxed)).filter(|&tid| tid != 0)
}

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Starts the watchdog, once, when the program creates its first thread.
pub(crate) fn start() {
    if STARTED.swap(true, Relaxed) {
        return;
    }
    // SAFETY: a plain detached thread with all signals blocked.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let mut attr = std::mem::zeroed::<libc::pthread_attr_t>();
        libc::pthread_attr_init(&mut attr);
        libc::pthread_attr_setdetachstate(&mut attr, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attr, 256 << 10);
        let mut handle: libc::pthread_t = 0;
        let (out, attr_ptr) = (&raw mut handle, &raw const attr);
        let (start, nothing): (Start, usize) = (watch, 0);
        real!(pthread_create(out: *mut libc::pthread_t, attr_ptr: *const libc::pthread_attr_t,
            start: Start, nothing: usize) -> c_int);
        libc::pthread_attr_destroy(&mut attr);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
    }
}

extern "C-unwind" fn watch(_: *mut c_void) -> *mut c_void {
    crate::tls::set_unrecorded();
    TID.store(sys::gettid(), Relaxed);
    let never = AtomicU32::new(0);
    let (mut last, mut quiet, mut said) = (0, 0u64, false);
    let (mut watch, mut pause) = (Watch::new(), 0);
    let mut reported = sys::now_ns(libc::CLOCK_MONOTONIC);
    loop {
        sys::futex_wait(&never, 0, Some(pause));
        pause = watch.look();
        let now = sys::now_ns(libc::CLOCK_MONOTONIC);
        if now - reported < SECOND_NS {
            continue;
        }
        reported = now;
        let mut s = SCHED.lock();
        // SAFETY: the first thread's stream lives as long as the process.
        let written =
            s.get(0).map_or(0, |t| unsafe { (&raw const (*t.stream()).cur).read() } as u64);
        let pulse = written.wrapping_add(PULSE.load(Relaxed));
        quiet = if pulse == last { quiet + 1 } else { 0 };
        said &= quiet > 0;
        last = pulse;
        if s.replay.active && quiet >= STALL_SECS.load(Relaxed).max(1) {
            let current = s.get(s.current);
            let got: Vec<_> = wait_report(&s).iter().map(|b| describe(&s, b)).collect();
            replay::depart(&mut s, current, &format!("no progress: {}", got.join("; ")));
        }
        let limit = WATCHDOG_SECS.load(Relaxed);
        // All threads in blocking calls or asleep: an idle program, not a stuck one.
        let stuck = s.current != NONE || s.in_blocking_calls == 0;
        if limit != 0 && quiet >= limit && stuck && !said {
            said = true;
            let threads = wait_report(&s);
            let lines: Vec<_> = threads.iter().map(|b| describe(&s, b)).collect();
            say!("nothing moved for {quiet} s: {}", lines.join("; "));
            // A thread with the baton may be writing to the log.
            if s.current == NONE {
                s.put_last(&Record::Stuck { threads });
            }
        }
    }
}
