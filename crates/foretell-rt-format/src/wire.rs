//! Constants and primitives of the byte layout of a log.
//!
//! # File
//! One header page of [`HEADER_LEN`] bytes ([`header`]), then chunks of [`CHUNK_LEN`] bytes. A
//! chunk can be read without those before it; no record crosses chunks.
//!
//! | bytes of a chunk | content |
//! |---|---|
//! | 0–3 | stream + 1; 0: the chunk is unused, the file ends |
//! | 4–7 | number of used bytes, header included; 0: the chunk is being written |
//! | [`CHUNK_HEADER_LEN`]… | records |
//!
//! The runtime keeps its state of writing a stream ([`Live`]) in the file: in the file's header for
//! stream 0, in the header of its first chunk for another stream. It says how far the chunk that is
//! being written has come, however the program ended.
//!
//! The file grows. The file of a serialized run may also be a ring of chunks, laid out by a process
//! that reads while the program runs ([`READY`], [`header::RING`]): the runtime takes one chunk
//! after the other in turn, and waits for the reader if the ring is full.
//!
//! Stream 0 of a serialized log (record, replay) has all records in the order of the run; a
//! `Switch` record names the thread of the records that follow. In a parallel log stream `k`
//! belongs to thread `k`, and a `Seq` record before each counted record gives its position.
//!
//! # Records
//! A record begins with its tag, an even byte, and its fields follow: varints (LEB128), fixed
//! little endian numbers, strings (varint length, bytes). Nearly all records are of three kinds
//! with a *compact* form, which begins with an odd `u16`, the head:
//!
//! | bytes | plain access | function entry | function exit |
//! |---|---|---|---|
//! | 0–1 | `slot << 1 \| 1` | `slot << 1 \| 1` | `7 << 1 \| 1` |
//! | 2–5 | low half of the address | low half of the call's address | |
//! | 6… | value, in the size of the access | | |
//!
//! The slot stands for code address, kind, size and the high half of the address. A `Slot` record
//! defines it, anew in every chunk. The last three bits of the slot are its class ([`class_of`]),
//! so that the head alone gives the length of the record: a reader can go on to the next record
//! before it has looked at the slot.
//!
//! An access is written at its hook, before it takes place. Its value is filled in at the thread's
//! next hook ([`Live::pending`] is the address).

use crate::AccessCode;

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"FTLRAW\x00\x01";
/// Version of the layout.
pub const VERSION: u32 = 6;
/// Length of the header page.
pub const HEADER_LEN: usize = 4096;
/// Limit of the numbers of threads in a valid log.
pub const MOST_THREADS: u32 = 1 << 24;
/// Length of a chunk.
pub const CHUNK_LEN: usize = 1 << 18;
/// Length of a chunk's header.
pub const CHUNK_HEADER_LEN: usize = 128;
/// Offset of [`Live`] in the first chunk of a stream other than 0.
pub const LIVE: usize = 8;
/// Greatest length of a record: a chunk with less room left is closed.
pub const MAX_RECORD_LEN: usize = 8192;
/// Longest string stored in a record; longer ones are cut.
pub const MAX_STRING_LEN: usize = 4000;
/// Greatest number of bytes of a memory range that are stored.
pub const MAX_RANGE_DATA: usize = 256;

/// Most arguments in the record of a call of a function that is not recorded.
pub const MAX_HIDDEN_ARGUMENTS: usize = 6;
/// Most frames of a thread that the log knows, from the outermost.
pub const MAX_FRAMES: usize = 64;
/// Number of slots.
pub const SLOTS: usize = 1 << 15;
/// Greatest number of `Slot` records in a chunk.
pub const MAX_SLOT_RECORDS: usize = CHUNK_LEN / SLOT_RECORD_LEN;

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
    /// `u32` reason why recording stopped early, see [`crate::StopReason`]; 0: it did not.
    pub const STOPPED: usize = 40;
    /// `u32` error number of that.
    pub const STOP_ERRNO: usize = 44;
    /// `u64` records lost after recording stopped early (a lower bound).
    pub const LOST: usize = 48;
    /// `u32` 1 once a process writes this log; other processes are not recorded.
    pub const CLAIMED: usize = 56;
    /// `u32` number of chunks of the ring; 0: the log grows.
    pub const RING: usize = 60;
    /// `u64` number of chunks of the ring that were read.
    pub const CONSUMED: usize = 64;
    /// `u64` number of chunks of the ring that were written.
    pub const PRODUCED: usize = 72;
    /// [`Live`](crate::Live) of stream 0.
    pub const LIVE: usize = 1024;
}

/// First bytes of a file that a reader has laid out as a ring, until a process takes it as its log.
pub const READY: [u8; 8] = *b"FTLRING\x00";

/// Offset in a chunk of the number of used bytes.
pub const CHUNK_USED: usize = 4;

/// Tags of the records that are not compact: even numbers.
#[allow(missing_docs)]
pub mod tag {
    pub const END: u8 = 0;
    pub const SWITCH: u8 = 2;
    pub const SLOT: u8 = 4;
    pub const SEQ: u8 = 6;
    pub const MODULE: u8 = 8;
    pub const MODULE_GONE: u8 = 10;
    pub const CREATE: u8 = 12;
    pub const THREAD_BEGIN: u8 = 14;
    pub const THREAD_NAME: u8 = 16;
    pub const THREAD_END: u8 = 18;
    pub const JOIN: u8 = 20;
    pub const DETACH: u8 = 22;
    pub const ATOMIC: u8 = 24;
    pub const RANGE: u8 = 26;
    pub const WIDE: u8 = 28;
    pub const SYNC: u8 = 30;
    pub const ALLOC: u8 = 32;
    pub const FREE: u8 = 34;
    pub const MARK_BEGIN: u8 = 36;
    pub const MARK_END: u8 = 38;
    pub const CALL: u8 = 40;
    pub const RETURN: u8 = 42;
    pub const FORKED: u8 = 44;
    pub const EXEC: u8 = 46;
    pub const END_OF_PROGRAM: u8 = 48;
    pub const CRASH: u8 = 50;
    pub const DEADLOCK: u8 = 52;
    pub const STUCK: u8 = 54;
    pub const DEPARTURE: u8 = 56;
    pub const STEPS_DONE: u8 = 58;
    pub const SIGNAL: u8 = 60;
    pub const TRAIL: u8 = 62;
    pub const ELIDED: u8 = 64;
    pub const ELISION_POINT: u8 = 66;
    pub const AFTER_ELISION_POINT: u8 = 68;
    pub const ELISION_GAP: u8 = 70;
    pub const HIDDEN_FUNCTION: u8 = 72;
    pub const HIDDEN_CALL: u8 = 74;
    pub const AFTER_OTHERS: u8 = 76;
    pub const REACHED: u8 = 78;
    pub const ALL_BLOCKED: u8 = 80;
    pub const ABORT: u8 = 82;
    pub const BENIGN: u8 = 84;
    pub const IGNORE: u8 = 86;
    pub const CHILD_OF_FORK: u8 = 88;
    pub const FRAMES: u8 = 90;
    pub const THREAD_LOCALS: u8 = 92;
}

/// The head of a function exit.
const EXIT: u16 = 7 << 1 | 1;
/// Class of function entries. The class of an access is the logarithm of its size.
pub(crate) const ENTRY_CLASS: usize = 4;
/// Lengths of compact records, by class, a byte each.
const LENGTHS: u64 = 0x0200_0006_0e0a_0807;

/// Returns the length of the compact record with this head.
#[inline(always)]
pub(crate) fn compact_len(head: u16) -> usize {
    (LENGTHS >> (8 * class_of(usize::from(head >> 1)))) as usize & 15
}

/// Whether this is the head of a function exit.
#[inline(always)]
pub(crate) fn is_exit(head: u16) -> bool {
    head == EXIT
}

/// Returns the class of a slot, by its index.
#[inline(always)]
pub(crate) fn class_of(index: usize) -> usize {
    index & 7
}

/// Length of a compact record without its value.
pub const HEAD_LEN: usize = 6;
/// Length of a `Slot` record.
const SLOT_RECORD_LEN: usize = 15;

/// State of writing a stream, as far as the reader needs it. The addresses are those of the
/// recorded program.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Live {
    /// Address of the next byte.
    pub cur: u64,
    /// Address of the chunk that is being written.
    pub chunk: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Address of the value of the access under way, if it is in this chunk.
    pub pending: u64,
}

/// A slot: the common part of compact records.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Slot {
    /// Code address and code, see [`slot_key`]. 0: the slot is not defined.
    pub key: u64,
    /// High half of the address.
    pub high: u64,
}

impl Slot {
    /// The code address.
    #[inline(always)]
    pub fn pc(self) -> u64 {
        self.key & 0x00ff_ffff_ffff_ffff
    }

    /// Size and kind of the access.
    #[inline(always)]
    pub fn code(self) -> AccessCode {
        AccessCode::from_byte((self.key >> 56) as u8)
    }

    /// Bytes of an access.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.code().compact_size()
    }

    /// Whether an access writes.
    #[inline(always)]
    pub fn writes(self) -> bool {
        self.code().writes()
    }

    /// Returns the kind of step that an access, perhaps to a range, is.
    pub fn step(self) -> crate::Kind {
        match (self.code().is_range(), self.writes()) {
            (false, false) => crate::Kind::Read,
            (false, true) => crate::Kind::Write,
            (true, false) => crate::Kind::ReadRange,
            (true, true) => crate::Kind::WriteRange,
        }
    }
}

/// Returns code address and code in one number.
#[inline(always)]
pub const fn slot_key(pc: u64, code: AccessCode) -> u64 {
    pc | (code.byte() as u64) << 56
}

/// Returns the index of the slot. Slots are a direct-mapped cache.
#[inline(always)]
pub const fn slot_of(pc: u64, code: AccessCode, high: u64) -> usize {
    let place = (pc ^ (pc >> 12) ^ high ^ ((code.writes() as u64) << 8)) as usize & (SLOTS / 8 - 1);
    place << 3 | code.class()
}

/// Writes the `Slot` record and fills the slot. Returns the new end.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes; `slot` is the slot with this index.
#[inline]
pub unsafe fn put_slot(at: *mut u8, slot: *mut Slot, index: usize, key: u64, high: u64) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe {
        *slot = Slot { key, high };
        at.write(tag::SLOT);
        at.add(1).cast::<u16>().write_unaligned(index as u16);
        at.add(3).cast::<u64>().write_unaligned(key);
        at.add(11).cast::<u32>().write_unaligned(high as u32);
        at.add(SLOT_RECORD_LEN)
    }
}

/// Writes a compact record without its value, [`HEAD_LEN`] bytes. The slot is defined.
///
/// # Safety
/// `at` is writable for [`MAX_RECORD_LEN`] bytes.
#[inline(always)]
pub unsafe fn put_head(at: *mut u8, index: usize, addr: u64) {
    // SAFETY: promised by the caller.
    unsafe {
        at.cast::<u16>().write_unaligned((index << 1 | 1) as u16);
        at.add(2).cast::<u32>().write_unaligned(addr as u32);
    }
}

/// Returns the slot of the compact record at `at`, which is not a function exit.
///
/// # Safety
/// There is one.
#[inline(always)]
pub unsafe fn slot_at(at: *const u8) -> usize {
    // SAFETY: promised by the caller.
    unsafe { usize::from(at.cast::<u16>().read_unaligned() >> 1) }
}

/// Writes a function exit. Returns the new end.
///
/// # Safety
/// `at` is writable for two bytes.
#[inline(always)]
pub unsafe fn put_exit(at: *mut u8) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe {
        at.cast::<u16>().write_unaligned(EXIT);
        at.add(2)
    }
}

/// Writes a [`crate::Record::Elided`] of `count` accesses. Returns the new end.
///
/// # Safety
/// `at` is writable for 13 bytes.
#[inline(always)]
pub unsafe fn put_elided(at: *mut u8, count: u64, key: u64) -> *mut u8 {
    // SAFETY: promised by the caller.
    unsafe {
        at.write(tag::ELIDED);
        at.add(1).cast::<u32>().write_unaligned(count as u32);
        at.add(5).cast::<u64>().write_unaligned(key);
        at.add(13)
    }
}

/// A compact record.
#[derive(Clone, Copy, Debug)]
pub enum Compact {
    /// Plain access: the slot, the address, the value.
    Access(Slot, u64, u64),
    /// Function entry: the slot, the address of the call.
    Entry(Slot, u64),
    /// Function exit.
    Exit,
}

/// The slots of a reader.
#[derive(Clone, Debug)]
pub struct Slots {
    slots: Box<[Slot; SLOTS]>,
    /// The part of the slots of accesses that most readers need, in one word: see [`Brief`].
    briefs: Box<[u64; SLOTS]>,
    used: Vec<u16>,
}

impl Default for Slots {
    fn default() -> Self {
        Slots {
            slots: Box::new([Slot::default(); SLOTS]),
            briefs: Box::new([NOT_BRIEF; SLOTS]),
            used: Vec::new(),
        }
    }
}

/// An access for a reader that needs neither code address nor value.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// Its slot.
    pub slot: u16,
    /// The low half of its address.
    pub low: u32,
    /// | bits | content |
    /// |---|---|
    /// | 9–23 | high half of the address |
    /// | 32 | 1 for a read |
    /// | 40–… | size in bytes, less one |
    bits: u64,
}

/// Stands for no access: no program has such an address.
const NOT_BRIEF: u64 = u32::MAX as u64;

impl Brief {
    fn bits(slot: Slot) -> u64 {
        // A program has addresses of 47 bits; an access to another address ends it.
        if !slot.code().is_access() || slot.high >= 1 << 15 {
            return NOT_BRIEF;
        }
        slot.high << 9 | u64::from(!slot.writes()) << 32 | (slot.size() as u64 - 1) << 40
    }

    /// Returns the access to an address by a slot with this key.
    pub fn new(key: u64, addr: u64) -> Brief {
        let slot = Slot { key, high: addr >> 32 };
        let index = slot_of(slot.pc(), slot.code(), slot.high) as u16;
        Brief { slot: index, low: addr as u32, bits: Brief::bits(slot) }
    }

    /// Returns the address without its last 23 bits; `u32::MAX` if it is not known.
    #[inline(always)]
    pub fn high(self) -> u32 {
        self.bits as u32 | self.low >> 23
    }

    /// Returns the address, if it is known.
    #[inline(always)]
    pub fn addr(self) -> u64 {
        u64::from(self.high()) << 23 | u64::from(self.low & 0x7f_ffff)
    }

    /// Returns 1 for a read, 0 for a write.
    #[inline(always)]
    pub fn reads(self) -> u8 {
        (self.bits >> 32) as u8
    }

    /// Bytes.
    #[inline(always)]
    pub fn size(self) -> usize {
        (self.bits >> 40) as usize + 1
    }

    /// Whether the address is a multiple of the size.
    #[inline(always)]
    pub fn aligned(self) -> bool {
        self.low & (self.bits >> 40) as u32 == 0
    }
}

impl Slots {
    /// Begins a new chunk: no slot is defined.
    pub fn clear(&mut self) {
        for i in self.used.drain(..) {
            self.slots[usize::from(i) % SLOTS] = Slot::default();
            self.briefs[usize::from(i) % SLOTS] = NOT_BRIEF;
        }
    }

    pub(crate) fn define(&mut self, index: u16, key: u64, high: u32) -> Option<()> {
        let slot = Slot { key, high: u64::from(high) };
        let code = slot.code();
        if !code.is_compact() || code.class() != class_of(usize::from(index)) {
            return None;
        }
        *self.slots.get_mut(usize::from(index))? = slot;
        self.briefs[usize::from(index)] = Brief::bits(slot);
        self.used.push(index);
        Some(())
    }

    /// Returns slot and address of the compact record that begins with these eight bytes, which is
    /// no function exit.
    #[inline(always)]
    pub(crate) fn head(&self, ahead: u64) -> (Slot, u64) {
        let slot = self.slots[usize::from(ahead as u16 >> 1)];
        (slot, slot.high << 32 | u64::from((ahead >> 16) as u32))
    }

    /// Returns the access that begins with these eight bytes; its head is that of an access.
    #[inline(always)]
    pub(crate) fn brief(&self, ahead: u64) -> Brief {
        let slot = ahead as u16 >> 1;
        Brief { slot, low: (ahead >> 16) as u32, bits: self.briefs[usize::from(slot)] }
    }

    /// The slot with this index.
    #[inline]
    pub fn get(&self, index: u16) -> Slot {
        self.slots.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// Returns the compact record at the start of `bytes` and its length; `None` if there is none.
    #[inline(always)]
    pub fn compact(&self, bytes: &[u8]) -> Option<(Compact, usize)> {
        // The longest compact record has 14 bytes.
        match bytes.first_chunk::<16>() {
            Some(ahead) => self.decode(ahead, 16),
            None => {
                let mut ahead = [0; 16];
                ahead[..bytes.len()].copy_from_slice(bytes);
                self.decode(&ahead, bytes.len())
            }
        }
    }

    #[inline(always)]
    fn decode(&self, b: &[u8; 16], len: usize) -> Option<(Compact, usize)> {
        let all = u128::from_le_bytes(*b);
        let head = all as u16;
        if head & 1 == 0 {
            return None;
        }
        if head == EXIT {
            return (len >= 2).then_some((Compact::Exit, 2));
        }
        let slot = self.slots[usize::from(head >> 1)];
        let addr = slot.high << 32 | u64::from((all >> 16) as u32);
        let code = slot.code();
        if code.is_access() {
            let size = slot.size();
            let unused = 64 - 8 * size as u32;
            let value = (all >> 48) as u64;
            let value = value << unused >> unused;
            return (len >= HEAD_LEN + size)
                .then_some((Compact::Access(slot, addr, value), HEAD_LEN + size));
        }
        (code == AccessCode::ENTRY && len >= HEAD_LEN)
            .then_some((Compact::Entry(slot, addr), HEAD_LEN))
    }
}

/// A cursor over a buffer that a record is written into. Bytes that do not fit are cut off.
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

    #[inline]
    pub(crate) fn var(&mut self, v: u64) {
        if let Some(room) = self.buf.get_mut(self.len..) {
            self.len += foretell_varint::write(room, v);
        }
    }

    pub(crate) fn signed(&mut self, v: i64) {
        self.var(foretell_varint::zigzag(v));
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

    #[inline]
    pub(crate) fn var(&mut self) -> Option<u64> {
        foretell_varint::read_wide(self.buf, &mut self.at).ok()
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        self.var().map(foretell_varint::unzigzag)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.var()?).ok()?;
        self.take(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back_from_any_room() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for v in edges.chain([u64::MAX, 0x0123_4567_89ab_cdef]) {
            for room in 0..24 {
                let mut buf = vec![0xff; room];
                let mut p = Put { buf: &mut buf, len: 0 };
                p.var(v);
                let len = p.len;
                let whole = (70 - (v | 1).leading_zeros() as usize) / 7;
                assert_eq!(len, whole.min(room), "{v} in {room}");
                // As many bytes as there are.
                for buf in [&buf[..], &buf[..len]] {
                    let mut g = Get { buf, at: 0 };
                    let got = g.var();
                    if len == whole {
                        assert_eq!((got, g.at), (Some(v), len), "{v} in {room}");
                    }
                }
            }
        }
    }
}
