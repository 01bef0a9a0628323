//! Records of one thread: accesses whose value is not known yet, elided steps, call frames.
//!
//! A hook runs before the access it stands for, so the value of an access is read at the thread's
//! next hook. Most accesses are in the stream by then, with room for the value
//! ([`Stream::pending_value`]); the others are kept as a [`DeferredAccess`]. Every record that is
//! written in between is preceded by what is still missing: the value, the count of elided steps,
//! and the functions that the thread has entered and left.

use crate::elision;
use crate::log::{self, Stream};
use crate::sys::readable;
use crate::thread::{Baton, DeferredAccess, Frame, flush_elided};
use foretell_rt_format::{
    AccessCode, AccessKind, AtomicKind, HEAD_LEN, Record, put_exit, put_head, slot_at,
};
use std::ptr::write_volatile;
use std::sync::atomic::Ordering::Relaxed;

/// Begins the record of an access that is about to take place; the access before is complete.
pub(crate) fn begin(t: Baton, access: DeferredAccess) {
    let DeferredAccess { addr, pc, code, volatile, .. } = access;
    // Eight bytes are read at once; they might reach into a page that is not there.
    if t.parallel() || volatile || code.size() > 8 || addr & 0xfff > 0xff8 {
        t.hot(|hot| {
            hot.deferred_access = Some(access);
            hot.deferred = true;
        });
        return;
    }
    let at = put_compact(t, addr, pc, code);
    t.hot(|hot| hot.value_pending = true);
    let stream = t.stream();
    // SAFETY: the stream is the caller's; the record and its value are within it. Volatile, because
    // the reader may look at any time.
    unsafe {
        (*stream).pending_addr = addr;
        write_volatile(&raw mut (*stream).pending_value, at);
        write_volatile(&raw mut (*stream).cur, at.add(code.size()));
    }
}

/// Writes a compact record but for its value; returns where the value goes. The caller moves the
/// stream on.
fn put_compact(t: Baton, addr: usize, pc: usize, code: AccessCode) -> *mut u8 {
    let stream = t.stream();
    // SAFETY: the stream is the caller's; it always has room for a record.
    unsafe {
        if (*stream).cur > (*stream).limit {
            log::grow(stream);
        }
        let index = Stream::slot(stream, pc as u64, code, addr as u64);
        put_head((*stream).cur, index, addr as u64);
        (*stream).cur.add(HEAD_LEN)
    }
}

/// Writes the entry of a function.
pub(crate) fn put_entry(t: Baton, call: usize, pc: usize) {
    let end = put_compact(t, call, pc, AccessCode::ENTRY);
    // SAFETY: the stream is the caller's.
    unsafe { (*t.stream()).cur = end };
}

/// Writes what is missing: the value of the access under way, the number of elided steps, the
/// functions left and entered.
#[inline]
pub(crate) fn flush(t: Baton) {
    if t.hot(|hot| hot.deferred) {
        flush_deferred(t);
    }
    if let Some(access) = open_access(t) {
        let stream = t.stream();
        // SAFETY: the program has accessed the address; the value's bytes are in the stream.
        unsafe {
            let value = (*stream).pending_value;
            for i in 0..access.code.size() {
                value.add(i).write((access.addr as *const u8).add(i).read_volatile());
            }
            Stream::settle(stream);
        }
    }
    flush_elided(t);
    flush_frames(t);
}

/// Writes what is missing for a thread that sleeps, or is gone: the access under way has been made,
/// but its memory may be gone, too.
pub(crate) fn flush_for(t: Baton) {
    let there = |addr: usize| readable((addr & !7) as *const u8);
    match pending_access(t) {
        Some(access) if !there(access.addr) || !there(access.addr + access.code.size() - 1) => {
            flush_faulted(t);
        }
        _ => flush(t),
    }
}

/// Writes which functions were left and entered.
#[inline]
pub(crate) fn flush_frames(t: Baton) {
    if t.frames(|frames| frames.logged_up_to_date()) {
        return;
    }
    let stream = t.stream();
    while t.frames(|frames| frames.logged > frames.low) {
        // SAFETY: the stream is the caller's; it always has room for a record.
        unsafe {
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
            (*stream).cur = put_exit((*stream).cur);
        }
        t.frames(|frames| frames.logged -= 1);
    }
    while let Some(Frame { call, pc, .. }) = t.frames(|frames| frames.next_unlogged()) {
        put_entry(t, call, pc);
    }
    t.frames(|frames| frames.low = frames.depth);
}

/// The access under way that is in the stream, if there is one.
fn open_access(t: Baton) -> Option<DeferredAccess> {
    let stream = t.stream();
    // SAFETY: the stream is the caller's; the record before the value has a slot.
    unsafe {
        let addr = (*stream).pending_addr;
        if addr == log::scratch_word() as usize {
            return None;
        }
        let index = slot_at((*stream).pending_value.sub(HEAD_LEN));
        let slot = *(*stream).slots.add(index);
        let (pc, code) = (slot.pc() as usize, slot.code());
        Some(DeferredAccess { addr, pc, code, volatile: false, seq: 0 })
    }
}

/// Takes the access that is under way back; [`begin`] begins it again.
pub(crate) fn retract(t: Baton) -> Option<DeferredAccess> {
    let deferred = t.hot(|hot| {
        hot.deferred = false;
        hot.deferred_access.take()
    });
    if deferred.is_some() {
        return deferred;
    }
    let access = open_access(t)?;
    let stream = t.stream();
    // SAFETY: the record of the access is the last of the caller's stream.
    unsafe {
        (*stream).cur = (*stream).pending_value.sub(HEAD_LEN);
        Stream::settle(stream);
    }
    Some(access)
}

/// Writes the deferred access, whose value is known now.
#[cold]
#[inline(never)]
fn flush_deferred(t: Baton) {
    let taken = t.hot(|hot| {
        hot.deferred = false;
        hot.deferred_access.take()
    });
    let Some(access) = taken else { return };
    let DeferredAccess { addr, pc, code, volatile, seq } = access;
    let mut value = [0u64; 2];
    let size = code.size();
    for i in 0..size {
        // SAFETY: the program has accessed the address.
        let byte = u64::from(unsafe { (addr as *const u8).add(i).read_volatile() });
        value[i / 8] |= byte << (8 * (i % 8));
    }
    if !volatile && size == 16 {
        return put_wide(t, &access, Some(value));
    }
    if t.parallel() {
        put_seq(t, seq);
    }
    if !volatile {
        let at = put_compact(t, addr, pc, code);
        // SAFETY: the stream has room for the value, and eight bytes more.
        unsafe {
            at.cast::<u64>().write_unaligned(value[0]);
            (*t.stream()).cur = at.add(size);
        }
        return;
    }
    let (kind, old, new) = if code.writes() {
        (AtomicKind::VolatileStore, [0; 2], value)
    } else {
        (AtomicKind::VolatileLoad, value, [0; 2])
    };
    let (pc, addr, size) = (pc as u64, addr as u64, size as u8);
    put_raw(t, &Record::Atomic { kind, size, order: 0, pc, addr, old, new });
}

/// The access that is under way, if there is one.
fn pending_access(t: Baton) -> Option<DeferredAccess> {
    t.hot(|hot| hot.deferred_access).or_else(|| open_access(t))
}

/// The address of the access that is under way, if there is one.
pub(crate) fn pending_addr(t: Baton) -> Option<usize> {
    pending_access(t).map(|access| access.addr)
}

/// Writes what is missing; the access under way faulted, and its record has no value.
pub(crate) fn flush_faulted(t: Baton) {
    let access = retract(t);
    flush_elided(t);
    flush_frames(t);
    if let Some(access) = access {
        put_wide(t, &access, None);
    }
}

fn put_wide(t: Baton, access: &DeferredAccess, value: Option<[u64; 2]>) {
    let DeferredAccess { addr, pc, code, seq, .. } = *access;
    let kind = if code.writes() { AccessKind::Write } else { AccessKind::Read };
    let size = code.size() as u8;
    if t.parallel() {
        put_seq(t, seq);
    }
    put_raw(t, &Record::Wide { kind, size, pc: pc as u64, addr: addr as u64, value });
}

/// Writes the sequence number of the next record, in parallel recording.
fn put_seq(t: Baton, seq: u64) {
    let stream = t.stream();
    // SAFETY: the stream is the thread's own.
    let before = unsafe { std::mem::replace(&mut (*stream).seq, seq) };
    put_raw(t, &Record::Seq { delta: seq.wrapping_sub(before) });
}

/// Writes a record as it is.
fn put_raw(t: Baton, record: &Record<'_>) {
    // SAFETY: the caller holds the baton, or the stream is its own.
    unsafe { log::put(t.stream(), record) };
}

/// Writes a record of the calling thread.
pub(crate) fn put(t: Baton, record: &Record<'_>) {
    if t.parallel() && record.counted() {
        put_seq(t, next_seq());
    }
    elision::apply(t, record);
    put_raw(t, record);
}

/// Returns the next sequence number of parallel recording.
pub(crate) fn next_seq() -> u64 {
    log::SEQ.fetch_add(1, Relaxed)
}
