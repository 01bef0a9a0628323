//! Sleeping and yielding.

use crate::entry::{enter_modelled, entries, leave, plain_entries};
use crate::real::real;
use crate::sched::{self, Deadline, Waiting, block};
use crate::sys::{self, now_ns};
use crate::thread::{Baton, Wake};
use foretell_rt_format::WaitingFor;
use libc::timespec;
use std::ffi::{c_int, c_uint};

/// Sleeps. Returns the nanoseconds that are left when a signal came.
fn sleep_for(t: Baton, ns: u64, pc: usize) -> Option<u64> {
    crate::cancel::point(t);
    let replayed = sched::replays();
    if replayed {
        // The schedule alone decides when the thread runs.
        return None;
    }
    let d = Deadline::after(ns);
    let w = Waiting { what: WaitingFor::Sleep, object: 0, pc, owner_at: 0, between: true };
    let wake = block(t, w, Some(d));
    if wake == Wake::Interrupt {
        crate::signal::deliver(t);
        crate::cancel::point(t);
        return Some(d.real.saturating_sub(now_ns(libc::CLOCK_MONOTONIC)));
    }
    // Hooks' time may run ahead of the clock: never sleep less than was asked for.
    let left = d.real.saturating_sub(now_ns(libc::CLOCK_MONOTONIC));
    if left > 0 {
        let never = std::sync::atomic::AtomicU32::new(0);
        sys::futex_wait(&never, 0, Some(left));
    }
    None
}

pub(crate) fn errno_result(r: c_int) -> c_int {
    sys::set_errno(r);
    -1
}

/// Returns a duration of the program in nanoseconds, if it is valid.
pub(crate) fn nanoseconds(ts: *const timespec) -> Option<u64> {
    // SAFETY: the program's own duration.
    let ts = unsafe { *ts };
    let valid = ts.tv_sec >= 0 && (0..1_000_000_000).contains(&ts.tv_nsec);
    valid.then(|| (ts.tv_sec as u64).saturating_mul(1_000_000_000) + ts.tv_nsec as u64)
}

/// Sleeps as long as asked, from now or until a moment of `clock`. `None`: not modelled, or the
/// time is not valid; else whether a signal came, with the rest of the time in `left`.
fn sleep_as_asked(
    clock: Option<c_int>,
    ask: *const timespec,
    left: *mut timespec,
    pc: usize,
) -> Option<bool> {
    let t = enter_modelled()?;
    let Some(ns) = nanoseconds(ask) else {
        leave(t);
        return None;
    };
    let ns = clock.map_or(ns, |clock| ns.saturating_sub(now_ns(clock)));
    let rest = sleep_for(t, ns, pc);
    leave(t);
    if let Some(ns) = rest
        && !left.is_null()
    {
        // SAFETY: the program's own variable.
        unsafe {
            (*left).tv_sec = (ns / 1_000_000_000) as i64;
            (*left).tv_nsec = (ns % 1_000_000_000) as i64;
        }
    }
    Some(rest.is_some())
}

extern "C-unwind" fn nanosleep_fn(ask: *const timespec, left: *mut timespec, pc: usize) -> c_int {
    match sleep_as_asked(None, ask, left, pc) {
        None => real!(nanosleep(ask: *const timespec, left: *mut timespec) -> c_int),
        Some(false) => 0,
        Some(true) => errno_result(libc::EINTR),
    }
}

extern "C-unwind" fn clock_nanosleep_fn(
    clock: c_int,
    flags: c_int,
    ask: *const timespec,
    left: *mut timespec,
    pc: usize,
) -> c_int {
    let slept = if flags & libc::TIMER_ABSTIME != 0 {
        sleep_as_asked(Some(clock), ask, std::ptr::null_mut(), pc)
    } else {
        sleep_as_asked(None, ask, left, pc)
    };
    match slept {
        None => real!(clock_nanosleep(clock: c_int, flags: c_int, ask: *const timespec,
                left: *mut timespec) -> c_int),
        Some(false) => 0,
        Some(true) => libc::EINTR,
    }
}

extern "C-unwind" fn thrd_sleep_fn(ask: *const timespec, left: *mut timespec, pc: usize) -> c_int {
    nanosleep_fn(ask, left, pc)
}

extern "C-unwind" fn usleep_fn(us: c_uint, pc: usize) -> c_int {
    let Some(t) = enter_modelled() else { return real!(usleep(us: c_uint) -> c_int) };
    let rest = sleep_for(t, u64::from(us) * 1000, pc);
    leave(t);
    if rest.is_some() { errno_result(libc::EINTR) } else { 0 }
}

extern "C-unwind" fn sleep_fn(s: c_uint, pc: usize) -> c_uint {
    let Some(t) = enter_modelled() else { return real!(sleep(s: c_uint) -> c_uint) };
    let rest = sleep_for(t, u64::from(s) * 1_000_000_000, pc);
    leave(t);
    rest.map_or(0, |ns| ns.div_ceil(1_000_000_000) as c_uint)
}

extern "C-unwind" fn yield_fn() -> c_int {
    let Some(t) = enter_modelled() else {
        // SAFETY: takes no arguments.
        return unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) } as c_int;
    };
    sched::give_way(t);
    leave(t);
    0
}

extern "C-unwind" fn thrd_yield_fn() {
    yield_fn();
}

entries! {
    nanosleep => nanosleep_fn, "rdx";
    clock_nanosleep => clock_nanosleep_fn, "r8";
    thrd_sleep => thrd_sleep_fn, "rdx";
    usleep => usleep_fn, "rsi";
    sleep => sleep_fn, "rsi";
}

plain_entries! {
    sched_yield => yield_fn;
    pthread_yield => yield_fn;
    thrd_yield => thrd_yield_fn;
}
