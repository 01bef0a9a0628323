//! The filtered log, and reading it.

use foretell_rt_format::{
    Brief, Chunk, ChunkReader, Compact, Entry, Item, Kind, Record, Slot, Slots, Visitor, record_at,
};
use rustc_hash::FxHashMap;

use super::{Note, Noted, Thread, is_event};
use crate::access::touched;
use crate::address_set::AddressSet;
use crate::calls::{CallId, Calls, OUTSIDE, Stack};
use crate::chunk_store::StoredChunks;
use crate::logged_record::{LastStep, LoggedRecord, PlainAccess, Sink, Source};
use crate::word_table::{Share, SharedWords};

/// Number of bytes by which a freed block may be larger than the allocation that was asked for.
const SLACK: u64 = 4096 + 64;
/// Number of bytes before a block in which an access may begin that reaches into the block.
const REACH: u64 = 8192;

/// End of a part of a chunk that is of one thread.
enum Run {
    /// Another thread runs.
    Switch(u32),
    /// The chunk ends, or the sink takes no more: whether the next chunk follows.
    End(bool),
}

/// Visitor that shows the compact records of one thread that matter.
struct Showing<'s, 'c, 'a> {
    shared: &'s SharedWords,
    wanted: Share,
    slots: &'s Slots,
    calls: &'c mut Calls,
    sink: &'c mut dyn Sink<'a>,
    number: u32,
    thread: &'c mut Thread,
    /// Whether function entries and exits matter; the visitor then stops at them.
    functions: bool,
    /// Slot of the last access, if there was one.
    last: Option<u16>,
    goes_on: bool,
}

impl Visitor for Showing<'_, '_, '_> {
    #[inline(always)]
    fn access(&mut self, access: Brief, value: u64) -> bool {
        if access.high() == u32::MAX {
            return false;
        }
        let (addr, size) = (access.addr(), access.size());
        if self.shared.word(addr, size) >= self.wanted {
            let slot = self.slots.get(access.slot);
            let stack = self.thread.stack.id(self.calls);
            let value = value & (u64::MAX >> (64 - 8 * size));
            let (thread, ordinal) = (self.number, self.thread.ordinal);
            let plain = PlainAccess { thread, ordinal, stack, slot, addr, value };
            self.goes_on = self.sink.plain(self.calls, &plain);
        }
        self.thread.ordinal += 1;
        self.last = Some(access.slot);
        self.goes_on
    }

    #[inline(always)]
    fn entry(&mut self, slot: Slot, call: u64) -> bool {
        if !self.functions {
            self.thread.stack.enter(slot.pc(), call);
        }
        !self.functions
    }

    #[inline(always)]
    fn exit(&mut self) -> bool {
        if !self.functions {
            self.thread.stack.exit();
        }
        !self.functions
    }
}

/// The records of a log that may matter to the trace.
///
/// It has every access to a shared word, and the first accesses to transferred words. Which of the
/// latter it has makes no finding wrong, and no finding is about them: they can only be a link in a
/// chain of accesses from which a violation is inferred.
pub struct FilteredLog {
    pub(super) shared: SharedWords,
    pub(super) sites: Vec<(u64, CallId)>,
    pub(super) chunks: Vec<Noted>,
    pub(super) chunks_stored: StoredChunks,
    pub(super) accesses: u64,
    pub(super) gaps: u64,
    /// Addresses that functions which are not recorded were given.
    pub(super) hidden_arguments: AddressSet,
    pub(super) damaged: bool,
    pub(super) functions: bool,
    /// First chunk whose accesses to transferred words are skipped; none: all are shown.
    pub(super) transferred_until: Option<usize>,
}

impl FilteredLog {
    /// Returns notes for the user about accesses that are missing.
    pub fn left_out(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.transferred_until.is_some() {
            notes.push(
                "the trace lacks later accesses to memory that create and join transfer between \
                 threads (--keep-all keeps them)"
                    .to_owned(),
            );
        }
        if self.gaps > 0 {
            let words = match self.gaps {
                1 => "1 word of memory has an elision gap".to_owned(),
                n => format!("{n} words of memory have elision gaps"),
            };
            notes.push(format!(
                "{words}: the trace lacks accesses from before a second thread used it \
                 (--keep-all turns elision off)"
            ));
        }
        notes
    }

    /// Returns the number of chunks that are read again.
    pub fn chunks_read_again(&self) -> usize {
        self.chunks.iter().filter(|chunk| chunk.again).count()
    }

    /// Whether a record that is shown may be about a block.
    fn concerns(&self, addr: u64, size: u64) -> bool {
        let start = addr.saturating_sub(REACH);
        let len = (addr - start).saturating_add(size).saturating_add(SLACK);
        self.shared.most(start, len) != Share::Not || self.is_given_away(addr, size)
    }

    /// Whether a function that is not recorded was given an address in a block.
    fn is_given_away(&self, addr: u64, size: u64) -> bool {
        self.hidden_arguments.meets(addr, size)
    }

    /// Returns the least sharing of words whose accesses are shown in a chunk.
    fn wanted(&self, chunk: usize) -> Share {
        let shown = self.transferred_until.is_none_or(|until| chunk < until);
        if shown { Share::Transferred } else { Share::Shared }
    }
}

/// Reader of a filtered log, which shows it to a sink.
struct FilteredLogReader<'s, 'a> {
    filtered: &'a FilteredLog,
    calls: &'s mut Calls,
    sink: &'s mut dyn Sink<'a>,
    /// Number of private allocations that the sink was not told of yet, by site.
    untold: Vec<u32>,
    /// The sites that have some.
    untold_sites: Vec<u32>,
    /// Least sharing of words that matter in this chunk.
    wanted: Share,
    /// Made once, because they are large; for chunks that are read again.
    slots: Option<Slots>,
}

impl<'a> Source<'a> for &'a FilteredLog {
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'a>) {
        let (untold, untold_sites) = (vec![0; self.sites.len()], Vec::new());
        let mut reader = FilteredLogReader {
            filtered: self,
            calls,
            sink,
            untold,
            untold_sites,
            wanted: Share::Transferred,
            slots: None,
        };
        for (number, noted) in self.chunks.iter().enumerate() {
            let records = self.chunks_stored.get(number);
            reader.wanted = self.wanted(number);
            let goes_on = if noted.again {
                reader.again(records, noted)
            } else {
                noted.notes.iter().all(|note| reader.note(records, note))
            };
            if !goes_on {
                return;
            }
        }
    }

    fn accesses(&self) -> Option<u64> {
        Some(self.accesses)
    }

    fn damaged(&self) -> bool {
        self.damaged
    }
}

impl<'a> FilteredLogReader<'_, 'a> {
    fn show(&mut self, entry: Entry<'a>, stack: CallId, last: Option<LastStep>) -> bool {
        // Modules change: code addresses mean something else from here on.
        if matches!(entry.record, Record::Module { .. } | Record::ModuleGone { .. }) {
            self.tell();
        }
        self.sink.record(self.calls, &LoggedRecord { entry, stack, last, private: 0 })
    }

    fn compact(&mut self, compact: Compact, thread: u32, ordinal: u64, stack: CallId) -> bool {
        match compact {
            Compact::Access(slot, addr, value) => self
                .sink
                .plain(self.calls, &PlainAccess { thread, ordinal, stack, slot, addr, value }),
            _ => self.show(Entry { thread, ordinal, record: compact.record() }, stack, None),
        }
    }

    fn note(&mut self, records: &'a [u8], note: &Note) -> bool {
        match *note {
            Note::Compact { compact, thread, stack, ordinal } => {
                self.compact(compact, thread, ordinal, stack)
            }
            Note::Record { at, thread, stack, ordinal } => {
                let Some(record) = record_at(records, at as usize) else { return true };
                self.show(Entry { thread, ordinal, record }, stack, None)
            }
            Note::Allocation { site, at, thread, addr, size } => {
                if !self.filtered.concerns(addr, size) {
                    self.keep_untold(site);
                    return true;
                }
                let Some(record) = record_at(records, at as usize) else { return true };
                let stack = self.filtered.sites.get(site as usize).map_or(OUTSIDE, |p| p.1);
                self.tell() && self.show(Entry { thread, ordinal: 0, record }, stack, None)
            }
            Note::Last { ends, thread, stack, ordinal, last } => {
                self.last(ends, thread, stack, ordinal, last)
            }
        }
    }

    /// Shows the end of a thread (`ends`) or an elision point.
    fn last(
        &mut self,
        ends: bool,
        thread: u32,
        stack: CallId,
        ordinal: u64,
        last: Option<(Kind, Option<u64>)>,
    ) -> bool {
        let last = last.map(|(kind, pc)| LastStep { ordinal: ordinal.saturating_sub(1), kind, pc });
        let record = if ends { Record::ThreadEnd } else { Record::ElisionPoint };
        self.show(Entry { thread, ordinal, record }, stack, last)
    }

    /// Reads a chunk again.
    fn again(&mut self, records: &'a [u8], noted: &Noted) -> bool {
        let mut threads: FxHashMap<u32, Thread> = FxHashMap::default();
        for s in &noted.starts {
            let stack = Stack::of(s.stack, self.calls);
            let thread = Thread { ordinal: s.ordinal, stack, access: s.access, step: s.step };
            threads.insert(s.thread, thread);
        }
        let mut number = noted.thread;
        let mut slots = self.slots.take().unwrap_or_default();
        let chunk = Chunk { pending: noted.pending, ..Chunk::complete(0, 0, records) };
        let mut reader = ChunkReader::new(chunk, &mut slots);
        let goes_on = loop {
            let thread = threads.entry(number).or_default();
            match self.run_again(&mut reader, &mut slots, number, thread) {
                Run::Switch(next) => number = next,
                Run::End(goes_on) => break goes_on,
            }
        };
        self.slots = Some(slots);
        goes_on
    }

    /// Reads until another thread runs, or the chunk ends.
    fn run_again(
        &mut self,
        reader: &mut ChunkReader<'a>,
        slots: &mut Slots,
        number: u32,
        thread: &mut Thread,
    ) -> Run {
        loop {
            let mut showing = Showing {
                shared: &self.filtered.shared,
                wanted: self.wanted,
                slots,
                calls: self.calls,
                sink: self.sink,
                number,
                thread,
                functions: self.filtered.functions,
                last: None,
                goes_on: true,
            };
            reader.visit(slots, &mut showing);
            let (last, goes_on) = (showing.last, showing.goes_on);
            thread.access = last.map_or(thread.access, |slot| slots.get(slot).key);
            if !goes_on {
                return Run::End(false);
            }
            let goes_on = match reader.next(slots) {
                Some(Ok(Item::Record(Record::Switch { thread }))) => return Run::Switch(thread),
                Some(Ok(Item::Compact(compact))) => self.compact_again(compact, number, thread),
                Some(Ok(Item::Record(record))) => self.record_again(record, number, thread),
                _ => return Run::End(true),
            };
            if !goes_on {
                return Run::End(false);
            }
        }
    }

    fn compact_again(&mut self, compact: Compact, number: u32, thread: &mut Thread) -> bool {
        let matters = match compact {
            Compact::Access(slot, addr, _) => {
                thread.access = slot.key;
                self.filtered.shared.word(addr, slot.size()) >= self.wanted
            }
            Compact::Entry(slot, call) => {
                thread.stack.enter(slot.pc(), call);
                self.filtered.functions
            }
            Compact::Exit => self.filtered.functions,
        };
        let ordinal = thread.ordinal;
        let goes_on = !matters || {
            let stack = thread.stack.id(self.calls);
            self.compact(compact, number, ordinal, stack)
        };
        match compact {
            Compact::Access(..) => thread.ordinal += 1,
            Compact::Entry(..) => {}
            Compact::Exit => thread.stack.exit(),
        }
        goes_on
    }

    fn record_again(&mut self, record: Record<'a>, number: u32, thread: &mut Thread) -> bool {
        let (kind, pc, ordinal) = (record.kind(), record.pc(), thread.ordinal);
        let shared = &self.filtered.shared;
        let goes_on = match record {
            Record::Elided { count, key } => {
                thread.ordinal += count;
                thread.access = key;
                true
            }
            Record::ThreadEnd | Record::ElisionPoint => {
                let (ends, stack) = (record == Record::ThreadEnd, thread.stack.id(self.calls));
                self.last(ends, number, stack, ordinal, thread.last())
            }
            Record::Alloc { addr, size, pc } => {
                let stack = thread.stack.id(self.calls);
                if self.filtered.concerns(addr, size) {
                    self.tell() && self.show(Entry { thread: number, ordinal, record }, stack, None)
                } else {
                    self.private_alloc(number, pc, stack, 1)
                }
            }
            _ => {
                let matters = match record {
                    Record::Free { counted, addr, size, .. } => {
                        counted
                            && (shared.most(addr, size) >= self.wanted
                                || self.filtered.is_given_away(addr, size))
                    }
                    Record::ThreadBegin { .. } => true,
                    Record::ElisionGap { addr, .. } => shared.most(addr, 8) >= self.wanted,
                    _ => match touched(&record) {
                        Some((addr, len)) => shared.most(addr, len) >= self.wanted,
                        None => is_event(&record),
                    },
                };
                let stack = if matters { thread.stack.id(self.calls) } else { OUTSIDE };
                !matters || self.show(Entry { thread: number, ordinal, record }, stack, None)
            }
        };
        if let Some(kind) = kind {
            thread.ordinal += 1;
            thread.access = 0;
            thread.step = Some((kind, pc));
        }
        goes_on
    }

    fn keep_untold(&mut self, site: u32) {
        let Some(untold) = self.untold.get_mut(site as usize) else { return };
        if *untold == 0 {
            self.untold_sites.push(site);
        }
        *untold += 1;
    }

    /// Tells the sink of private allocations.
    fn tell(&mut self) -> bool {
        let mut goes_on = true;
        for site in std::mem::take(&mut self.untold_sites) {
            let count = std::mem::take(&mut self.untold[site as usize]);
            let (pc, stack) = self.filtered.sites[site as usize];
            goes_on &= self.private_alloc(0, pc, stack, count);
        }
        goes_on
    }

    fn private_alloc(&mut self, thread: u32, pc: u64, stack: CallId, count: u32) -> bool {
        let record = Record::Alloc { pc, addr: 0, size: 0 };
        let entry = Entry { thread, ordinal: 0, record };
        self.sink.record(self.calls, &LoggedRecord { entry, stack, last: None, private: count })
    }
}
