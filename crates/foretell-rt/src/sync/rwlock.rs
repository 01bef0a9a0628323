//! Reader-writer locks of pthreads, and those of Rust's standard library.
//!
//! The locks of Rust are locks of pthreads with three differences: a reader waits while a writer
//! does, a thread that has the lock and waits for it again waits for ever, and a writer can become
//! a reader in one step.

use super::*;
use crate::sched::is_awaited;

const READER: (Kind, SyncKind, SyncKind) =
    (Kind::ReadLock, SyncKind::ReadLock, SyncKind::TryReadFailed);

/// Rules of a lock: those of pthreads, or of Rust.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Pthread,
    Rust,
}

fn take_rwlock(
    t: Baton,
    l: usize,
    pc: usize,
    write: bool,
    patience: Patience,
    rules: Rules,
) -> c_int {
    let attempt = || {
        if rules == Rules::Rust && !write && is_awaited(WaitingFor::Lock, l) {
            return EBUSY;
        }
        if write {
            real!(pthread_rwlock_trywrlock(l: usize) -> c_int)
        } else {
            real!(pthread_rwlock_tryrdlock(l: usize) -> c_int)
        }
    };
    let (kind, done, failed) = if write { MUTEX } else { READER };
    let waiting = if write { WaitingFor::Lock } else { WaitingFor::ReadLock };
    let a = Acquire { kind, done, failed, waiting, owner_at: RWLOCK_WRITER, attempt: &attempt };
    // The library refuses what would deadlock; trying would only say busy.
    let own = field(l, RWLOCK_WRITER) == sys::gettid();
    if own && rules == Rules::Pthread && !matches!(patience, Patience::None) {
        step(t, kind, pc);
        put(t, failed, l, libc::EDEADLK as usize, pc);
        return libc::EDEADLK;
    }
    acquire(t, l, pc, &a, patience)
}

macro_rules! rwlock_fns {
    ($($name:ident = $real:ident, $write:literal, $patience:expr, $rules:expr;)*) => {$(
        extern "C-unwind" fn $name(l: usize, pc: usize) -> c_int {
                let real = || real!($real(l: usize) -> c_int);
                let Some(t) = enter() else { return real() };
                let waits = !matches!($patience, Patience::None);
                let r = if waits && served_by(t, ObjectKind::RwLock, l) == ServedBy::Library {
                    native(t, l, pc, if $write { MUTEX } else { READER }, false, stringify!($real), &real)
                } else {
                    take_rwlock(t, l, pc, $write, $patience, $rules)
                };
                leave(t);
                r
        }
    )*};
}
rwlock_fns! {
    rwlock_rdlock = pthread_rwlock_rdlock, false, Patience::Forever, Rules::Pthread;
    rwlock_tryrdlock = pthread_rwlock_tryrdlock, false, Patience::None, Rules::Pthread;
    rwlock_wrlock = pthread_rwlock_wrlock, true, Patience::Forever, Rules::Pthread;
    rwlock_trywrlock = pthread_rwlock_trywrlock, true, Patience::None, Rules::Pthread;
    rust_read = pthread_rwlock_rdlock, false, Patience::Forever, Rules::Rust;
    rust_write = pthread_rwlock_wrlock, true, Patience::Forever, Rules::Rust;
}

/// Makes the writer a reader. It has both sides for a moment, so no other writer comes between.
extern "C-unwind" fn rust_downgrade(l: usize, pc: usize) -> c_int {
    let real = || {
        real!(pthread_rwlock_unlock(l: usize) -> c_int);
        real!(pthread_rwlock_rdlock(l: usize) -> c_int)
    };
    let Some(t) = enter() else { return real() };
    access_step(t, Kind::ReadLock, pc, (l, 1));
    put(t, SyncKind::ReadLock, l, 1, pc);
    let r = release(t, l, SyncKind::Unlock, pc, &real);
    leave(t);
    r
}

fn rwlock_until(
    l: usize,
    write: bool,
    clock: c_int,
    at: *const timespec,
    pc: usize,
    real: &dyn Fn() -> c_int,
) -> c_int {
    let Some(t) = enter() else { return real() };
    let r = if served_by(t, ObjectKind::RwLock, l) == ServedBy::Library {
        native(t, l, pc, if write { MUTEX } else { READER }, true, "pthread_rwlock_timed", real)
    } else {
        match until(clock, at) {
            Some(d) => take_rwlock(t, l, pc, write, Patience::Until(d), Rules::Pthread),
            None => take_rwlock(t, l, pc, write, Patience::Forever, Rules::Pthread),
        }
    };
    leave(t);
    r
}

macro_rules! rwlock_timed_fns {
    ($($timed:ident $clocked:ident = $rt:ident $rc:ident, $write:literal;)*) => {$(
        extern "C-unwind" fn $timed(l: usize, at: *const timespec, pc: usize) -> c_int {
                rwlock_until(l, $write, libc::CLOCK_REALTIME, at, pc, &|| {
                    real!($rt(l: usize, at: *const timespec) -> c_int)
                })
        }
        extern "C-unwind" fn $clocked(
            l: usize, clock: c_int, at: *const timespec, pc: usize,
        ) -> c_int {
                rwlock_until(l, $write, clock, at, pc, &|| {
                    real!($rc(l: usize, clock: c_int, at: *const timespec) -> c_int)
                })
        }
    )*};
}
rwlock_timed_fns! {
    rwlock_timedrdlock rwlock_clockrdlock =
        pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock, false;
    rwlock_timedwrlock rwlock_clockwrlock =
        pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock, true;
}

extern "C-unwind" fn rwlock_unlock(l: usize, pc: usize) -> c_int {
    let real = || real!(pthread_rwlock_unlock(l: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    let write = field(l, RWLOCK_WRITER) == sys::gettid();
    let kind = if write { SyncKind::Unlock } else { SyncKind::ReadUnlock };
    let r = release(t, l, kind, pc, &real);
    leave(t);
    r
}

entries! {
    pthread_rwlock_rdlock => rwlock_rdlock, "rsi";
    pthread_rwlock_tryrdlock => rwlock_tryrdlock, "rsi";
    pthread_rwlock_timedrdlock => rwlock_timedrdlock, "rdx";
    pthread_rwlock_clockrdlock => rwlock_clockrdlock, "rcx";
    pthread_rwlock_wrlock => rwlock_wrlock, "rsi";
    pthread_rwlock_trywrlock => rwlock_trywrlock, "rsi";
    pthread_rwlock_timedwrlock => rwlock_timedwrlock, "rdx";
    pthread_rwlock_clockwrlock => rwlock_clockwrlock, "rcx";
    pthread_rwlock_unlock => rwlock_unlock, "rsi";
    __foretell_rwlock_read => rust_read, "rsi";
    __foretell_rwlock_write => rust_write, "rsi";
    __foretell_rwlock_downgrade => rust_downgrade, "rsi";
}
