//! Constants and primitives of the byte layout.
//!
//! # File
//! One header page of [`HEADER_LEN`] bytes, then chunks of [`CHUNK_LEN`] bytes. A chunk opens
//! with [`CHUNK_HEADER_LEN`] bytes: `u32` stream + 1 (0: the chunk is unused, the file ends),
//! `u32` zero, `u64` zero. Records never cross chunks; the unused rest of a chunk is zero and a
//! zero tag ends it. Every record is written payload first, tag last, so that a tag that is not
//! zero promises the whole record.
//!
//! Stream 0 of a serialized log (record, replay) holds everything in the one true order; a
//! `Switch` record says whose records follow. In a parallel log stream `k` belongs to thread `k`
//! and a `Seq` record before each counted record gives its place.
//!
//! # Records
//! A tag byte, then fields: varints (LEB128), fixed little endian, strings (varint length,
//! bytes). Three kinds are compact because nearly all records are of these kinds:
//! - tag `1WSSAAVV`: plain access. `W` write, `SS` log2 of the size, then `u16` slot, address
//!   delta (`AA`: 0, 1, 4 or 8 bytes, signed, against the slot's last address), value (`VV`: 0
//!   bytes for zero, 1, 4 or 8 bytes). The slot stands for the code address (see `Slot`).
//! - tag `010000AA`: function entry, slot and address delta; the address is that of the call.
//! - tag `01000100`: function exit.

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"FTLRAW\x00\x01";
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Length of the header page.
pub const HEADER_LEN: usize = 4096;
/// Length of a chunk.
pub const CHUNK_LEN: usize = 1 << 18;
/// Length of a chunk's header.
pub const CHUNK_HEADER_LEN: usize = 16;
/// No record is longer than this: a chunk with less room left is closed.
pub const MAX_RECORD_LEN: usize = 8192;
/// Longest string stored in a record; longer ones are cut.
pub const MAX_STRING_LEN: usize = 4000;
/// At most so many bytes of a memory range are stored.
pub const MAX_RANGE_DATA: usize = 256;
/// Number of code address slots.
pub const SLOTS: usize = 1 << 14;

/// Offsets of the header's fields.
pub mod header {
    /// `[u8; 8]` magic.
    pub const MAGIC: usize = 0;
    /// `u32` version.
    pub const VERSION: usize = 8;
    /// `u32` mode: 0 record, 1 parallel, 2 replay.
    pub const MODE: usize = 12;
    /// `u64` seed.
    pub const SEED: usize = 16;
    /// `u64` quantum.
    pub const QUANTUM: usize = 24;
    /// `u32` process id.
    pub const PID: usize = 32;
    /// `u32` length of a chunk.
    pub const CHUNK_LEN: usize = 36;
    /// `u32` why recording stopped early, see [`crate::StopReason`]; 0: it did not.
    pub const STOPPED: usize = 40;
    /// `u32` the error number that goes with it.
    pub const STOP_ERRNO: usize = 44;
    /// `u64` records lost after recording stopped early (a lower bound).
    pub const LOST: usize = 48;
}

/// Tags of the records that are not compact.
#[allow(missing_docs)]
pub mod tag {
    pub const END: u8 = 0;
    pub const SWITCH: u8 = 1;
    pub const SLOT: u8 = 2;
    pub const SEQ: u8 = 3;
    pub const MODULE: u8 = 4;
    pub const MODULE_GONE: u8 = 5;
    pub const CREATE: u8 = 6;
    pub const THREAD_BEGIN: u8 = 7;
    pub const THREAD_NAME: u8 = 8;
    pub const THREAD_END: u8 = 9;
    pub const JOIN: u8 = 10;
    pub const DETACH: u8 = 11;
    pub const ATOMIC: u8 = 12;
    pub const RANGE: u8 = 13;
    pub const WIDE: u8 = 14;
    pub const SYNC: u8 = 15;
    pub const ALLOC: u8 = 16;
    pub const FREE: u8 = 17;
    pub const MARK_BEGIN: u8 = 18;
    pub const MARK_END: u8 = 19;
    pub const CALL: u8 = 20;
    pub const RETURN: u8 = 21;
    pub const FORKED: u8 = 22;
    pub const EXEC: u8 = 23;
    pub const END_OF_PROGRAM: u8 = 24;
    pub const CRASH: u8 = 25;
    pub const DEADLOCK: u8 = 26;
    pub const STUCK: u8 = 27;
    pub const DEPARTURE: u8 = 28;
    pub const STEPS_DONE: u8 = 29;
    pub const SIGNAL: u8 = 30;
    pub const FUNC_ENTRY: u8 = 0x40;
    pub const FUNC_EXIT: u8 = 0x44;
    pub const ACCESS: u8 = 0x80;
}

/// Bytes of an address delta, and of a value, by form.
pub const FORM_LEN: [u8; 4] = [0, 1, 4, 8];

/// The same without a table in memory.
#[inline(always)]
const fn form_len(form: usize) -> usize {
    (0x0804_0100_usize >> (8 * form)) & 0xff
}

/// Forms by the number of bits that are needed.
const FORMS: [u8; 65] = {
    let mut forms = [3; 65];
    let mut bits = 0;
    while bits <= 32 {
        forms[bits] = if bits == 0 {
            0
        } else if bits <= 8 {
            1
        } else {
            2
        };
        bits += 1;
    }
    forms
};

/// The slot of a code address: a direct-mapped cache, same function for writer and tests.
#[inline(always)]
pub fn slot_of(pc: u64) -> usize {
    ((pc ^ (pc >> 14)) as usize) & (SLOTS - 1)
}

/// One slot: the code address it stands for and the last data address seen there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Slot {
    /// Code address.
    pub pc: u64,
    /// Last data address.
    pub addr: u64,
}

/// Smallest form of a signed delta. No branches: they would not be predictable.
#[inline(always)]
fn delta_form(delta: u64) -> usize {
    let sign = (delta as i64 >> 63) as u64;
    // One more bit for the sign; -1 needs one bit, 0 none.
    let magnitude = (delta ^ sign) << 1 | (sign & 1);
    value_form(magnitude)
}

/// Smallest form of a value.
#[inline(always)]
fn value_form(value: u64) -> usize {
    usize::from(FORMS[64 - value.leading_zeros() as usize])
}

/// Writes a `Slot` record that (re)defines the slot of `pc`, when it stands for another address.
/// Returns the new end.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes; `slots` points to [`SLOTS`] slots.
#[inline(always)]
unsafe fn use_slot(mut at: *mut u8, slots: *mut Slot, pc: u64) -> (*mut u8, usize) {
    let index = slot_of(pc);
    // SAFETY: promised by the caller; `index` is below SLOTS.
    unsafe {
        let slot = slots.add(index);
        if (*slot).pc != pc {
            (*slot).pc = pc;
            (*slot).addr = 0;
            at.add(1).cast::<u16>().write_unaligned(index as u16);
            at.add(3).cast::<u64>().write_unaligned(pc);
            at.write_volatile(tag::SLOT);
            at = at.add(11);
        }
    }
    (at, index)
}

/// Writes a plain access (sizes 1, 2, 4, 8 as `log2`). Returns the new end.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes; `slots` points to [`SLOTS`] slots.
#[inline(always)]
pub unsafe fn put_access(
    at: *mut u8,
    slots: *mut Slot,
    write: bool,
    log2: u8,
    pc: u64,
    addr: u64,
    value: u64,
) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe {
        let (at, index) = use_slot(at, slots, pc);
        put_access_in(at, slots.add(index), index, write, log2, addr, value)
    }
}

/// The same for a code address whose slot is known to stand for it.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes; `slot` is the slot with this index.
#[inline(always)]
pub unsafe fn put_access_in(
    at: *mut u8,
    slot: *mut Slot,
    index: usize,
    write: bool,
    log2: u8,
    addr: u64,
    value: u64,
) -> *mut u8 {
    // SAFETY: promised by the caller. Eight bytes are stored whatever the form; what spills over
    // is overwritten by the value, and the value's own spill is zero, so a zero tag follows.
    unsafe {
        let delta = addr.wrapping_sub((*slot).addr);
        (*slot).addr = addr;
        let (a, v) = (delta_form(delta), value_form(value));
        at.add(1).cast::<u16>().write_unaligned(index as u16);
        let p = at.add(3);
        p.cast::<u64>().write_unaligned(delta);
        let p = p.add(form_len(a));
        p.cast::<u64>().write_unaligned(value);
        let tag = tag::ACCESS | (u8::from(write) << 6) | (log2 << 4) | (a << 2) as u8 | v as u8;
        at.write_volatile(tag);
        p.add(form_len(v))
    }
}

/// Writes a function entry: `pc` inside the function, `call` the address it returns to.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes; `slots` points to [`SLOTS`] slots.
#[inline(always)]
pub unsafe fn put_func_entry(at: *mut u8, slots: *mut Slot, pc: u64, call: u64) -> *mut u8 {
    // SAFETY: promised by the caller; the spill of the delta is zeroed.
    unsafe {
        let (at, index) = use_slot(at, slots, pc);
        let slot = slots.add(index);
        let delta = call.wrapping_sub((*slot).addr);
        (*slot).addr = call;
        let a = delta_form(delta);
        at.add(1).cast::<u16>().write_unaligned(index as u16);
        let p = at.add(3);
        p.cast::<u64>().write_unaligned(delta);
        let p = p.add(form_len(a));
        p.cast::<u64>().write_unaligned(0);
        at.write_volatile(tag::FUNC_ENTRY | a as u8);
        p
    }
}

/// Writes a function exit.
///
/// # Safety
/// `at` is writable for a byte.
#[inline(always)]
pub unsafe fn put_func_exit(at: *mut u8) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe {
        at.write_volatile(tag::FUNC_EXIT);
        at.add(1)
    }
}

/// A cursor over a buffer that a record is written into; what does not fit is cut off.
pub(crate) struct Put<'a> {
    pub(crate) buf: &'a mut [u8],
    pub(crate) len: usize,
}

impl Put<'_> {
    pub(crate) fn u8(&mut self, v: u8) {
        if let Some(b) = self.buf.get_mut(self.len) {
            *b = v;
            self.len += 1;
        }
    }

    pub(crate) fn var(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.u8(v as u8 | 0x80);
            v >>= 7;
        }
        self.u8(v as u8);
    }

    pub(crate) fn signed(&mut self, v: i64) {
        self.var(((v << 1) ^ (v >> 63)) as u64);
    }

    pub(crate) fn bytes(&mut self, b: &[u8]) {
        let b = &b[..b.len().min(MAX_STRING_LEN)];
        self.var(b.len() as u64);
        for &x in b {
            self.u8(x);
        }
    }
}

/// A cursor over bytes that records are read from.
#[derive(Clone, Copy)]
pub(crate) struct Get<'a> {
    pub(crate) buf: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Get<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let s = self.buf.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(s)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|s| s[0])
    }

    /// `n` little endian bytes, at most 8.
    pub(crate) fn fixed(&mut self, n: usize) -> Option<u64> {
        let mut b = [0; 8];
        b.get_mut(..n)?.copy_from_slice(self.take(n)?);
        Some(u64::from_le_bytes(b))
    }

    pub(crate) fn var(&mut self) -> Option<u64> {
        let (mut v, mut shift) = (0u64, 0);
        loop {
            let b = self.u8()?;
            v |= u64::from(b & 0x7f).checked_shl(shift)?;
            if b < 0x80 {
                return Some(v);
            }
            shift += 7;
        }
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let v = self.var()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.var()?).ok()?;
        self.take(n)
    }
}
