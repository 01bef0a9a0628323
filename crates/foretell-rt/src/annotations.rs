//! Annotations of ThreadSanitizer and of `dynamic_annotations.h`.
//!
//! | annotation | record |
//! |---|---|
//! | `__tsan_release`, `AnnotateHappensBefore` | a message is sent through a channel of that address |
//! | `__tsan_acquire`, `AnnotateHappensAfter` | the thread looks at the last message |
//! | `__tsan_mutex_post_lock`, `AnnotateRWLockAcquired` | a lock is taken, or a try failed |
//! | `__tsan_mutex_pre_unlock`, `AnnotateRWLockReleased` | a lock is released |
//! | `AnnotateBenignRace`, `AnnotateBenignRaceSized` | accesses to these bytes are atomic |
//! | `AnnotateIgnoreReadsBegin` and the like, `__tsan_ignore_thread_begin` | bytes that are accessed until the end are such bytes |
//! | `__sanitizer_unaligned_load32` and the like | a plain access |
//!
//! [`crate::client_requests`] uses the same records for the annotations of Valgrind.
//!
//! A lock that a thread takes again is recorded once. An annotation that releases a lock which the
//! thread does not hold is passed over.

use crate::access::access_at;
use crate::entry::{enter, entries, leave};
use crate::lock::Guarded;
use crate::recorder;
use crate::sched::step;
use crate::sync::put;
use crate::thread::Baton;
use crate::transfer;
use foretell_rt_format::channel::{Channel, looked};
use foretell_rt_format::{AccessCode, Kind, Record, SyncKind};
use std::collections::BTreeMap;

/// Flags of `__tsan_mutex_*`.
mod flag {
    pub(super) const READ_LOCK: usize = 1 << 3;
    pub(super) const TRY_LOCK_FAILED: usize = 1 << 5;
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// Number of times that the thread has taken it.
    pub(crate) times: usize,
    /// Whether the thread took the reader side first.
    pub(crate) reads: bool,
}

/// The locks that threads hold, by the index of the thread and the address of the lock.
static HELD: Guarded<BTreeMap<(u32, usize), Held>> = Guarded::new(BTreeMap::new());

fn channel(addr: usize) -> u64 {
    Channel::Annotation.number(&[addr as u64])
}

/// Records that what the calling thread did so far comes before an acquire of the address.
pub(crate) fn release_at(addr: usize, pc: usize) {
    if let Some(t) = enter() {
        transfer::call_step(t, pc);
        transfer::sends(t, pc, channel(addr), 1);
        leave(t);
    }
}

/// Records that the calling thread comes after the releases of the address so far.
pub(crate) fn acquire_at(addr: usize, pc: usize) {
    if let Some(t) = enter() {
        transfer::call_step(t, pc);
        let (pc, object, other) = (pc as u64, channel(addr), looked::NEW);
        recorder::put(t, &Record::Sync { kind: SyncKind::Looked, pc, object, other });
        leave(t);
    }
}

extern "C" fn acquire(addr: usize, pc: usize) {
    acquire_at(addr, pc);
}

extern "C" fn release(addr: usize, pc: usize) {
    release_at(addr, pc);
}

extern "C" fn happens_before(_file: usize, _line: usize, addr: usize, pc: usize) {
    release_at(addr, pc);
}

extern "C" fn happens_after(_file: usize, _line: usize, addr: usize, pc: usize) {
    acquire_at(addr, pc);
}

/// Keeps the locks that one thread holds, which becomes the first one, in the child of a fork.
pub(crate) fn keep_only(thread: Option<u32>) {
    HELD.with(|locks| {
        let all = std::mem::take(locks).into_iter();
        let own = all.filter(|((holder, _), _)| Some(*holder) == thread);
        *locks = own.map(|((_, addr), held)| ((0, addr), held)).collect();
    });
}

/// Notes that the calling thread takes a lock. Returns whether it did not hold it.
pub(crate) fn take(t: Baton, addr: usize, reads: bool) -> bool {
    let mut locks = HELD.lock();
    let held = locks.entry((t.index(), addr)).or_insert(Held { times: 0, reads });
    held.times += 1;
    held.times == 1
}

/// Notes that the calling thread releases a lock. Returns the lock as it was before.
pub(crate) fn give_back(t: Baton, addr: usize) -> Held {
    let mut locks = HELD.lock();
    let key = (t.index(), addr);
    let before = locks.get(&key).copied().unwrap_or_default();
    match before.times {
        0 | 1 => locks.remove(&key),
        times => locks.insert(key, Held { times: times - 1, ..before }),
    };
    before
}

/// Notes that a lock is free which another thread holds. Returns whether there is one.
pub(crate) fn give_back_any(addr: usize) -> bool {
    let mut locks = HELD.lock();
    let before = locks.len();
    locks.retain(|(_, at), _| *at != addr);
    locks.len() < before
}

/// Whether the next release of a lock by the calling thread frees it.
pub(crate) fn holds_once(t: Baton, addr: usize) -> bool {
    HELD.lock().get(&(t.index(), addr)).is_some_and(|held| held.times == 1)
}

/// Whether the calling thread holds a lock.
pub(crate) fn holds(t: Baton, addr: usize) -> bool {
    HELD.lock().contains_key(&(t.index(), addr))
}

/// Whether a thread holds a lock in a way that keeps other threads from taking it, or its reader
/// side.
pub(crate) fn is_held(addr: usize, reads: bool) -> bool {
    let excludes = |held: &Held| !(reads && held.reads);
    HELD.lock().iter().any(|((_, at), held)| *at == addr && excludes(held))
}

/// Records that the calling thread has taken a lock, or its reader side, or that a try failed.
pub(crate) fn locked(addr: usize, reads: bool, failed: bool, pc: usize) {
    let Some(t) = enter() else { return };
    let (kind, done, fails) = match reads {
        true => (Kind::ReadLock, SyncKind::ReadLock, SyncKind::TryReadFailed),
        false => (Kind::Lock, SyncKind::Lock, SyncKind::TryFailed),
    };
    if failed || take(t, addr, reads) {
        step(t, kind, pc);
        put(t, if failed { fails } else { done }, addr, 0, pc);
    }
    leave(t);
}

/// Records that the calling thread releases a lock; `reads`: whether that is its reader side, none:
/// the side that the thread took. Returns the number of times that the thread held it.
pub(crate) fn unlocked(addr: usize, reads: Option<bool>, pc: usize) -> usize {
    let Some(t) = enter() else { return 1 };
    let before = give_back(t, addr);
    if before.times == 1 {
        let reads = reads.unwrap_or(before.reads);
        step(t, Kind::Unlock, pc);
        put(t, if reads { SyncKind::ReadUnlock } else { SyncKind::Unlock }, addr, 0, pc);
    }
    leave(t);
    before.times
}

extern "C" fn post_lock(addr: usize, flags: usize, _recursion: usize, pc: usize) {
    let has = |flag| flags & flag != 0;
    locked(addr, has(flag::READ_LOCK), has(flag::TRY_LOCK_FAILED), pc);
}

extern "C" fn pre_unlock(addr: usize, flags: usize, pc: usize) -> usize {
    unlocked(addr, Some(flags & flag::READ_LOCK != 0), pc)
}

extern "C" fn rwlock_acquired(_file: usize, _line: usize, addr: usize, writes: usize, pc: usize) {
    locked(addr, writes & 0xffff_ffff == 0, false, pc);
}

extern "C" fn rwlock_released(_file: usize, _line: usize, addr: usize, writes: usize, pc: usize) {
    unlocked(addr, Some(writes & 0xffff_ffff == 0), pc);
}

fn note(record: &Record<'_>) {
    if let Some(t) = enter() {
        recorder::put(t, record);
        leave(t);
    }
}

/// Records that races on these bytes are meant to be.
pub(crate) fn benign_at(addr: usize, size: usize) {
    note(&Record::Benign { addr: addr as u64, size: size as u64 });
}

extern "C" fn benign(_file: usize, _line: usize, addr: usize) {
    benign_at(addr, 8);
}

extern "C" fn benign_sized(_file: usize, _line: usize, addr: usize, size: usize) {
    benign_at(addr, size);
}

/// Records that these bytes are new memory of the calling thread.
pub(crate) fn new_memory(addr: usize, size: usize, pc: usize) {
    if size > 0
        && let Some(t) = enter()
    {
        recorder::put_new_memory(t, addr, size, pc);
        leave(t);
    }
}

/// Records that races of the calling thread's reads, or writes, are meant to be (1), or no longer.
pub(crate) fn ignore(reads: i8, writes: i8) {
    note(&Record::Ignore { reads, writes });
}

extern "C" fn ignore_reads() {
    ignore(1, 0);
}

extern "C" fn end_ignore_reads() {
    ignore(-1, 0);
}

extern "C" fn ignore_writes() {
    ignore(0, 1);
}

extern "C" fn end_ignore_writes() {
    ignore(0, -1);
}

extern "C" fn ignore_thread() {
    ignore(1, 1);
}

extern "C" fn end_ignore_thread() {
    ignore(-1, -1);
}

macro_rules! unaligned {
    ($($t:ty, $log2:literal: $load:ident $store:ident;)*) => {$(
        unsafe extern "C" fn $load(addr: usize, pc: usize) -> $t {
            // SAFETY: the program's own access.
            unsafe {
                access_at(addr, pc, AccessCode::access($log2, false));
                (addr as *const $t).read_unaligned()
            }
        }

        unsafe extern "C" fn $store(addr: usize, value: $t, pc: usize) {
            // SAFETY: the program's own access.
            unsafe {
                access_at(addr, pc, AccessCode::access($log2, true));
                (addr as *mut $t).write_unaligned(value);
            }
        }
    )*};
}
unaligned! {
    u16, 1: load16 store16;
    u32, 2: load32 store32;
    u64, 3: load64 store64;
}

entries! {
    __tsan_acquire => acquire, "rsi";
    __tsan_release => release, "rsi";
    AnnotateHappensBefore => happens_before, "rcx";
    AnnotateHappensAfter => happens_after, "rcx";
    WTFAnnotateHappensBefore => happens_before, "rcx";
    WTFAnnotateHappensAfter => happens_after, "rcx";
    __tsan_mutex_post_lock => post_lock, "rcx";
    __tsan_mutex_pre_unlock => pre_unlock, "rdx";
    AnnotateRWLockAcquired => rwlock_acquired, "r8";
    AnnotateRWLockReleased => rwlock_released, "r8";
    AnnotateBenignRace => benign, "r8";
    AnnotateBenignRaceSized => benign_sized, "r8";
    WTFAnnotateBenignRaceSized => benign_sized, "r8";
    AnnotateIgnoreReadsBegin => ignore_reads, "r8";
    AnnotateIgnoreReadsEnd => end_ignore_reads, "r8";
    AnnotateIgnoreWritesBegin => ignore_writes, "r8";
    AnnotateIgnoreWritesEnd => end_ignore_writes, "r8";
    __tsan_ignore_thread_begin => ignore_thread, "r8";
    __tsan_ignore_thread_end => end_ignore_thread, "r8";
    __sanitizer_unaligned_load16 => load16, "rsi";
    __sanitizer_unaligned_load32 => load32, "rsi";
    __sanitizer_unaligned_load64 => load64, "rsi";
    __sanitizer_unaligned_store16 => store16, "rdx";
    __sanitizer_unaligned_store32 => store32, "rdx";
    __sanitizer_unaligned_store64 => store64, "rdx";
}
