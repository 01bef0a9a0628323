//! Mutexes and spin locks.

use super::*;
use crate::lock::Guarded;
use crate::sched::has_ended;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The kind word of a mutex (glibc, x86-64).
fn mutex_kind(m: usize) -> u32 {
    field(m, 16)
}

/// Whether a mutex is robust: its owner may end while it holds it.
fn is_robust(m: usize) -> bool {
    mutex_kind(m) & 16 != 0
}

/// Robust mutexes whose owner has ended while it held them.
static ORPHANED: Guarded<Vec<usize>> = Guarded::new(Vec::new());
static ANY_ORPHANED: AtomicBool = AtomicBool::new(false);

/// Whether the owner of a mutex has ended while it held it.
pub(super) fn was_orphaned(m: usize) -> bool {
    ANY_ORPHANED.load(Relaxed) && ORPHANED.lock().contains(&m)
}

/// Records that the calling thread, which ends, releases the robust mutexes that it holds. The
/// kernel does so a moment later, and tells the next owner: whether that one comes before the end
/// or after it is no free choice, so the end comes after what the other threads have done.
pub(crate) fn release_orphans(t: Baton) {
    // The head of the list: the first entry, and the offset from an entry to its mutex.
    let (mut head, mut len) = (0usize, 0usize);
    let a = [0, &raw mut head as usize, &raw mut len as usize, 0, 0, 0];
    // SAFETY: both are writable; the list is the calling thread's own, and ends at its head.
    unsafe {
        if sys::call(libc::SYS_get_robust_list, a) != 0 || head == 0 {
            return;
        }
        let [first, offset] = *(head as *const [usize; 2]);
        let mut entry = first & !1;
        while entry != head && entry != 0 {
            let m = entry.wrapping_add(offset);
            entry = *(entry as *const usize) & !1;
            ANY_ORPHANED.store(true, Relaxed);
            ORPHANED.with(|list| list.push(m));
            step(t, Kind::Unlock, 0);
            put_after_others(t);
            put(t, SyncKind::Unlock, m, 0, 0);
            wake_waiters(&LOCKERS, m, usize::MAX);
        }
    }
}

/// Tries to take a mutex. The owner may have ended in the model a moment before the kernel says so.
fn trylock(m: usize) -> c_int {
    loop {
        let r = real!(pthread_mutex_trylock(m: usize) -> c_int);
        let owner = field(m, 0) & libc::FUTEX_TID_MASK;
        if r != EBUSY || !is_robust(m) || owner == 0 || !has_ended(owner) {
            return r;
        }
        sys::futex_wait(&AtomicU32::new(0), 0, Some(100_000));
    }
}

fn try_mutex(m: usize) -> c_int {
    let r = trylock(m);
    let own = field(m, MUTEX_OWNER) == sys::gettid();
    let checking = mutex_kind(m) & 3 == libc::PTHREAD_MUTEX_ERRORCHECK as u32;
    if r == EBUSY && own && checking { libc::EDEADLK } else { r }
}

fn take_mutex(t: Baton, m: usize, pc: usize, patience: Patience) -> c_int {
    let attempt = || match patience {
        Patience::None => trylock(m),
        _ => try_mutex(m),
    };
    let a = Acquire {
        kind: Kind::Lock,
        done: SyncKind::Lock,
        failed: SyncKind::TryFailed,
        waiting: WaitingFor::Lock,
        owner_at: MUTEX_OWNER,
        attempt: &attempt,
    };
    acquire(t, m, pc, &a, patience)
}

pub(super) extern "C-unwind" fn mutex_lock(m: usize, pc: usize) -> c_int {
    let real = || real!(pthread_mutex_lock(m: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    let r = if served_by(t, ObjectKind::Mutex, m) == ServedBy::Library {
        native(t, m, pc, MUTEX, false, "pthread_mutex_lock", &real)
    } else {
        take_mutex(t, m, pc, Patience::Forever)
    };
    leave(t);
    r
}

pub(super) extern "C-unwind" fn mutex_trylock(m: usize, pc: usize) -> c_int {
    let Some(t) = enter() else { return real!(pthread_mutex_trylock(m: usize) -> c_int) };
    let r = take_mutex(t, m, pc, Patience::None);
    leave(t);
    r
}

fn mutex_until(
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
    real: &dyn Fn() -> c_int,
) -> c_int {
    let Some(t) = enter() else { return real() };
    let r = if served_by(t, ObjectKind::Mutex, m) == ServedBy::Library {
        native(t, m, pc, MUTEX, true, "pthread_mutex_timedlock", real)
    } else {
        match until(clock, at) {
            Some(d) => take_mutex(t, m, pc, Patience::Until(d)),
            None => take_mutex(t, m, pc, Patience::Forever),
        }
    };
    leave(t);
    r
}

pub(super) extern "C-unwind" fn mutex_timedlock(m: usize, at: *const timespec, pc: usize) -> c_int {
    mutex_until(
        m,
        libc::CLOCK_REALTIME,
        at,
        pc,
        &|| real!(pthread_mutex_timedlock(m: usize, at: *const timespec) -> c_int),
    )
}

extern "C-unwind" fn mutex_clocklock(
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    mutex_until(
        m,
        clock,
        at,
        pc,
        &|| real!(pthread_mutex_clocklock(m: usize, clock: c_int, at: *const timespec) -> c_int),
    )
}

pub(super) extern "C-unwind" fn mutex_unlock(m: usize, pc: usize) -> c_int {
    let real = || real!(pthread_mutex_unlock(m: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    let r = release(t, m, SyncKind::Unlock, pc, &real);
    leave(t);
    r
}

/// Takes a mutex again after a wait for a condition that the scheduler serves. Returns an error, or
/// that the owner has ended.
pub(super) fn retake_mutex(t: Baton, m: usize, pc: usize) -> c_int {
    if served_by(t, ObjectKind::Mutex, m) == ServedBy::Library {
        let real = || real!(pthread_mutex_lock(m: usize) -> c_int);
        let r = blocking_call::call(t, "pthread_mutex_lock", pc, &real);
        put_after_others(t);
        return r;
    }
    let what = WaitingFor::Lock;
    let w = Waiting { what, object: m, pc, owner_at: MUTEX_OWNER, between: true };
    loop {
        let r = trylock(m);
        if r != EBUSY {
            if r == libc::EOWNERDEAD || was_orphaned(m) {
                put_after_others(t);
            }
            return r;
        }
        if block(t, w, None) == Wake::Interrupt {
            crate::signal::deliver(t);
        }
    }
}

extern "C-unwind" fn spin_lock(l: usize, pc: usize) -> c_int {
    let real = || real!(pthread_spin_lock(l: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    let r = if t.parallel() {
        native(t, l, pc, MUTEX, false, "pthread_spin_lock", &real)
    } else {
        take_spin(t, l, pc, Patience::Forever)
    };
    leave(t);
    r
}

/// Takes a spin lock. Only a lock that is held is asked whether it is process-shared: the answer
/// is not in the lock and takes long.
fn take_spin(t: Baton, l: usize, pc: usize, patience: Patience) -> c_int {
    let attempt = || {
        let r = real!(pthread_spin_trylock(l: usize) -> c_int);
        let waits = r == EBUSY && !matches!(patience, Patience::None);
        if waits && served_by(t, ObjectKind::SpinLock, l) == ServedBy::Library {
            let real = || real!(pthread_spin_lock(l: usize) -> c_int);
            let r = blocking_call::call(t, "pthread_spin_lock", pc, &real);
            put_after_others(t);
            return r;
        }
        r
    };
    let a = Acquire {
        kind: Kind::Lock,
        done: SyncKind::Lock,
        failed: SyncKind::TryFailed,
        waiting: WaitingFor::Lock,
        owner_at: 0,
        attempt: &attempt,
    };
    acquire(t, l, pc, &a, patience)
}

extern "C-unwind" fn spin_trylock(l: usize, pc: usize) -> c_int {
    let Some(t) = enter() else { return real!(pthread_spin_trylock(l: usize) -> c_int) };
    let r = take_spin(t, l, pc, Patience::None);
    leave(t);
    r
}

extern "C-unwind" fn spin_unlock(l: usize, pc: usize) -> c_int {
    let real = || real!(pthread_spin_unlock(l: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    let r = release(t, l, SyncKind::Unlock, pc, &real);
    leave(t);
    r
}

c11_fns! {
    mtx_lock_fn(m: usize) = mutex_lock;
    mtx_trylock_fn(m: usize) = mutex_trylock;
    mtx_timedlock_fn(m: usize, at: *const timespec) = mutex_timedlock;
    mtx_unlock_fn(m: usize) = mutex_unlock;
}

entries! {
    pthread_mutex_lock => mutex_lock, "rsi";
    pthread_mutex_trylock => mutex_trylock, "rsi";
    pthread_mutex_timedlock => mutex_timedlock, "rdx";
    pthread_mutex_clocklock => mutex_clocklock, "rcx";
    pthread_mutex_unlock => mutex_unlock, "rsi";
    pthread_spin_lock => spin_lock, "rsi";
    pthread_spin_trylock => spin_trylock, "rsi";
    pthread_spin_unlock => spin_unlock, "rsi";
    mtx_lock => mtx_lock_fn, "rsi";
    mtx_trylock => mtx_trylock_fn, "rsi";
    mtx_timedlock => mtx_timedlock_fn, "rdx";
    mtx_unlock => mtx_unlock_fn, "rsi";
}
