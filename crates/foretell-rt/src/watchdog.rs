//! A thread of our own that looks once a second whether anything moves, and says who is stuck
//! where when nothing does.

use crate::init::{STALL_SECS, WATCHDOG_SECS};
use crate::log;
use crate::real::real;
use crate::sched::{self, NONE, PULSE};
use crate::sys::{self, say};
use foretell_rt_format::Record;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static STARTED: AtomicBool = AtomicBool::new(false);

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Starts the watchdog, once, when the program creates its first thread.
pub(crate) unsafe fn start() {
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

unsafe extern "C-unwind" fn watch(_: *mut c_void) -> *mut c_void {
    let never = AtomicU32::new(0);
    let (mut last, mut quiet, mut said) = (0, 0u64, false);
    loop {
        sys::futex_wait(&never, 0, Some(1_000_000_000));
        // SAFETY: the scheduler's lock is taken.
        sched::LOCK.with(|| unsafe {
            let s = sched::sched();
            let stream = s.threads.first().map_or(0, |&t| (*(*t).hot.stream).cur as u64);
            let pulse = stream.wrapping_add(PULSE.load(Relaxed));
            quiet = if pulse == last { quiet + 1 } else { 0 };
            said &= quiet > 0;
            last = pulse;
            if s.replay.active && quiet >= STALL_SECS.load(Relaxed).max(1) {
                let current = s.get(s.current);
                let got =
                    sched::situation(s).iter().map(|b| sched::describe(s, b)).collect::<Vec<_>>();
                crate::replay::depart(s, current, &format!("no progress: {}", got.join("; ")));
            }
            let limit = WATCHDOG_SECS.load(Relaxed);
            // Everybody in calls of the system or asleep: an idle program, not a stuck one.
            let stuck = s.current != NONE || s.outside == 0;
            if limit != 0 && quiet >= limit && stuck && !said {
                said = true;
                let threads = sched::situation(s);
                let lines: Vec<_> = threads.iter().map(|b| sched::describe(s, b)).collect();
                say!("nothing moved for {quiet} s: {}", lines.join("; "));
                // Somebody with the baton may be writing to the log.
                let writer = s.living().next().filter(|_| s.current == NONE);
                if let Some(t) = writer {
                    log::put((*t).hot.stream, &Record::Stuck { threads });
                }
            }
        });
    }
}
