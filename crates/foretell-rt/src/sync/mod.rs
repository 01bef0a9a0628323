//! Locks, conditions, semaphores, barriers, one-time initialisation.
//!
//! Locks and semaphores keep their real state: the non-blocking operation of the C library
//! decides, so that types, attributes and errors are the library's own. Conditions, barriers
//! and one-time initialisation are modelled here. Process-shared objects are left to the library,
//! as a blocking call: see [`served_by`], which decides for every kind of object.

mod barrier;
mod condition;
pub(crate) mod library_lock;
mod lifecycle;
mod mutex;
mod once;
mod rust_lock;
mod rwlock;
mod semaphore;
mod served_by;
mod stdio;

use crate::blocking_call;
use crate::entry::{enter, entries, leave};
use crate::modules::caller;
use crate::real::real;
use crate::recorder;
use crate::sched::{Deadline, Waiting, access_step, block, step, wake_waiters};
use crate::sys::{self, now_ns};
use crate::thread::{Baton, Wake};
pub(crate) use barrier::log_all as log_barriers;
use foretell_rt_format::{AtomicKind, Kind, Record, SyncKind, WaitingFor};
use libc::{EBUSY, ETIMEDOUT, timespec};
pub(crate) use mutex::release_orphans;
use mutex::was_orphaned;
pub(crate) use semaphore::reset;
use served_by::{ObjectKind, ServedBy, served_by};
use std::ffi::{c_int, c_uint};

/// Offset of the owner's thread id in a mutex, and in a reader-writer lock (glibc, x86-64).
pub(super) const MUTEX_OWNER: usize = 8;
pub(super) const RWLOCK_WRITER: usize = 24;

/// Reads a field of an object of the program.
pub(super) fn field(object: usize, offset: usize) -> u32 {
    // SAFETY: the object is the program's own, and the offset is within it.
    unsafe { *((object + offset) as *const u32) }
}

/// Writes the record of a synchronisation.
pub(crate) fn put(t: Baton, kind: SyncKind, object: usize, other: usize, pc: usize) {
    let (pc, object, other) = (pc as u64, object as u64, other as u64);
    recorder::put(t, &Record::Sync { kind, pc, object, other });
}

/// Orders the rest of the calling thread after what the other threads have done: it may have waited
/// for one of them in a way that no record says.
pub(crate) fn put_after_others(t: Baton) {
    if !t.parallel() {
        recorder::put(t, &Record::AfterOthers);
    }
}

/// Returns the deadline of an absolute time on a clock; `None` if the time is not valid.
pub(crate) fn until(clock: c_int, at: *const timespec) -> Option<Deadline> {
    // SAFETY: the program's own time.
    let ts = unsafe { *at };
    if !(0..1_000_000_000).contains(&ts.tv_nsec) {
        return None;
    }
    let at = (ts.tv_sec.max(0) as u64).saturating_mul(1_000_000_000) + ts.tv_nsec as u64;
    Some(Deadline::after(at.saturating_sub(now_ns(clock))))
}

/// One kind of acquisition.
pub(super) struct Acquire<'a> {
    pub(super) kind: Kind,
    pub(super) done: SyncKind,
    pub(super) failed: SyncKind,
    pub(super) waiting: WaitingFor,
    pub(super) owner_at: usize,
    /// The non-blocking operation; `EBUSY`: the object is not available.
    pub(super) attempt: &'a dyn Fn() -> c_int,
}

/// The time that an acquisition may take.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    None,
    Until(Deadline),
    Forever,
}

impl Patience {
    /// Whether the acquisition cannot wait for ever: it is in no deadlock.
    pub(super) fn ends(self) -> bool {
        !matches!(self, Patience::Forever)
    }
}

/// Acquires an object, waiting for it as long as the patience allows.
pub(super) fn acquire(
    t: Baton,
    object: usize,
    pc: usize,
    a: &Acquire<'_>,
    patience: Patience,
) -> c_int {
    access_step(t, a.kind, pc, (object, 1));
    loop {
        let r = (a.attempt)();
        // The result tells of the end of the owner, and of what was done about it since.
        if r == libc::EOWNERDEAD || (r != EBUSY && was_orphaned(object)) {
            put_after_others(t);
        }
        if r == 0 || r == libc::EOWNERDEAD {
            put(t, a.done, object, usize::from(patience.ends()), pc);
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
                if a.waiting == WaitingFor::Semaphore && t.signalled() {
                    crate::signal::deliver(t);
                    put(t, a.failed, object, 0, pc);
                    return libc::EINTR;
                }
                crate::signal::deliver(t);
            }
        }
    }
}

/// The waits that the release of a lock may end.
pub(super) const LOCKERS: [WaitingFor; 2] = [WaitingFor::Lock, WaitingFor::ReadLock];

/// Performs an acquisition that the library serves, and records that; `timed` if it cannot wait
/// for ever.
pub(super) fn native(
    t: Baton,
    object: usize,
    pc: usize,
    (kind, done, failed): (Kind, SyncKind, SyncKind),
    timed: bool,
    name: &'static str,
    f: &dyn Fn() -> c_int,
) -> c_int {
    access_step(t, kind, pc, (object, 1));
    let r = blocking_call::call(t, name, pc, f);
    put_after_others(t);
    let taken = r == 0 || r == libc::EOWNERDEAD;
    let (kind, other) = if taken { (done, usize::from(timed)) } else { (failed, 0) };
    put(t, kind, object, other, pc);
    r
}

pub(super) const MUTEX: (Kind, SyncKind, SyncKind) =
    (Kind::Lock, SyncKind::Lock, SyncKind::TryFailed);

/// Releases a lock and lets the threads that wait for it try again.
pub(super) fn release(
    t: Baton,
    object: usize,
    kind: SyncKind,
    pc: usize,
    f: &dyn Fn() -> c_int,
) -> c_int {
    access_step(t, Kind::Unlock, pc, (object, 1));
    // In parallel the record's place must come before the real operation.
    put(t, kind, object, 0, pc);
    let r = f();
    wake_waiters(&LOCKERS, object, usize::MAX);
    r
}

/// Returns the result of a C11 function for an error number.
pub(super) const fn thrd(r: c_int) -> c_int {
    match r {
        0 => 0,
        EBUSY => 1,
        libc::ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

/// C11 functions on pthread objects; results are translated.
macro_rules! c11_fns {
    ($($name:ident ( $($arg:ident : $t:ty),* ) = $imp:ident;)*) => {$(
        extern "C-unwind" fn $name($($arg: $t,)* pc: usize) -> c_int {
            thrd($imp($($arg,)* pc))
        }
    )*};
}
pub(super) use c11_fns;
