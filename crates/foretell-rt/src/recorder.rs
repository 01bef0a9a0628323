//! Records of one thread: accesses whose value is not known yet, elided steps, call frames.
//!
//! A hook runs before the access it stands for, so the value of an access is read at the thread's
//! next hook. Most accesses are in the stream by then, with room for the value
//! ([`Stream::pending_value`]); the others are kept as a [`DeferredAccess`]. Every record that is
//! written in between is preceded by what is still missing: the value, the count of elided steps,
//! and the functions that the thread has entered and left.

use crate::log::{self, Stream};
use crate::thread::{DeferredAccess, Frame, Thread};
use foretell_rt_format::{
    AccessCode, AccessKind, AtomicKind, HEAD_LEN, Record, put_elided, put_exit, put_head, slot_at,
};
use std::sync::atomic::Ordering::Relaxed;

/// Begins the record of an access that is about to take place; what is under way was completed.
pub(crate) unsafe fn begin(t: *mut Thread, access: DeferredAccess) {
    let DeferredAccess { addr, pc, code, volatile, .. } = access;
    // SAFETY: `t` is the calling thread; a stream always has room.
    unsafe {
        // Eight bytes are read at once; they might reach into a page that is not there.
        if (*t).hot.parallel || volatile || code.size() > 8 || addr & 0xfff > 0xff8 {
            (*t).hot.deferred_access = Some(access);
            (*t).hot.deferred = true;
            return;
        }
        let at = put_compact(t, addr, pc, code);
        let stream = (*t).hot.stream;
        (*t).hot.value_pending = true;
        (*stream).pending_addr = addr;
        std::ptr::write_volatile(&raw mut (*stream).pending_value, at);
        std::ptr::write_volatile(&raw mut (*stream).cur, at.add(code.size()));
    }
}

/// Writes a compact record but for its value; returns where that goes. The caller moves the stream on.
pub(crate) unsafe fn put_compact(
    t: *mut Thread,
    addr: usize,
    pc: usize,
    code: AccessCode,
) -> *mut u8 {
    // SAFETY: a stream always has room.
    unsafe {
        let stream = (*t).hot.stream;
        if (*stream).cur > (*stream).limit {
            log::grow(stream);
        }
        let index = Stream::slot(stream, pc as u64, code, addr as u64);
        put_head((*stream).cur, index, addr as u64);
        (*stream).cur.add(HEAD_LEN)
    }
}

/// Completes the access that is under way, and says how many had no record.
#[inline]
pub(crate) unsafe fn flush(t: *mut Thread) {
    // SAFETY: `t` is the calling thread; the address was accessed by the program.
    unsafe {
        if (*t).hot.deferred {
            flush_deferred(t);
        }
        let stream = (*t).hot.stream;
        let addr = (*stream).pending_addr;
        if addr != log::scratch_word() as usize {
            let value = (*stream).pending_value;
            for i in 0..under_way(stream).1 {
                value.add(i).write((addr as *const u8).add(i).read_volatile());
            }
            Stream::settle(stream);
        }
        flush_elided(t);
        if !(*t).frames.logged_up_to_date() {
            flush_frames(t);
        }
    }
}

/// Writes which functions were left and entered.
pub(crate) unsafe fn flush_frames(t: *mut Thread) {
    // SAFETY: `t` is the calling thread; a stream always has room.
    unsafe {
        let stream = (*t).hot.stream;
        while (*t).frames.logged > (*t).frames.low {
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
            (*stream).cur = put_exit((*stream).cur);
            (*t).frames.logged -= 1;
        }
        while (*t).frames.logged < (*t).frames.depth {
            let Frame { call, pc, .. } = *(*t).frames.stack.add((*t).frames.logged);
            (*stream).cur = put_compact(t, call, pc, AccessCode::ENTRY);
            (*t).frames.logged += 1;
        }
        (*t).frames.low = (*t).frames.depth;
    }
}

/// Says how many accesses of a thread had no record.
#[inline]
pub(crate) unsafe fn flush_elided(t: *mut Thread) {
    // SAFETY: `t` is the calling thread, or one that does not run; the stream's last thread is `t`.
    unsafe {
        let count = (*t).elision.recorded_budget - (*t).hot.budget;
        if count > 0 {
            (*t).elision.recorded_budget = (*t).hot.budget;
            (*t).elision.elided_steps += count as u64;
            let stream = (*t).hot.stream;
            (*stream).cur = put_elided((*stream).cur, count as u64, (*t).elision.key());
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
        }
    }
}

/// Code address, bytes and code of the access under way, which is in the stream.
unsafe fn under_way(stream: *mut Stream) -> (u64, usize, AccessCode) {
    // SAFETY: there is one.
    unsafe {
        let index = slot_at((*stream).pending_value.sub(HEAD_LEN));
        let slot = *(*stream).slots.add(index);
        (slot.pc(), slot.size(), slot.code())
    }
}

/// Takes the access that is under way back; [`begin`] begins it again.
pub(crate) unsafe fn retract(t: *mut Thread) -> Option<DeferredAccess> {
    // SAFETY: `t` is the calling thread; what is under way is the last record of the stream.
    unsafe {
        let stream = (*t).hot.stream;
        let addr = (*stream).pending_addr;
        if !(*t).hot.deferred && addr != log::scratch_word() as usize {
            let (pc, _, code) = under_way(stream);
            (*stream).cur = (*stream).pending_value.sub(HEAD_LEN);
            Stream::settle(stream);
            let pc = pc as usize;
            return Some(DeferredAccess { addr, pc, code, volatile: false, seq: 0 });
        }
        (*t).hot.deferred = false;
        (*t).hot.deferred_access.take()
    }
}

/// Accesses that are not in the stream yet.
#[cold]
#[inline(never)]
unsafe fn flush_deferred(t: *mut Thread) {
    // SAFETY: as in `flush`.
    unsafe {
        (*t).hot.deferred = false;
        let Some(access) = (*t).hot.deferred_access.take() else { return };
        let DeferredAccess { addr, pc, code, volatile, seq } = access;
        let mut value = [0u64; 2];
        let size = code.size();
        for i in 0..size {
            let byte = u64::from((addr as *const u8).add(i).read_volatile());
            value[i / 8] |= byte << (8 * (i % 8));
        }
        if !volatile && size == 16 {
            return put_wide(t, &access, Some(value));
        }
        if (*t).hot.parallel {
            put_seq(t, seq);
        }
        if !volatile {
            let at = put_compact(t, addr, pc, code);
            at.cast::<u64>().write_unaligned(value[0]);
            (*(*t).hot.stream).cur = at.add(size);
            return;
        }
        let (kind, old, new) = if code.writes() {
            (AtomicKind::VolatileStore, [0; 2], value)
        } else {
            (AtomicKind::VolatileLoad, value, [0; 2])
        };
        let (pc, addr, size) = (pc as u64, addr as u64, size as u8);
        log::put((*t).hot.stream, &Record::Atomic { kind, size, order: 0, pc, addr, old, new });
    }
}

/// The address of the access that is under way, if there is one.
pub(crate) unsafe fn pending_addr(t: *mut Thread) -> Option<usize> {
    // SAFETY: `t` is the calling thread.
    unsafe {
        if let Some(access) = (*t).hot.deferred_access {
            return Some(access.addr);
        }
        let addr = (*(*t).hot.stream).pending_addr;
        (addr != log::scratch_word() as usize).then_some(addr)
    }
}

/// The access under way faulted: its record has no value.
pub(crate) unsafe fn flush_faulted(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let access = retract(t);
        flush_elided(t);
        flush_frames(t);
        if let Some(access) = access {
            put_wide(t, &access, None);
        }
    }
}

unsafe fn put_wide(t: *mut Thread, access: &DeferredAccess, value: Option<[u64; 2]>) {
    let DeferredAccess { addr, pc, code, seq, .. } = *access;
    let kind = if code.writes() { AccessKind::Write } else { AccessKind::Read };
    let size = code.size() as u8;
    let record = Record::Wide { kind, size, pc: pc as u64, addr: addr as u64, value };
    // SAFETY: `t` is the calling thread.
    unsafe {
        if (*t).hot.parallel {
            put_seq(t, seq);
        }
        log::put((*t).hot.stream, &record);
    }
}

unsafe fn put_seq(t: *mut Thread, seq: u64) {
    // SAFETY: the stream is the thread's own.
    unsafe {
        let stream = (*t).hot.stream;
        let delta = seq.wrapping_sub((*stream).seq);
        (*stream).seq = seq;
        log::put(stream, &Record::Seq { delta });
    }
}

/// Writes a record of this thread.
pub(crate) unsafe fn put(t: *mut Thread, record: &Record<'_>) {
    // SAFETY: `t` is the calling thread and holds the baton, or records in parallel.
    unsafe {
        if (*t).hot.parallel && record.counted() {
            put_seq(t, log::SEQ.fetch_add(1, Relaxed));
        }
        if !(*t).elision.words.is_null() {
            crate::elision::apply(t, record);
        }
        log::put((*t).hot.stream, record);
    }
}
