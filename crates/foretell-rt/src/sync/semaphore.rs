//! Semaphores.

use super::*;
use crate::lock::Guarded;
use crate::sys::{errno, set_errno};

/// Semaphores whose first count has been logged.
static SEMAPHORES: Guarded<Vec<usize>> = Guarded::new(Vec::new());

/// Forgets the counts that have been logged: a new log begins.
pub(crate) fn reset() {
    SEMAPHORES.with(Vec::clear);
}

/// Sets `errno` for a semaphore operation that failed. Returns the result of the operation.
fn sem_result(r: c_int) -> c_int {
    if r == 0 {
        return 0;
    }
    set_errno(if r == EBUSY { libc::EAGAIN } else { r });
    -1
}

/// Logs the count of a semaphore at its first use.
fn log_first_count(t: Baton, s: usize, pc: usize) {
    let mut list = SEMAPHORES.lock();
    if let Err(at) = list.binary_search(&s) {
        list.insert(at, s);
        let mut count: c_int = 0;
        // SAFETY: the program's own semaphore.
        unsafe { libc::sem_getvalue(s as *mut libc::sem_t, &mut count) };
        put(t, SyncKind::SemInit, s, count.max(0) as usize, pc);
    }
}

extern "C-unwind" fn sem_init_fn(s: usize, shared: c_int, value: c_uint, pc: usize) -> c_int {
    let r = real!(sem_init(s: usize, shared: c_int, value: c_uint) -> c_int);
    if let Some(t) = enter() {
        if r == 0 {
            SEMAPHORES.with(|list| list.retain(|&known| known != s));
            log_first_count(t, s, pc);
        }
        leave(t);
    }
    r
}

fn down(
    s: usize,
    pc: usize,
    patience: Patience,
    name: &'static str,
    real: &dyn Fn() -> c_int,
) -> c_int {
    let Some(t) = enter() else { return real() };
    if !matches!(patience, Patience::Forever) {
        crate::unexplored::TRIED.take();
        crate::other_wakes::note(t);
    }
    let waits = !matches!(patience, Patience::None);
    if waits {
        crate::cancel::point(t);
    }
    log_first_count(t, s, pc);
    let attempt = || match real!(sem_trywait(s: usize) -> c_int) {
        0 => 0,
        _ => match errno() {
            libc::EAGAIN => EBUSY,
            other => other,
        },
    };
    let library = served_by(t, ObjectKind::Semaphore, s) == ServedBy::Library;
    let r = if waits && library {
        step(t, Kind::Down, pc);
        let r = blocking_call::call(t, name, pc, real);
        put_after_others(t);
        let done = if r == 0 { SyncKind::Down } else { SyncKind::DownFailed };
        put(t, done, s, 0, pc);
        r
    } else {
        let a = Acquire {
            kind: Kind::Down,
            done: SyncKind::Down,
            failed: SyncKind::DownFailed,
            waiting: WaitingFor::Semaphore,
            owner_at: 0,
            attempt: &attempt,
        };
        sem_result(acquire(t, s, pc, &a, patience))
    };
    if waits {
        crate::cancel::point(t);
    }
    leave(t);
    r
}

extern "C-unwind" fn sem_wait_fn(s: usize, pc: usize) -> c_int {
    down(s, pc, Patience::Forever, "sem_wait", &|| real!(sem_wait(s: usize) -> c_int))
}

extern "C-unwind" fn sem_trywait_fn(s: usize, pc: usize) -> c_int {
    down(s, pc, Patience::None, "sem_trywait", &|| real!(sem_trywait(s: usize) -> c_int))
}

extern "C-unwind" fn sem_timedwait_fn(s: usize, at: *const timespec, pc: usize) -> c_int {
    let patience = until(libc::CLOCK_REALTIME, at).map_or(Patience::Forever, Patience::Until);
    down(
        s,
        pc,
        patience,
        "sem_timedwait",
        &|| real!(sem_timedwait(s: usize, at: *const timespec) -> c_int),
    )
}

extern "C-unwind" fn sem_clockwait_fn(
    s: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    let patience = until(clock, at).map_or(Patience::Forever, Patience::Until);
    down(
        s,
        pc,
        patience,
        "sem_clockwait",
        &|| real!(sem_clockwait(s: usize, clock: c_int, at: *const timespec) -> c_int),
    )
}

extern "C-unwind" fn sem_post_fn(s: usize, pc: usize) -> c_int {
    let real = || real!(sem_post(s: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    log_first_count(t, s, pc);
    step(t, Kind::Post, pc);
    put(t, SyncKind::Post, s, 0, pc);
    let r = real();
    wake_waiters(&[WaitingFor::Semaphore], s, usize::MAX);
    leave(t);
    r
}

entries! {
    sem_init => sem_init_fn, "rcx";
    sem_wait => sem_wait_fn, "rsi";
    sem_trywait => sem_trywait_fn, "rsi";
    sem_timedwait => sem_timedwait_fn, "rdx";
    sem_clockwait => sem_clockwait_fn, "rcx";
    sem_post => sem_post_fn, "rsi";
}
