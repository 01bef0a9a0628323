//! The watchdog: a thread of the runtime that looks at the holder of the baton (see
//! [`crate::sched::unmodelled`]) and once a second whether anything moves, and reports what each
//! thread waits for when nothing does.

use crate::init::{STALL_SECS, WATCHDOG_SECS};
use crate::reader;
use crate::real::real;
use crate::sched::unmodelled::Watch;
use crate::sched::{NONE, PULSE, SCHED, Sched, describe, replay, wait_report};
use crate::sys::{self, say};
use crate::thread::State;
use foretell_rt_format::Record;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

static STARTED: AtomicBool = AtomicBool::new(false);
static TID: AtomicU32 = AtomicU32::new(0);

/// Interval of the reports.
const SECOND_NS: u64 = 1_000_000_000;

/// Processor time in a second below which the process is at rest.
const AT_REST_NS: u64 = 20_000_000;
/// Number of calls of `sched_yield` in a second, without a step, above which a thread only waits.
const SPINS: u64 = 10_000;
/// Seconds at rest after which a replay makes no progress.
const AT_REST_SECS: u64 = 2;

/// Whether a thread is in a call that something outside of the process may end.
fn waits_for_others(s: &Sched) -> bool {
    let mut outside = s.living().filter(|t| t.wait().state.get() == State::Outside);
    outside.any(|t| t.wait().call.get() != "futex")
}

/// Returns the thread id of the watchdog, if it runs.
pub(crate) fn tid() -> Option<u32> {
    Some(TID.load(Relaxed)).filter(|&tid| tid != 0)
}

/// Forgets the watchdog, which the child of a fork does not have.
pub(crate) fn reset() {
    STARTED.store(false, Relaxed);
    TID.store(0, Relaxed);
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
        // The C++ library counts references without atomics in a process with one thread. The
        // watchdog is none of the program's threads: with it, a program must not take other steps
        // than in a run where the watchdog starts later.
        let name = c"__libc_single_threaded".as_ptr();
        let single: *mut u8 = libc::dlsym(libc::RTLD_DEFAULT, name).cast();
        let before = if single.is_null() { 0 } else { single.read_volatile() };
        real!(pthread_create(out: *mut libc::pthread_t, attr_ptr: *const libc::pthread_attr_t,
            start: Start, nothing: usize) -> c_int);
        if before != 0 {
            single.write_volatile(before);
        }
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
    let mut used_before = sys::now_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
    let (mut yields_before, mut rest) = (0, 0);
    loop {
        sys::futex_wait(&never, 0, Some(pause));
        pause = watch.look();
        let now = sys::now_ns(libc::CLOCK_MONOTONIC);
        if now - reported < SECOND_NS {
            continue;
        }
        reported = now;
        reader::check();
        let mut s = SCHED.lock();
        // SAFETY: the first thread's stream lives as long as the process.
        let written =
            s.get(0).map_or(0, |t| unsafe { (&raw const (*t.stream()).cur).read() } as u64);
        let pulse = written.wrapping_add(PULSE.load(Relaxed));
        quiet = if pulse == last { quiet + 1 } else { 0 };
        said &= quiet > 0;
        last = pulse;
        let used = sys::now_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        let at_rest = used - used_before < AT_REST_NS || s.replay.yields - yields_before > SPINS;
        rest = if at_rest && quiet > 0 && !waits_for_others(&s) { rest + 1 } else { 0 };
        (used_before, yields_before) = (used, s.replay.yields);
        let stall = STALL_SECS.load(Relaxed).max(1);
        if s.replay.active && (quiet >= stall || rest >= AT_REST_SECS.min(stall)) {
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
