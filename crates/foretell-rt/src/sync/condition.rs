//! Condition variables. The scheduler has the wait set; the mutex is really released and taken.

use super::mutex::retake_mutex;
use super::*;

/// Waits for a condition that the scheduler serves.
fn wait(t: Baton, c: usize, m: usize, pc: usize, deadline: Option<Deadline>) -> c_int {
    step(t, Kind::Wait, pc);
    put(t, SyncKind::Wait, c, m, pc);
    let unlocked = real!(pthread_mutex_unlock(m: usize) -> c_int);
    if unlocked != 0 {
        return unlocked;
    }
    wake_waiters(&LOCKERS, m, usize::MAX);
    let mut cancelled = false;
    let timed_out = loop {
        let w = Waiting { what: WaitingFor::Condition, object: c, pc, owner_at: 0, between: true };
        match block(t, w, deadline) {
            Wake::Event => break false,
            Wake::Time => break true,
            Wake::Interrupt if t.signalled() => crate::signal::deliver(t),
            Wake::Interrupt => {
                cancelled = true;
                break false;
            }
        }
    };
    // Own the mutex again before the step that says so.
    let retaken = retake_mutex(t, m, pc);
    let (kind, done) = if timed_out || cancelled {
        (Kind::TimedOut, SyncKind::TimedOut)
    } else {
        (Kind::Woken, SyncKind::Woken)
    };
    step(t, kind, pc);
    put(t, done, c, m, pc);
    match retaken {
        0 if timed_out => ETIMEDOUT,
        other => other,
    }
}

/// Waits for a condition that the library serves, and records that.
fn native_wait(t: Baton, c: usize, m: usize, pc: usize, f: &dyn Fn() -> c_int) -> c_int {
    step(t, Kind::Wait, pc);
    put(t, SyncKind::Wait, c, m, pc);
    let r = blocking_call::call(t, "pthread_cond_wait", pc, f);
    put_after_others(t);
    let timed_out = r == ETIMEDOUT;
    let (kind, done) = if timed_out {
        (Kind::TimedOut, SyncKind::TimedOut)
    } else {
        (Kind::Woken, SyncKind::Woken)
    };
    step(t, kind, pc);
    put(t, done, c, m, pc);
    r
}

/// Returns the clock of a condition's deadlines: bit 1 of `__wrefs` (glibc).
fn cond_clock(c: usize) -> c_int {
    if field(c, 36) & 2 != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// Waits for a condition, until a time on a clock if there is one. `None` for the clock: the
/// condition's own.
fn wait_any(
    c: usize,
    m: usize,
    pc: usize,
    at: Option<(Option<c_int>, *const timespec)>,
    real: &dyn Fn() -> c_int,
) -> c_int {
    let Some(t) = enter() else { return real() };
    let pc = caller(pc);
    if at.is_some() {
        put(t, SyncKind::TimeLimit, c, 0, pc);
        crate::other_wakes::note(t);
    }
    let r = if served_by(t, ObjectKind::Condition, c) == ServedBy::Library {
        native_wait(t, c, m, pc, real)
    } else {
        crate::cancel::point(t);
        let deadline = at.map(|(clock, at)| until(clock.unwrap_or_else(|| cond_clock(c)), at));
        match deadline {
            Some(None) => libc::EINVAL,
            Some(d) => wait(t, c, m, pc, d),
            None => wait(t, c, m, pc, None),
        }
    };
    crate::cancel::point(t);
    leave(t);
    r
}

pub(super) extern "C-unwind" fn cond_wait(c: usize, m: usize, pc: usize) -> c_int {
    wait_any(c, m, pc, None, &|| real!(pthread_cond_wait(c: usize, m: usize) -> c_int))
}

pub(super) extern "C-unwind" fn cond_timedwait(
    c: usize,
    m: usize,
    at: *const timespec,
    pc: usize,
) -> c_int {
    wait_any(
        c,
        m,
        pc,
        Some((None, at)),
        &|| real!(pthread_cond_timedwait(c: usize, m: usize, at: *const timespec) -> c_int),
    )
}

extern "C-unwind" fn cond_clockwait(
    c: usize,
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    wait_any(c, m, pc, Some((Some(clock), at)), &|| {
        real!(pthread_cond_clockwait(c: usize, m: usize, clock: c_int, at: *const timespec)
                -> c_int)
    })
}

fn notify(c: usize, pc: usize, all: bool, real: &dyn Fn() -> c_int) -> c_int {
    let Some(t) = enter() else { return real() };
    let pc = caller(pc);
    let (step_kind, kind, max) = if all {
        (Kind::Broadcast, SyncKind::Broadcast, usize::MAX)
    } else {
        (Kind::Signal, SyncKind::Signal, 1)
    };
    access_step(t, step_kind, pc, (c, 1));
    put(t, kind, c, 0, pc);
    let mut r = 0;
    if served_by(t, ObjectKind::Condition, c) == ServedBy::Library {
        r = real();
    } else {
        wake_waiters(&[WaitingFor::Condition], c, max);
    }
    leave(t);
    r
}

pub(super) extern "C-unwind" fn cond_signal(c: usize, pc: usize) -> c_int {
    notify(c, pc, false, &|| real!(pthread_cond_signal(c: usize) -> c_int))
}

pub(super) extern "C-unwind" fn cond_broadcast(c: usize, pc: usize) -> c_int {
    notify(c, pc, true, &|| real!(pthread_cond_broadcast(c: usize) -> c_int))
}

c11_fns! {
    cnd_wait_fn(c: usize, m: usize) = cond_wait;
    cnd_timedwait_fn(c: usize, m: usize, at: *const timespec) = cond_timedwait;
    cnd_signal_fn(c: usize) = cond_signal;
    cnd_broadcast_fn(c: usize) = cond_broadcast;
}

entries! {
    pthread_cond_wait => cond_wait, "rdx";
    pthread_cond_timedwait => cond_timedwait, "rcx";
    pthread_cond_clockwait => cond_clockwait, "r8";
    pthread_cond_signal => cond_signal, "rsi";
    pthread_cond_broadcast => cond_broadcast, "rsi";
    cnd_wait => cnd_wait_fn, "rdx";
    cnd_timedwait => cnd_timedwait_fn, "rcx";
    cnd_signal => cnd_signal_fn, "rsi";
    cnd_broadcast => cnd_broadcast_fn, "rsi";
}
