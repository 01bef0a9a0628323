//! Locks, conditions, semaphores, barriers, one-time initialisation.
//!
//! Locks and semaphores keep their real state: the non-blocking operation of the C library
//! decides, so that types, attributes and errors are the library's own. Conditions, barriers
//! and one-time initialisation are modelled here. Objects shared between processes are left to
//! the library, as a call outside.

use crate::entry::{enter, entries, leave};
use crate::modules::caller;
use crate::outside;
use crate::real::real;
use crate::sched::{self, Deadline, Waiting, block, step, wake_waiters};
use crate::sys::{self, now_ns};
use crate::thread::{self, Thread, Wake};
use foretell_rt_format::{AtomicKind, Kind, Record, SyncKind, WaitingFor};
use libc::{EBUSY, ETIMEDOUT, timespec};
use std::ffi::{c_int, c_uint};

/// Offset of the owner's thread id in a mutex, and in a reader-writer lock (glibc, x86-64).
const MUTEX_OWNER: usize = 8;
const RWLOCK_WRITER: usize = 24;

pub(crate) unsafe fn put(t: *mut Thread, kind: SyncKind, object: usize, other: usize, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let (pc, object, other) = (pc as u64, object as u64, other as u64);
        thread::put(t, &Record::Sync { kind, pc, object, other });
    }
}

/// How long until an absolute time; `None` for a time that makes no sense.
pub(crate) unsafe fn until(clock: c_int, at: *const timespec) -> Option<Deadline> {
    // SAFETY: the program's own time.
    let ts = unsafe { *at };
    if !(0..1_000_000_000).contains(&ts.tv_nsec) {
        return None;
    }
    let at = (ts.tv_sec.max(0) as u64).saturating_mul(1_000_000_000) + ts.tv_nsec as u64;
    Some(Deadline::after(at.saturating_sub(now_ns(clock))))
}

/// How one kind of acquisition is done.
struct Acquire<'a> {
    kind: Kind,
    done: SyncKind,
    failed: SyncKind,
    waiting: WaitingFor,
    owner_at: usize,
    /// The operation that does not block; `EBUSY`: not now.
    attempt: &'a dyn Fn() -> c_int,
}

/// How long an acquisition may take.
#[derive(Clone, Copy)]
enum Patience {
    None,
    Until(Deadline),
    Forever,
}

/// Takes an object, waiting for it as long as allowed.
unsafe fn acquire(
    t: *mut Thread,
    object: usize,
    pc: usize,
    a: &Acquire<'_>,
    patience: Patience,
) -> c_int {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, a.kind, pc);
        loop {
            let r = (a.attempt)();
            if r == 0 || r == libc::EOWNERDEAD {
                put(t, a.done, object, 0, pc);
                return r;
            }
            if r != EBUSY {
                // An error: the step has been counted, so a record must stand for it.
                put(t, a.failed, object, r as usize, pc);
                return r;
            }
            let deadline = match patience {
                Patience::None => {
                    put(t, a.failed, object, 0, pc);
                    return EBUSY;
                }
                Patience::Until(d) => Some(d),
                Patience::Forever => None,
            };
            let w = Waiting { what: a.waiting, object, pc, owner_at: a.owner_at, between: false };
            match block(t, w, deadline) {
                Wake::Event => {}
                Wake::Time => {
                    put(t, a.failed, object, 0, pc);
                    return ETIMEDOUT;
                }
                Wake::Interrupt => {
                    if a.waiting == WaitingFor::Semaphore && (*t).signalled != 0 {
                        crate::signal::deliver(t);
                        put(t, a.failed, object, 0, pc);
                        return libc::EINTR;
                    }
                    crate::signal::deliver(t);
                }
            }
        }
    }
}

/// Who may wait for a lock.
const LOCKERS: [WaitingFor; 2] = [WaitingFor::Lock, WaitingFor::ReadLock];

// ---- mutexes

/// The kind word of a mutex (glibc, x86-64).
unsafe fn mutex_kind(m: usize) -> u32 {
    // SAFETY: the program's own mutex.
    unsafe { *((m + 16) as *const u32) }
}

/// Shared between processes: not ours to model.
unsafe fn mutex_is_shared(m: usize) -> bool {
    // SAFETY: the program's own mutex.
    unsafe { mutex_kind(m) & 128 != 0 }
}

unsafe fn try_mutex(m: usize) -> c_int {
    // SAFETY: the program's own mutex.
    unsafe {
        let r = real!(pthread_mutex_trylock(m: usize) -> c_int);
        let own = *((m + MUTEX_OWNER) as *const u32) == sys::gettid();
        let checking = mutex_kind(m) & 3 == libc::PTHREAD_MUTEX_ERRORCHECK as u32;
        if r == EBUSY && own && checking { libc::EDEADLK } else { r }
    }
}

unsafe fn take_mutex(t: *mut Thread, m: usize, pc: usize, patience: Patience) -> c_int {
    // SAFETY: the program's own mutex.
    unsafe {
        let attempt = || match patience {
            Patience::None => real!(pthread_mutex_trylock(m: usize) -> c_int),
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
}

/// Records what a real, blocking operation did (parallel recording, shared objects).
unsafe fn native(
    t: *mut Thread,
    object: usize,
    pc: usize,
    (kind, done, failed): (Kind, SyncKind, SyncKind),
    name: &'static str,
    f: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, kind, pc);
        let r = if (*t).parallel { f() } else { outside::call(t, name, pc, f) };
        put(t, if r == 0 { done } else { failed }, object, 0, pc);
        r
    }
}

const MUTEX: (Kind, SyncKind, SyncKind) = (Kind::Lock, SyncKind::Lock, SyncKind::TryFailed);

pub(crate) unsafe extern "C-unwind" fn mutex_lock(m: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(pthread_mutex_lock(m: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = if (*t).parallel || mutex_is_shared(m) {
            native(t, m, pc, MUTEX, "pthread_mutex_lock", &real)
        } else {
            take_mutex(t, m, pc, Patience::Forever)
        };
        leave(t);
        r
    }
}

pub(crate) unsafe extern "C-unwind" fn mutex_trylock(m: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real!(pthread_mutex_trylock(m: usize) -> c_int);
        }
        let r = take_mutex(t, m, pc, Patience::None);
        leave(t);
        r
    }
}

unsafe fn mutex_until(
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = if (*t).parallel || mutex_is_shared(m) {
            native(t, m, pc, MUTEX, "pthread_mutex_timedlock", real)
        } else {
            match until(clock, at) {
                Some(d) => take_mutex(t, m, pc, Patience::Until(d)),
                None => take_mutex(t, m, pc, Patience::Forever),
            }
        };
        leave(t);
        r
    }
}

pub(crate) unsafe extern "C-unwind" fn mutex_timedlock(
    m: usize,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        mutex_until(
            m,
            libc::CLOCK_REALTIME,
            at,
            pc,
            &|| real!(pthread_mutex_timedlock(m: usize, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn mutex_clocklock(
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        mutex_until(
            m,
            clock,
            at,
            pc,
            &|| real!(pthread_mutex_clocklock(m: usize, clock: c_int, at: *const timespec) -> c_int),
        )
    }
}

/// Gives a lock back and lets those who wait for it try again.
unsafe fn release(
    t: *mut Thread,
    object: usize,
    kind: SyncKind,
    pc: usize,
    f: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Unlock, pc);
        // In parallel the record's place must come before the real operation.
        put(t, kind, object, 0, pc);
        let r = f();
        wake_waiters(&LOCKERS, object, usize::MAX);
        r
    }
}

pub(crate) unsafe extern "C-unwind" fn mutex_unlock(m: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(pthread_mutex_unlock(m: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = release(t, m, SyncKind::Unlock, pc, &real);
        leave(t);
        r
    }
}

// ---- spin locks

unsafe extern "C-unwind" fn spin_lock(l: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(pthread_spin_lock(l: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = if (*t).parallel {
            native(t, l, pc, MUTEX, "pthread_spin_lock", &real)
        } else {
            take_spin(t, l, pc, Patience::Forever)
        };
        leave(t);
        r
    }
}

unsafe fn take_spin(t: *mut Thread, l: usize, pc: usize, patience: Patience) -> c_int {
    // SAFETY: the program's own lock.
    let attempt = || unsafe { real!(pthread_spin_trylock(l: usize) -> c_int) };
    let a = Acquire {
        kind: Kind::Lock,
        done: SyncKind::Lock,
        failed: SyncKind::TryFailed,
        waiting: WaitingFor::Lock,
        owner_at: 0,
        attempt: &attempt,
    };
    // SAFETY: `t` is the calling thread.
    unsafe { acquire(t, l, pc, &a, patience) }
}

unsafe extern "C-unwind" fn spin_trylock(l: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real!(pthread_spin_trylock(l: usize) -> c_int);
        }
        let r = take_spin(t, l, pc, Patience::None);
        leave(t);
        r
    }
}

unsafe extern "C-unwind" fn spin_unlock(l: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(pthread_spin_unlock(l: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = release(t, l, SyncKind::Unlock, pc, &real);
        leave(t);
        r
    }
}

// ---- reader-writer locks

const READER: (Kind, SyncKind, SyncKind) =
    (Kind::ReadLock, SyncKind::ReadLock, SyncKind::TryReadFailed);

unsafe fn take_rwlock(
    t: *mut Thread,
    l: usize,
    pc: usize,
    write: bool,
    patience: Patience,
) -> c_int {
    // SAFETY: the program's own lock.
    let attempt = || unsafe {
        if write {
            real!(pthread_rwlock_trywrlock(l: usize) -> c_int)
        } else {
            real!(pthread_rwlock_tryrdlock(l: usize) -> c_int)
        }
    };
    let (kind, done, failed) = if write { MUTEX } else { READER };
    let waiting = if write { WaitingFor::Lock } else { WaitingFor::ReadLock };
    let a = Acquire { kind, done, failed, waiting, owner_at: RWLOCK_WRITER, attempt: &attempt };
    // SAFETY: `t` is the calling thread.
    unsafe {
        // The library refuses what would deadlock; trying would only say busy.
        let own = *((l + RWLOCK_WRITER) as *const u32) == sys::gettid();
        if own && !matches!(patience, Patience::None) {
            step(t, kind, pc);
            put(t, failed, l, libc::EDEADLK as usize, pc);
            return libc::EDEADLK;
        }
        acquire(t, l, pc, &a, patience)
    }
}

macro_rules! rwlock_fns {
    ($($name:ident = $real:ident, $write:literal, $patience:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name(l: usize, pc: usize) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                let real = || real!($real(l: usize) -> c_int);
                let t = enter();
                if t.is_null() {
                    return real();
                }
                let r = if (*t).parallel {
                    native(t, l, pc, if $write { MUTEX } else { READER }, stringify!($real), &real)
                } else {
                    take_rwlock(t, l, pc, $write, $patience)
                };
                leave(t);
                r
            }
        }
    )*};
}
rwlock_fns! {
    rwlock_rdlock = pthread_rwlock_rdlock, false, Patience::Forever;
    rwlock_tryrdlock = pthread_rwlock_tryrdlock, false, Patience::None;
    rwlock_wrlock = pthread_rwlock_wrlock, true, Patience::Forever;
    rwlock_trywrlock = pthread_rwlock_trywrlock, true, Patience::None;
}

unsafe fn rwlock_until(
    l: usize,
    write: bool,
    clock: c_int,
    at: *const timespec,
    pc: usize,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let r = if (*t).parallel {
            native(t, l, pc, if write { MUTEX } else { READER }, "pthread_rwlock_timed", real)
        } else {
            match until(clock, at) {
                Some(d) => take_rwlock(t, l, pc, write, Patience::Until(d)),
                None => take_rwlock(t, l, pc, write, Patience::Forever),
            }
        };
        leave(t);
        r
    }
}

macro_rules! rwlock_timed_fns {
    ($($timed:ident $clocked:ident = $rt:ident $rc:ident, $write:literal;)*) => {$(
        unsafe extern "C-unwind" fn $timed(l: usize, at: *const timespec, pc: usize) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                rwlock_until(l, $write, libc::CLOCK_REALTIME, at, pc, &|| {
                    real!($rt(l: usize, at: *const timespec) -> c_int)
                })
            }
        }
        unsafe extern "C-unwind" fn $clocked(
            l: usize, clock: c_int, at: *const timespec, pc: usize,
        ) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                rwlock_until(l, $write, clock, at, pc, &|| {
                    real!($rc(l: usize, clock: c_int, at: *const timespec) -> c_int)
                })
            }
        }
    )*};
}
rwlock_timed_fns! {
    rwlock_timedrdlock rwlock_clockrdlock =
        pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock, false;
    rwlock_timedwrlock rwlock_clockwrlock =
        pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock, true;
}

unsafe extern "C-unwind" fn rwlock_unlock(l: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(pthread_rwlock_unlock(l: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        let write = *((l + RWLOCK_WRITER) as *const u32) == sys::gettid();
        let kind = if write { SyncKind::Unlock } else { SyncKind::ReadUnlock };
        let r = release(t, l, kind, pc, &real);
        leave(t);
        r
    }
}

// ---- conditions

/// The wait set is this scheduler's; the mutex is really released and taken.
unsafe fn wait(t: *mut Thread, c: usize, m: usize, pc: usize, deadline: Option<Deadline>) -> c_int {
    // SAFETY: `t` is the calling thread and owns the mutex.
    unsafe {
        step(t, Kind::Wait, pc);
        put(t, SyncKind::Wait, c, m, pc);
        (*t).notified = false;
        let unlocked = real!(pthread_mutex_unlock(m: usize) -> c_int);
        if unlocked != 0 {
            return unlocked;
        }
        wake_waiters(&LOCKERS, m, usize::MAX);
        let mut cancelled = false;
        let timed_out = loop {
            let w =
                Waiting { what: WaitingFor::Condition, object: c, pc, owner_at: 0, between: true };
            match block(t, w, deadline) {
                Wake::Event => break false,
                Wake::Time => break true,
                Wake::Interrupt if (*t).signalled != 0 => crate::signal::deliver(t),
                Wake::Interrupt => {
                    cancelled = true;
                    break false;
                }
            }
        };
        // Own the mutex again before the step that says so.
        loop {
            let r = real!(pthread_mutex_trylock(m: usize) -> c_int);
            if r != EBUSY {
                break;
            }
            let w = Waiting {
                what: WaitingFor::Lock,
                object: m,
                pc,
                owner_at: MUTEX_OWNER,
                between: true,
            };
            if block(t, w, None) == Wake::Interrupt {
                crate::signal::deliver(t);
            }
        }
        let (kind, done) = if timed_out || cancelled {
            (Kind::TimedOut, SyncKind::TimedOut)
        } else {
            (Kind::Woken, SyncKind::Woken)
        };
        step(t, kind, pc);
        put(t, done, c, m, pc);
        if timed_out { ETIMEDOUT } else { 0 }
    }
}

/// Recorded around the library's own wait.
unsafe fn native_wait(
    t: *mut Thread,
    c: usize,
    m: usize,
    pc: usize,
    f: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Wait, pc);
        put(t, SyncKind::Wait, c, m, pc);
        let r = if (*t).parallel { f() } else { outside::call(t, "pthread_cond_wait", pc, f) };
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
}

/// Flags of a condition (glibc): bit 0 shared between processes, bit 1 monotonic clock.
unsafe fn cond_flags(c: usize) -> u32 {
    // SAFETY: the program's own condition.
    unsafe { *((c + 36) as *const u32) }
}

/// All waits on conditions; `clock`: `None` takes the condition's own.
unsafe fn wait_any(
    c: usize,
    m: usize,
    pc: usize,
    at: Option<(Option<c_int>, *const timespec)>,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let pc = caller(pc);
        let flags = cond_flags(c);
        let r = if (*t).parallel || flags & 1 != 0 {
            native_wait(t, c, m, pc, real)
        } else {
            crate::cancel::point(t);
            let own = if flags & 2 != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
            let deadline = at.map(|(clock, at)| until(clock.unwrap_or(own), at));
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
}

pub(crate) unsafe extern "C-unwind" fn cond_wait(c: usize, m: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { wait_any(c, m, pc, None, &|| real!(pthread_cond_wait(c: usize, m: usize) -> c_int)) }
}

pub(crate) unsafe extern "C-unwind" fn cond_timedwait(
    c: usize,
    m: usize,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        wait_any(
            c,
            m,
            pc,
            Some((None, at)),
            &|| real!(pthread_cond_timedwait(c: usize, m: usize, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn cond_clockwait(
    c: usize,
    m: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        wait_any(c, m, pc, Some((Some(clock), at)), &|| {
            real!(pthread_cond_clockwait(c: usize, m: usize, clock: c_int, at: *const timespec)
                -> c_int)
        })
    }
}

unsafe fn notify(c: usize, pc: usize, all: bool, real: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let pc = caller(pc);
        let (step_kind, kind, max) = if all {
            (Kind::Broadcast, SyncKind::Broadcast, usize::MAX)
        } else {
            (Kind::Signal, SyncKind::Signal, 1)
        };
        step(t, step_kind, pc);
        put(t, kind, c, 0, pc);
        let mut r = 0;
        if (*t).parallel || cond_flags(c) & 1 != 0 {
            r = real();
        } else {
            wake_waiters(&[WaitingFor::Condition], c, max);
        }
        leave(t);
        r
    }
}

pub(crate) unsafe extern "C-unwind" fn cond_signal(c: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { notify(c, pc, false, &|| real!(pthread_cond_signal(c: usize) -> c_int)) }
}

pub(crate) unsafe extern "C-unwind" fn cond_broadcast(c: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { notify(c, pc, true, &|| real!(pthread_cond_broadcast(c: usize) -> c_int)) }
}

// ---- life of objects

/// Initialises or destroys an object and says that it begins or ends its life.
unsafe fn life(object: usize, kind: SyncKind, pc: usize, f: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return f();
        }
        put(t, kind, object, 0, pc);
        let r = f();
        leave(t);
        r
    }
}

macro_rules! life_fns {
    ($($name:ident = $real:ident ( $($extra:ident)? ), $kind:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(object: usize, $($extra: usize,)? pc: usize) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                life(object, SyncKind::$kind, pc, &|| {
                    real!($real(object: usize $(, $extra: usize)?) -> c_int)
                })
            }
        }
    )*};
}
life_fns! {
    mutex_init = pthread_mutex_init(attr), Init;
    mutex_destroy = pthread_mutex_destroy(), Destroy;
    rwlock_init = pthread_rwlock_init(attr), Init;
    rwlock_destroy = pthread_rwlock_destroy(), Destroy;
    cond_init = pthread_cond_init(attr), Init;
    cond_destroy = pthread_cond_destroy(), Destroy;
    spin_init = pthread_spin_init(shared), Init;
    spin_destroy = pthread_spin_destroy(), Destroy;
    barrier_destroy = pthread_barrier_destroy(), Destroy;
    sem_destroy_fn = sem_destroy(), Destroy;
    mtx_init_fn = mtx_init(kind), Init;
    cnd_init_fn = cnd_init(), Init;
}

macro_rules! void_life_fns {
    ($($name:ident = $real:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(object: usize, pc: usize) {
            // SAFETY: as the program's own call.
            unsafe {
                life(object, SyncKind::Destroy, pc, &|| {
                    real!($real(object: usize));
                    0
                });
            }
        }
    )*};
}
void_life_fns! {
    mtx_destroy_fn = mtx_destroy;
    cnd_destroy_fn = cnd_destroy;
}

// ---- semaphores

/// Semaphores whose first count has been logged.
static mut SEMAPHORES: Vec<usize> = Vec::new();

/// Sets the failure of a semaphore operation.
unsafe fn sem_result(r: c_int) -> c_int {
    if r == 0 {
        return 0;
    }
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = if r == EBUSY { libc::EAGAIN } else { r } };
    -1
}

/// Logs the count of a semaphore at its first use.
unsafe fn know_semaphore(t: *mut Thread, s: usize, pc: usize) {
    static LOCK: crate::lock::Lock = crate::lock::Lock::new();
    // SAFETY: the list is guarded by the lock.
    LOCK.with(|| unsafe {
        let list = &mut *(&raw mut SEMAPHORES);
        if let Err(at) = list.binary_search(&s) {
            list.insert(at, s);
            let mut count: c_int = 0;
            libc::sem_getvalue(s as *mut libc::sem_t, &mut count);
            put(t, SyncKind::SemInit, s, count.max(0) as usize, pc);
        }
    });
}

unsafe extern "C-unwind" fn sem_init_fn(
    s: usize,
    shared: c_int,
    value: c_uint,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let r = real!(sem_init(s: usize, shared: c_int, value: c_uint) -> c_int);
        let t = enter();
        if !t.is_null() {
            if r == 0 {
                (*(&raw mut SEMAPHORES)).retain(|&known| known != s);
                know_semaphore(t, s, pc);
            }
            leave(t);
        }
        r
    }
}

unsafe fn down(
    s: usize,
    pc: usize,
    patience: Patience,
    name: &'static str,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let waits = !matches!(patience, Patience::None);
        if waits {
            crate::cancel::point(t);
        }
        know_semaphore(t, s, pc);
        let attempt = || match real!(sem_trywait(s: usize) -> c_int) {
            0 => 0,
            _ => match *libc::__errno_location() {
                libc::EAGAIN => EBUSY,
                other => other,
            },
        };
        // Shared between processes (glibc).
        let shared = *((s + 8) as *const u32) != 0;
        let r = if waits && ((*t).parallel || shared) {
            step(t, Kind::Down, pc);
            let r = if (*t).parallel { real() } else { outside::call(t, name, pc, real) };
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
}

unsafe extern "C-unwind" fn sem_wait_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { down(s, pc, Patience::Forever, "sem_wait", &|| real!(sem_wait(s: usize) -> c_int)) }
}

unsafe extern "C-unwind" fn sem_trywait_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { down(s, pc, Patience::None, "sem_trywait", &|| real!(sem_trywait(s: usize) -> c_int)) }
}

unsafe extern "C-unwind" fn sem_timedwait_fn(s: usize, at: *const timespec, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let patience = until(libc::CLOCK_REALTIME, at).map_or(Patience::Forever, Patience::Until);
        down(
            s,
            pc,
            patience,
            "sem_timedwait",
            &|| real!(sem_timedwait(s: usize, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn sem_clockwait_fn(
    s: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let patience = until(clock, at).map_or(Patience::Forever, Patience::Until);
        down(
            s,
            pc,
            patience,
            "sem_clockwait",
            &|| real!(sem_clockwait(s: usize, clock: c_int, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn sem_post_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(sem_post(s: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        know_semaphore(t, s, pc);
        step(t, Kind::Post, pc);
        put(t, SyncKind::Post, s, 0, pc);
        let r = real();
        wake_waiters(&[WaitingFor::Semaphore], s, usize::MAX);
        leave(t);
        r
    }
}

// ---- barriers

struct Barrier {
    at: usize,
    parties: u32,
    arrived: u32,
}

static mut BARRIERS: Vec<Barrier> = Vec::new();

unsafe extern "C-unwind" fn barrier_init(b: usize, attr: usize, n: c_uint, pc: usize) -> c_int {
    // SAFETY: as the program's own call; the list is touched under the baton.
    unsafe {
        let r = real!(pthread_barrier_init(b: usize, attr: usize, n: c_uint) -> c_int);
        let t = enter();
        if !t.is_null() {
            if r == 0 {
                sched::LOCK.with(|| {
                    let list = &mut *(&raw mut BARRIERS);
                    list.retain(|known| known.at != b);
                    list.push(Barrier { at: b, parties: n, arrived: 0 });
                });
                put(t, SyncKind::BarrierInit, b, n as usize, pc);
            }
            leave(t);
        }
        r
    }
}

unsafe extern "C-unwind" fn barrier_wait(b: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call; the list is touched under the baton.
    unsafe {
        let real = || real!(pthread_barrier_wait(b: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        step(t, Kind::Arrive, pc);
        put(t, SyncKind::Arrive, b, 0, pc);
        // Only the one with the baton looks at the list.
        let list = &mut *(&raw mut BARRIERS);
        let found = if (*t).parallel { None } else { list.iter_mut().find(|known| known.at == b) };
        let r = match found {
            Some(barrier) => {
                barrier.arrived += 1;
                if barrier.arrived == barrier.parties {
                    barrier.arrived = 0;
                    wake_waiters(&[WaitingFor::Barrier], b, usize::MAX);
                    libc::PTHREAD_BARRIER_SERIAL_THREAD
                } else {
                    let what = WaitingFor::Barrier;
                    let w = Waiting { what, object: b, pc, owner_at: 0, between: true };
                    while block(t, w, None) == Wake::Interrupt {
                        crate::signal::deliver(t);
                    }
                    0
                }
            }
            _ if (*t).parallel => real(),
            _ => outside::call(t, "pthread_barrier_wait", pc, &real),
        };
        step(t, Kind::Leave, pc);
        put(t, SyncKind::Leave, b, 0, pc);
        leave(t);
        r
    }
}

// ---- one-time initialisation

/// One step on the control word, as an atomic access: whoever sees "done" comes after it.
unsafe fn once_step(t: *mut Thread, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Atomic, pc);
        let (pc, addr) = (pc as u64, at as u64);
        let (old, new) = ([old, 0], [new, 0]);
        thread::put(t, &Record::Atomic { kind, size: 4, order: 4, pc, addr, old, new });
    }
}

/// Marks the initialisation as not begun when it is left by an exception or a cancellation.
struct Undo(*mut u32);
impl Drop for Undo {
    fn drop(&mut self) {
        // SAFETY: the program's own control word.
        unsafe {
            *self.0 = 0;
            wake_waiters(&[WaitingFor::Once], self.0 as usize, usize::MAX);
        }
    }
}

pub(crate) unsafe extern "C-unwind" fn once(control: *mut u32, f: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call. The values are the C library's: 0 new, 1 under way,
    // 2 done.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).parallel {
            if !t.is_null() {
                leave(t);
            }
            let r = real!(pthread_once(control: *mut u32, f: usize) -> c_int);
            let t = enter();
            if !t.is_null() {
                once_step(t, AtomicKind::Load, control as usize, 2, 0, pc);
                leave(t);
            }
            return r;
        }
        let at = control as usize;
        loop {
            match *control {
                2 => {
                    once_step(t, AtomicKind::Load, at, 2, 0, pc);
                    break;
                }
                0 => {
                    *control = 1;
                    once_step(t, AtomicKind::Update, at, 0, 1, pc);
                    leave(t);
                    let undo = Undo(control);
                    let f: unsafe extern "C-unwind" fn() = std::mem::transmute(f);
                    f();
                    std::mem::forget(undo);
                    let t = enter();
                    if !t.is_null() {
                        once_step(t, AtomicKind::Store, at, 0, 2, pc);
                        *control = 2;
                        wake_waiters(&[WaitingFor::Once], at, usize::MAX);
                        leave(t);
                    } else {
                        *control = 2;
                    }
                    return 0;
                }
                _ => {
                    let what = WaitingFor::Once;
                    let w = Waiting { what, object: at, pc, owner_at: 0, between: true };
                    if block(t, w, None) == Wake::Interrupt {
                        crate::signal::deliver(t);
                    }
                }
            }
        }
        leave(t);
        0
    }
}

unsafe extern "C-unwind" fn call_once_fn(control: *mut u32, f: usize, pc: usize) {
    // SAFETY: as the program's own call; the control words are the same.
    unsafe {
        once(control, f, pc);
    }
}

/// Guards of function-local statics (Itanium C++ ABI): byte 0 done, byte 1 under way.
unsafe extern "C-unwind" fn guard_acquire(guard: *mut u8, pc: usize) -> c_int {
    // SAFETY: the program's own guard.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).parallel {
            if !t.is_null() {
                leave(t);
            }
            return real!(__cxa_guard_acquire(guard: *mut u8) -> c_int);
        }
        let at = guard as usize;
        let r = loop {
            if *guard != 0 {
                guard_step(t, AtomicKind::Load, at, 1, 0, pc);
                break 0;
            }
            if *guard.add(1) == 0 {
                *guard.add(1) = 1;
                guard_step(t, AtomicKind::Load, at, 0, 0, pc);
                break 1;
            }
            let w = Waiting { what: WaitingFor::Once, object: at, pc, owner_at: 0, between: true };
            if block(t, w, None) == Wake::Interrupt {
                crate::signal::deliver(t);
            }
        };
        leave(t);
        r
    }
}

unsafe fn guard_step(t: *mut Thread, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Atomic, pc);
        let (pc, addr) = (pc as u64, at as u64);
        let (old, new) = ([old, 0], [new, 0]);
        thread::put(t, &Record::Atomic { kind, size: 1, order: 2, pc, addr, old, new });
    }
}

unsafe fn guard_end(guard: *mut u8, done: bool, pc: usize, real: &dyn Fn()) {
    // SAFETY: the program's own guard.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).parallel {
            if !t.is_null() {
                leave(t);
            }
            return real();
        }
        if done {
            guard_step(t, AtomicKind::Store, guard as usize, 0, 1, pc);
            *guard = 1;
        }
        *guard.add(1) = 0;
        wake_waiters(&[WaitingFor::Once], guard as usize, usize::MAX);
        leave(t);
    }
}

unsafe extern "C-unwind" fn guard_release(guard: *mut u8, pc: usize) {
    // SAFETY: the program's own guard.
    unsafe { guard_end(guard, true, pc, &|| real!(__cxa_guard_release(guard: *mut u8))) }
}

unsafe extern "C-unwind" fn guard_abort(guard: *mut u8, pc: usize) {
    // SAFETY: the program's own guard.
    unsafe { guard_end(guard, false, pc, &|| real!(__cxa_guard_abort(guard: *mut u8))) }
}

// ---- C11: the same objects under other names; results are translated

const fn thrd(r: c_int) -> c_int {
    match r {
        0 => 0,
        EBUSY => 1,
        libc::ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

macro_rules! c11_fns {
    ($($name:ident ( $($arg:ident : $t:ty),* ) = $imp:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name($($arg: $t,)* pc: usize) -> c_int {
            // SAFETY: as the program's own call.
            thrd(unsafe { $imp($($arg,)* pc) })
        }
    )*};
}
c11_fns! {
    mtx_lock_fn(m: usize) = mutex_lock;
    mtx_trylock_fn(m: usize) = mutex_trylock;
    mtx_timedlock_fn(m: usize, at: *const timespec) = mutex_timedlock;
    mtx_unlock_fn(m: usize) = mutex_unlock;
    cnd_wait_fn(c: usize, m: usize) = cond_wait;
    cnd_timedwait_fn(c: usize, m: usize, at: *const timespec) = cond_timedwait;
    cnd_signal_fn(c: usize) = cond_signal;
    cnd_broadcast_fn(c: usize) = cond_broadcast;
}

entries! {
    pthread_mutex_init => mutex_init, "rdx";
    pthread_mutex_destroy => mutex_destroy, "rsi";
    pthread_mutex_lock => mutex_lock, "rsi";
    pthread_mutex_trylock => mutex_trylock, "rsi";
    pthread_mutex_timedlock => mutex_timedlock, "rdx";
    pthread_mutex_clocklock => mutex_clocklock, "rcx";
    pthread_mutex_unlock => mutex_unlock, "rsi";
    pthread_spin_init => spin_init, "rdx";
    pthread_spin_destroy => spin_destroy, "rsi";
    pthread_spin_lock => spin_lock, "rsi";
    pthread_spin_trylock => spin_trylock, "rsi";
    pthread_spin_unlock => spin_unlock, "rsi";
    pthread_rwlock_init => rwlock_init, "rdx";
    pthread_rwlock_destroy => rwlock_destroy, "rsi";
    pthread_rwlock_rdlock => rwlock_rdlock, "rsi";
    pthread_rwlock_tryrdlock => rwlock_tryrdlock, "rsi";
    pthread_rwlock_timedrdlock => rwlock_timedrdlock, "rdx";
    pthread_rwlock_clockrdlock => rwlock_clockrdlock, "rcx";
    pthread_rwlock_wrlock => rwlock_wrlock, "rsi";
    pthread_rwlock_trywrlock => rwlock_trywrlock, "rsi";
    pthread_rwlock_timedwrlock => rwlock_timedwrlock, "rdx";
    pthread_rwlock_clockwrlock => rwlock_clockwrlock, "rcx";
    pthread_rwlock_unlock => rwlock_unlock, "rsi";
    pthread_cond_init => cond_init, "rdx";
    pthread_cond_destroy => cond_destroy, "rsi";
    pthread_cond_wait => cond_wait, "rdx";
    pthread_cond_timedwait => cond_timedwait, "rcx";
    pthread_cond_clockwait => cond_clockwait, "r8";
    pthread_cond_signal => cond_signal, "rsi";
    pthread_cond_broadcast => cond_broadcast, "rsi";
    pthread_barrier_init => barrier_init, "rcx";
    pthread_barrier_destroy => barrier_destroy, "rsi";
    pthread_barrier_wait => barrier_wait, "rsi";
    pthread_once => once, "rdx";
    sem_init => sem_init_fn, "rcx";
    sem_destroy => sem_destroy_fn, "rsi";
    sem_wait => sem_wait_fn, "rsi";
    sem_trywait => sem_trywait_fn, "rsi";
    sem_timedwait => sem_timedwait_fn, "rdx";
    sem_clockwait => sem_clockwait_fn, "rcx";
    sem_post => sem_post_fn, "rsi";
    __cxa_guard_acquire => guard_acquire, "rsi";
    __cxa_guard_release => guard_release, "rsi";
    __cxa_guard_abort => guard_abort, "rsi";
    mtx_init => mtx_init_fn, "rdx";
    mtx_destroy => mtx_destroy_fn, "rsi";
    mtx_lock => mtx_lock_fn, "rsi";
    mtx_trylock => mtx_trylock_fn, "rsi";
    mtx_timedlock => mtx_timedlock_fn, "rdx";
    mtx_unlock => mtx_unlock_fn, "rsi";
    cnd_init => cnd_init_fn, "rsi";
    cnd_destroy => cnd_destroy_fn, "rsi";
    cnd_wait => cnd_wait_fn, "rdx";
    cnd_timedwait => cnd_timedwait_fn, "rcx";
    cnd_signal => cnd_signal_fn, "rsi";
    cnd_broadcast => cnd_broadcast_fn, "rsi";
    call_once => call_once_fn, "rdx";
}
