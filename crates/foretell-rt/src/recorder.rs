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
    AccessCode, AccessKind, AtomicKind, HEAD_LEN, MAX_RANGE_DATA, Record, put_exit, put_head,
    slot_at,
};
use std::ptr::write_volatile;
use std::sync::atomic::Ordering::Relaxed;

/// Begins the record of an access that is about to take place; the access before is complete.
pub(crate) fn begin(t: Baton, access: DeferredAccess) {
    let DeferredAccess { addr, len, pc, code, volatile, source_hook, .. } = access;
    // Eight bytes are read at once; they might reach into a page that is not there.
    let compact = len <= 8 && addr & 0xfff <= 0xff8 && source_hook.is_none() && !code.is_range();
    if t.parallel() || volatile || !compact {
        t.deferred_access(|deferred| *deferred = Some(access));
        t.hot(|hot| hot.deferred = true);
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
        write_volatile(&raw mut (*stream).cur, at.add(len));
    }
}

/// Notes the hook of a read. If the access under way is the write of a copy from there, its value
/// is the one that is read.
pub(crate) fn note_source(t: Baton, addr: usize, len: usize, pc: usize) {
    // The program is about to read the source; at address zero it is about to crash.
    let there = addr >> 12 != 0;
    t.deferred_access(|deferred| {
        if let Some(write) = deferred
            && write.source_hook == Some(pc)
            && write.len == len
            && there
        {
            write.content = addr;
        }
    });
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
        Some(access) if !there(access.addr) || !there(access.addr + access.len - 1) => {
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

/// Writes the frames of the thread, which gives up the baton: another thread may use its variables
/// now.
pub(crate) fn put_frames(t: Baton) {
    if t.parallel() {
        return;
    }
    let frames = t.frames(|frames| {
        let (keep, new) = frames.not_given()?;
        // The hook returns with the stack pointer above its return address.
        let fields = |f: &Frame| [f.pc as u64, f.sp.saturating_add(8) as u64, f.fp as u64];
        Some(Record::Frames { keep: keep as u64, frames: new.iter().map(fields).collect() })
    });
    if let Some(record) = frames {
        put_raw(t, &record);
    }
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
        Some(DeferredAccess::plain(addr, code.size(), pc, code))
    }
}

/// Takes the deferred access out of the thread's state.
fn take_deferred(t: Baton) -> Option<DeferredAccess> {
    t.hot(|hot| hot.deferred = false);
    t.deferred_access(Option::take)
}

/// Takes the access that is under way back; [`begin`] begins it again.
pub(crate) fn retract(t: Baton) -> Option<DeferredAccess> {
    let deferred = take_deferred(t);
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
    let Some(access) = take_deferred(t) else { return };
    let DeferredAccess { addr, len, pc, code, content, volatile, seq, .. } = access;
    if code.is_range() {
        let known = len.min(MAX_RANGE_DATA);
        // SAFETY: the program has accessed the range, or is about to read the source of the copy.
        let data = unsafe { std::slice::from_raw_parts(content as *const u8, known) };
        return put_range(t, &access, data);
    }
    let mut value = [0u64; 2];
    for i in 0..len {
        // SAFETY: as above.
        let byte = u64::from(unsafe { (content as *const u8).add(i).read_volatile() });
        value[i / 8] |= byte << (8 * (i % 8));
    }
    // The hook of a copy takes the slow path each time: its code address gets no slot.
    if !volatile && (len == 16 || access.source_hook.is_some()) {
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
            (*t.stream()).cur = at.add(len);
        }
        return;
    }
    let (kind, old, new) = if code.writes() {
        (AtomicKind::VolatileStore, [0; 2], value)
    } else {
        (AtomicKind::VolatileLoad, value, [0; 2])
    };
    let (pc, addr, size) = (pc as u64, addr as u64, len as u8);
    put_raw(t, &Record::Atomic { kind, size, order: 0, pc, addr, old, new });
}

/// The access that is under way, if there is one.
fn pending_access(t: Baton) -> Option<DeferredAccess> {
    t.deferred_access(|deferred| *deferred).or_else(|| open_access(t))
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
    match access {
        Some(access) if access.code.is_range() => put_range(t, &access, &[]),
        Some(access) => put_wide(t, &access, None),
        None => {}
    }
}

fn put_wide(t: Baton, access: &DeferredAccess, value: Option<[u64; 2]>) {
    let DeferredAccess { addr, len, pc, seq, .. } = *access;
    if t.parallel() {
        put_seq(t, seq);
    }
    let (kind, size) = (kind_of(access), len as u8);
    put_raw(t, &Record::Wide { kind, size, pc: pc as u64, addr: addr as u64, value });
}

fn put_range(t: Baton, access: &DeferredAccess, data: &[u8]) {
    let DeferredAccess { addr, len, pc, seq, .. } = *access;
    if t.parallel() {
        put_seq(t, seq);
    }
    let (pc, addr, len) = (pc as u64, addr as u64, len as u64);
    put_raw(t, &Record::Range { kind: kind_of(access), pc, addr, len, data });
}

fn kind_of(access: &DeferredAccess) -> AccessKind {
    if access.code.writes() { AccessKind::Write } else { AccessKind::Read }
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

/// Writes that memory is new, of which an allocator is not the owner: words that the memory shares
/// with its neighbours keep their ownership.
pub(crate) fn put_new_memory(t: Baton, addr: usize, size: usize, pc: usize) {
    elision::renew(t, addr, size);
    put_raw(t, &Record::Alloc { pc: pc as u64, addr: addr as u64, size: size as u64 });
}

/// Returns the next sequence number of parallel recording.
pub(crate) fn next_seq() -> u64 {
    log::SEQ.fetch_add(1, Relaxed)
}
