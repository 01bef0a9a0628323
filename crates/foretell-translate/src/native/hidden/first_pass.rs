//! Accesses in the first pass: references to blocks, and values that nothing explains.
//!
//! - The first use of a block that nothing explains is ordered after the last uses of it by other
//!   threads ([`super::provenance`]).
//! - A word that a thread reads with a value which no recorded write explains ([`super::contents`])
//!   is *written by hidden code*. All accesses to it, in the whole run, update the hidden state of
//!   its object. Such a read is ordered after everything that other threads have done so far,
//!   unless a hidden call was given the object since the last access to the word: then the state of
//!   the object orders the two.
//! - A wait for a futex whose word no recorded code of another thread accesses was ended by code
//!   that is not recorded. What follows is ordered after everything that other threads have done.
//! - A hidden call may write what it is given: the first [`GIVEN`] bytes count as written.
//! - A hidden call of a function that is known to use nothing but what it is given reads it, too: a
//!   word among these bytes that recorded code of another thread writes is treated as one that
//!   hidden code writes, so that the state of the object orders the write and the call.

use foretell_log::PlainAccess;
use foretell_rt_format::{AccessKind, AtomicKind, Entry, Record, SyncKind};
use rustc_hash::FxHashMap;

use super::contents::{Contents, InWord, Seen, Writer};
use super::objects::{Object, Objects};
use super::orders::Orders;
use super::provenance::Provenance;
use crate::native::cells::{Cells, words};
use crate::native::context::wide;
use crate::native::regions::{RegionId, Regions};

/// Number of bytes that a hidden call may write at an address that it is given.
const GIVEN: u64 = 64;

/// Bytes that an access reads or writes.
#[derive(Clone, Copy)]
enum Bytes<'a> {
    None,
    /// Those that are known; the rest is not.
    Some(&'a [u8]),
}

/// A read that nothing explains.
struct Unexplained {
    region: RegionId,
    word: u64,
    index: u64,
    object: Option<Object>,
    /// Whether a hidden call was given the object since the last access.
    given_since: bool,
}

/// The end of a wait for a futex.
struct Woken {
    region: RegionId,
    word: u64,
    index: u64,
}

/// A word that was given to a hidden call which reads it.
struct GivenWord {
    region: RegionId,
    page: usize,
    word: u64,
    object: Object,
}

/// Accesses of the first pass.
#[derive(Default)]
pub(super) struct FirstPass {
    provenance: Provenance,
    contents: Contents,
    unexplained: Vec<Unexplained>,
    woken: Vec<Woken>,
    /// Words that were given to hidden calls which read them.
    given_words: Vec<GivenWord>,
    /// Last hidden call that was given an object.
    given: FxHashMap<Object, u64>,
    first_uses: u64,
}

/// Result of the first pass.
#[derive(Default)]
pub(super) struct Accesses {
    pub(super) orders: Orders,
    /// Words that hidden code writes, by region and address, with their objects.
    pub(super) hidden_words: FxHashMap<(RegionId, u64), Object>,
    pub(super) first_uses: u64,
    pub(super) unexplained_reads: u64,
}

/// The memory of the first pass.
pub(super) struct Memory<'a> {
    pub(super) regions: &'a mut Regions,
    pub(super) cells: &'a mut Cells,
    pub(super) objects: &'a mut Objects,
    pub(super) orders: &'a mut Orders,
}

impl FirstPass {
    /// Takes a record other than a plain access in the compact form, after its cells were touched.
    pub(super) fn record(&mut self, memory: &mut Memory<'_>, entry: &Entry<'_>, index: u64) {
        let at = (entry.thread, index);
        self.provenance.take(memory.regions, entry.thread, index, &entry.record);
        match entry.record {
            Record::Access { kind, size, addr, value, .. } => {
                let value = value.to_le_bytes();
                self.plain(memory, at, kind, (addr, u64::from(size)), Bytes::Some(&value));
            }
            Record::Wide { kind, size, addr, value, .. } => {
                let value = value.map(wide);
                let bytes = Bytes::Some(value.as_ref().map_or(&[][..], |value| &value[..]));
                self.plain(memory, at, kind, (addr, u64::from(size)), bytes);
            }
            Record::Range { kind, addr, len, data, .. } => {
                self.plain(memory, at, kind, (addr, len), Bytes::Some(data));
            }
            Record::Atomic { kind, size, addr, old, new, .. } => {
                let (old, new) = (wide(old), wide(new));
                let (old, new) = (Bytes::Some(&old), Bytes::Some(&new));
                let (old, new) = match kind {
                    AtomicKind::Load | AtomicKind::VolatileLoad | AtomicKind::FailedUpdate => {
                        (old, Bytes::None)
                    }
                    AtomicKind::Store | AtomicKind::VolatileStore => (Bytes::None, new),
                    AtomicKind::Update => (old, new),
                };
                self.access(memory, at, (addr, u64::from(size)), old, new);
            }
            Record::ElisionGap { addr, value, .. } => {
                let (word, region) = (addr & !7, memory.regions.of(addr));
                if let Some(page) = memory.cells.page(region, word) {
                    let bytes = InWord { page, at: word, from: 0, to: 8 };
                    self.contents.write(bytes, Writer::Recorded, value, index);
                }
            }
            Record::Free { counted: true, addr, .. } => self.use_block(memory, at, addr),
            Record::Sync { kind, object, .. } if is_object(kind) => {
                self.use_block(memory, at, object);
                if kind == SyncKind::FutexWoken {
                    let word = object & !7;
                    self.woken.push(Woken { region: memory.regions.of(object), word, index });
                }
            }
            Record::HiddenCall { ref arguments, .. } => {
                for &addr in arguments {
                    let Some(object) = memory.objects.of(memory.regions, addr) else { continue };
                    self.given.insert(object, index);
                    self.use_block(memory, at, addr);
                    memory.cells.touch(memory.regions, entry.thread, addr, GIVEN, true);
                }
            }
            _ => {}
        }
    }

    /// A thread gives addresses to a hidden call that reads what is there.
    pub(super) fn give_words(&mut self, memory: &mut Memory<'_>, thread: u32, addresses: &[u64]) {
        for &addr in addresses {
            let Some(object) = memory.objects.of(memory.regions, addr) else { continue };
            let region = memory.regions.of(addr);
            for (word, from, _) in words(addr, GIVEN) {
                if memory.objects.of(memory.regions, word + u64::from(from)) != Some(object) {
                    break;
                }
                let Some(page) = memory.cells.page(region, word) else { continue };
                if self.contents.give(page, word, thread) {
                    self.given_words.push(GivenWord { region, page, word, object });
                }
            }
        }
    }

    fn plain(
        &mut self,
        memory: &mut Memory<'_>,
        at: (u32, u64),
        kind: AccessKind,
        memory_range: (u64, u64),
        bytes: Bytes<'_>,
    ) {
        let (old, new) = match kind {
            AccessKind::Read => (bytes, Bytes::None),
            AccessKind::Write => (Bytes::None, bytes),
        };
        self.access(memory, at, memory_range, old, new);
    }

    /// A thread reads or writes bytes of a word, which is in this region, on the page with this
    /// number.
    #[inline]
    pub(super) fn word_access(
        &mut self,
        memory: &mut Memory<'_>,
        access: &PlainAccess,
        index: u64,
        (region, page): (RegionId, Option<usize>),
    ) {
        let &PlainAccess { thread, slot, addr, value, .. } = access;
        self.use_region(memory, (thread, index), region);
        let Some(page) = page else { return };
        let (at, from) = (addr & !7, (addr % 8) as u8);
        let bytes = InWord { page, at, from, to: from + slot.size() as u8 };
        let value = value << (8 * u32::from(from));
        if slot.writes() {
            return self.contents.write(bytes, Writer::Thread(thread), Some(value), index);
        }
        self.read(memory, (thread, index), (region, bytes), value);
    }

    fn access(
        &mut self,
        memory: &mut Memory<'_>,
        (thread, index): (u32, u64),
        (addr, len): (u64, u64),
        old: Bytes<'_>,
        new: Bytes<'_>,
    ) {
        self.use_block(memory, (thread, index), addr);
        for (at, from, to) in words(addr, len) {
            let region = memory.regions.of(at + u64::from(from));
            let Some(page) = memory.cells.page(region, at) else { continue };
            let bytes = InWord { page, at, from, to };
            let offset = (at + u64::from(from) - addr) as usize;
            let value = |bytes: &[u8]| {
                let known = bytes.get(offset..offset + usize::from(to - from))?;
                let mut value = [0; 8];
                value[usize::from(from)..usize::from(to)].copy_from_slice(known);
                Some(u64::from_le_bytes(value))
            };
            if let Bytes::Some(old) = old
                && let Some(value) = value(old)
            {
                self.read(memory, (thread, index), (region, bytes), value);
            }
            if let Bytes::Some(new) = new {
                self.contents.write(bytes, Writer::Thread(thread), value(new), index);
            }
        }
    }

    #[inline(always)]
    fn read(
        &mut self,
        memory: &mut Memory<'_>,
        (thread, index): (u32, u64),
        (region, bytes): (RegionId, InWord),
        value: u64,
    ) {
        match self.contents.read(bytes, value, index) {
            Seen::Value(Writer::Hidden) => {}
            Seen::Value(writer) => {
                if writer != Writer::Thread(thread) && (bytes.from, bytes.to) == (0, 8) {
                    self.provenance.learn(memory.regions, thread, value);
                }
            }
            Seen::Unexplained { since } => {
                self.unexplained_read(memory, (region, bytes), index, since);
            }
        }
    }

    #[cold]
    fn unexplained_read(
        &mut self,
        memory: &mut Memory<'_>,
        (region, bytes): (RegionId, InWord),
        index: u64,
        since: u64,
    ) {
        let word = bytes.at;
        let object = memory.objects.of(memory.regions, word + u64::from(bytes.from));
        let given = object.and_then(|object| self.given.get(&object));
        let given_since = given.is_some_and(|&given| given > since);
        self.unexplained.push(Unexplained { region, word, index, object, given_since });
    }

    /// A thread uses the block at an address.
    pub(super) fn use_block(&mut self, memory: &mut Memory<'_>, at: (u32, u64), addr: u64) {
        let region = memory.regions.of(addr);
        self.use_region(memory, at, region);
    }

    #[inline(always)]
    fn use_region(&mut self, memory: &mut Memory<'_>, at: (u32, u64), region: RegionId) {
        if let Some(earlier) = self.provenance.use_at(at, region) {
            self.first_uses += 1;
            memory.orders.first_use(region, &earlier, at.1);
        }
    }

    /// Ends the pass. Reads of words that are not shared by the byte have no events.
    pub(super) fn finish(mut self, cells: &Cells, mut orders: Orders) -> Accesses {
        let mut hidden_words = FxHashMap::default();
        let mut unexplained_reads = 0;
        for read in self.unexplained {
            let Unexplained { region, word, index, object, given_since } = read;
            if !cells.is_shared(region, word) {
                continue;
            }
            unexplained_reads += 1;
            hidden_words.extend(object.map(|object| ((region, word), object)));
            if !given_since {
                orders.after_others(index);
            }
        }
        for GivenWord { region, page, word, object } in self.given_words {
            if cells.is_shared(region, word) && self.contents.is_given_and_written(page, word) {
                hidden_words.insert((region, word), object);
            }
        }
        for Woken { region, word, index } in self.woken {
            // A word that no other thread accesses was changed by code that is not recorded.
            if !cells.is_shared(region, word) {
                orders.after_others(index);
            }
        }
        orders.finish();
        Accesses { orders, hidden_words, first_uses: self.first_uses, unexplained_reads }
    }
}

/// Whether an operation is on an object in memory.
fn is_object(kind: SyncKind) -> bool {
    use SyncKind::*;
    !matches!(kind, SystemCall | Sent | Received | Looked | Unsure)
}
