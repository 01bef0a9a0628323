//! Filtering a log while the program runs: keeping the records that may matter to the trace.
//!
//! Nearly all accesses of most programs are to memory that one thread alone ever accesses, and the
//! trace has none of them. The filter recognises them as they come (`word_table`): an access to a
//! word that is not shared *so far* is counted and skipped; of every other record the filter makes
//! a note. When a word becomes shared, the filter marks the chunks of the log with earlier accesses
//! to it, and these are read again when the program has ended. The result has every record about
//! shared words, whenever it was made: the trace is the one that the whole log gives.
//!
//! - A chunk with very many notes is read again too: the notes would take more memory than the
//!   records.
//! - Of transferred memory (`word_table`) only the first accesses are kept, see [`FilteredLog`];
//!   most programs have no more.
//! - Records of allocations are kept only if they overlap a shared word, or if a function that is
//!   not recorded is given an address in them. Of the others only the number matters, for the names
//!   of heap objects.
//! - Function entries and exits change the call stack of their thread. The filter makes notes of
//!   them only if functions are blocks.

mod reader;

pub use reader::FilteredLog;

use foretell_ownership::{Accessor, BitSet, ForkJoinClock};
use foretell_rt_format::{
    AccessKind, Brief, Chunk, ChunkReader, Compact, Item, Kind, Range, Record, Slot, Slots,
    SyncKind, Visitor,
};
use rustc_hash::FxHashMap;

use crate::access::{touched, writes};
use crate::address_set::AddressSet;
use crate::calls::{CallId, Calls, Stack};
use crate::chunk_store::{ChunkStore, StoredChunks};
use crate::clock;
use crate::word_table::{FastPath, WordTable};

/// Limits of a filter that bound its memory. They change which records are kept, or how often
/// chunks are read, never which accesses to shared words come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterLimits {
    /// Notes of one chunk; a chunk with more is read again instead.
    pub notes: usize,
    /// Accesses to transferred memory that come out.
    pub transferred: u64,
    /// Chunks that form one group: a page is noted once for all of them.
    pub group: usize,
}

impl Default for FilterLimits {
    fn default() -> Self {
        FilterLimits { notes: 8192, transferred: 1 << 18, group: 16 }
    }
}

/// Number of bytes that a function which is not recorded may write at an address that it is given.
const GIVEN: u64 = 64;
/// First address that no program has.
const MAX_ADDRESS: u64 = 1 << 47;

/// A record that may matter.
#[derive(Clone, Copy, Debug)]
enum Note {
    Compact {
        compact: Compact,
        thread: u32,
        stack: CallId,
        ordinal: u64,
    },
    /// The record at this offset of the chunk.
    Record {
        at: u32,
        thread: u32,
        stack: CallId,
        ordinal: u64,
    },
    /// An allocation, by its site and the offset of its record.
    Allocation {
        site: u32,
        at: u32,
        thread: u32,
        addr: u64,
        size: u64,
    },
    /// The end of a thread, or an elision point: records that need the last step of the thread.
    Last {
        ends: bool,
        thread: u32,
        stack: CallId,
        ordinal: u64,
        last: Option<(Kind, Option<u64>)>,
    },
}

/// State of a thread at some point of the log.
#[derive(Clone, Default, Debug)]
struct Thread {
    /// Ordinal of its next step.
    ordinal: u64,
    stack: Stack,
    /// Slot key of its last step if that is a plain access, else 0.
    access: u64,
    /// Its last step that is not a plain access.
    step: Option<(Kind, Option<u64>)>,
}

impl Thread {
    fn last(&self) -> Option<(Kind, Option<u64>)> {
        if self.access == 0 {
            return self.step;
        }
        let slot = Slot { key: self.access, high: 0 };
        Some((slot.step(), Some(slot.pc())))
    }
}

/// State of a thread where it first runs in a chunk.
#[derive(Clone, Copy, Debug)]
struct Start {
    thread: u32,
    ordinal: u64,
    stack: CallId,
    access: u64,
    step: Option<(Kind, Option<u64>)>,
}

/// The notes of a chunk.
#[derive(Default, Debug)]
struct Noted {
    /// The thread that the chunk begins with.
    thread: u32,
    starts: Vec<Start>,
    notes: Box<[Note]>,
    /// Whether the records are to be read again, because notes are missing.
    again: bool,
    /// See [`Chunk::pending`].
    pending: usize,
}

/// The allocation sites: code address and call stack.
#[derive(Default)]
struct Sites {
    index: FxHashMap<(u64, CallId), u32>,
    sites: Vec<(u64, CallId)>,
}

impl Sites {
    fn of(&mut self, pc: u64, stack: CallId) -> u32 {
        let next = self.sites.len() as u32;
        let site = *self.index.entry((pc, stack)).or_insert(next);
        if site == next {
            self.sites.push((pc, stack));
        }
        site
    }
}

/// The filter, which takes one chunk after the other.
pub struct Filter {
    table: WordTable,
    clock: ForkJoinClock<BitSet>,
    /// Whether create and join transfer words.
    transfers: bool,
    threads: Vec<Thread>,
    /// The chunk, plus one, in which each thread was last noted in the chunk's `starts`.
    started: Vec<u32>,
    thread: u32,
    calls: Calls,
    sites: Sites,
    /// Made once, because they are large; none while a chunk is being read.
    slots: Option<Slots>,
    chunks: Vec<Noted>,
    /// The notes of the chunk that is being read.
    notes: Vec<Note>,
    store: ChunkStore,
    accesses: u64,
    /// Number of words that became shared after elided accesses.
    gaps: u64,
    /// Addresses that functions which are not recorded were given.
    hidden_arguments: AddressSet,
    damaged: bool,
    limits: FilterLimits,
    /// First chunk whose accesses to transferred memory do not come out.
    transferred_until: Option<usize>,
    /// Whether function entries and exits matter.
    functions: bool,
}

impl Filter {
    /// Returns a filter. `functions`: whether function entries and exits matter, because functions
    /// may be blocks. `transfers`: whether create and join transfer words; if not, every word that
    /// two threads access is shared, unless they only read it.
    pub fn new(
        store: ChunkStore,
        limits: FilterLimits,
        functions: bool,
        transfers: bool,
    ) -> Filter {
        Filter {
            table: WordTable::default(),
            clock: clock::new(),
            // The filter does not know which functions are blocks, and what is in them.
            transfers: transfers && !functions,
            threads: Vec::new(),
            started: Vec::new(),
            thread: 0,
            calls: Calls::default(),
            sites: Sites::default(),
            slots: None,
            chunks: Vec::new(),
            notes: Vec::new(),
            store,
            accesses: 0,
            gaps: 0,
            hidden_arguments: AddressSet::default(),
            damaged: false,
            limits,
            transferred_until: None,
            functions,
        }
    }

    /// Takes the next chunk of the log. Chunks after damage are ignored.
    pub fn chunk(&mut self, chunk: Chunk<'_>) {
        if self.damaged {
            return;
        }
        if self.store.add(chunk.records).is_err() {
            self.damaged = true;
            return;
        }
        let number = self.chunks.len();
        if self.transferred_until.is_none() && self.table.transferred() >= self.limits.transferred {
            self.table.skip_transferred();
            self.transferred_until = Some(number);
        }
        if number.is_multiple_of(self.limits.group) {
            self.table.begin_group((number / self.limits.group) as u32);
        }
        let pending = chunk.pending;
        self.chunks.push(Noted { thread: self.thread, pending, ..Noted::default() });
        let mut slots = self.slots.take().unwrap_or_default();
        let mut reader = ChunkReader::new(chunk, &mut slots);
        loop {
            let next = self.run(&mut reader, &mut slots);
            match next {
                Some(thread) => self.thread = thread,
                None => break,
            }
        }
        self.slots = Some(slots);
        for group in self.table.read_again() {
            let first = group as usize * self.limits.group;
            for noted in self.chunks.iter_mut().skip(first).take(self.limits.group) {
                noted.again = true;
                noted.notes = Box::default();
            }
        }
        let noted = &mut self.chunks[number];
        if noted.again || self.notes.len() > self.limits.notes {
            noted.again = true;
        } else {
            noted.notes = self.notes.as_slice().into();
        }
        self.notes.clear();
    }

    /// Takes out the state of the running thread.
    fn resume(&mut self) -> Thread {
        let i = self.thread as usize;
        if self.threads.len() <= i {
            self.threads.resize(i + 1, Thread::default());
            self.started.resize(i + 1, 0);
        }
        let mut thread = std::mem::take(&mut self.threads[i]);
        let number = self.chunks.len() as u32;
        if self.started[i] != number {
            self.started[i] = number;
            let stack = thread.stack.id(&mut self.calls);
            let Thread { ordinal, access, step, .. } = thread;
            let start = Start { thread: self.thread, ordinal, stack, access, step };
            self.chunks.last_mut().map(|noted| noted.starts.push(start)).unwrap_or_default();
        }
        thread
    }

    /// Reads until another thread runs, which is returned, or the chunk ends.
    fn run(&mut self, reader: &mut ChunkReader<'_>, slots: &mut Slots) -> Option<u32> {
        let mut thread = self.resume();
        let mut by = self.clock.accessor(self.thread);
        let (mut ordinal, mut access) = (thread.ordinal, thread.access);
        let mut next = None;
        loop {
            let stack = (!self.functions).then_some(&mut thread.stack);
            let fast_path = self.table.fast_path(by, &self.clock);
            let (count, key) = skip(reader, slots, fast_path, stack);
            access = key.unwrap_or(access);
            ordinal += count;
            self.accesses += count;
            if let Some(range) = reader.range() {
                (thread.ordinal, thread.access) = (ordinal, access);
                self.range(&range, reader.began(), by, &mut thread);
                (ordinal, access) = (thread.ordinal, thread.access);
                continue;
            }
            let Some(item) = reader.next(slots) else { break };
            // By reference: a record is large.
            match &item {
                &Ok(Item::Compact(Compact::Access(slot, addr, value))) => {
                    if self.table.is_shared(addr, slot.size())
                        || self.table.access(
                            by,
                            &self.clock,
                            addr,
                            slot.size() as u64,
                            slot.writes(),
                        )
                    {
                        let compact = Compact::Access(slot, addr, value);
                        self.note_compact(compact, &mut thread, ordinal);
                    }
                    self.accesses += 1;
                    ordinal += 1;
                    access = slot.key;
                }
                &Ok(Item::Compact(Compact::Entry(slot, call))) => {
                    thread.stack.enter(slot.pc(), call);
                    if self.functions {
                        self.note_compact(Compact::Entry(slot, call), &mut thread, ordinal);
                    }
                }
                Ok(Item::Compact(Compact::Exit)) => {
                    if self.functions {
                        self.note_compact(Compact::Exit, &mut thread, ordinal);
                    }
                    thread.stack.exit();
                }
                &Ok(Item::Record(Record::Switch { thread })) => {
                    next = Some(thread);
                    break;
                }
                &Ok(Item::Record(Record::Elided { count, key })) => {
                    self.accesses += count;
                    ordinal += count;
                    access = key;
                }
                Ok(Item::Record(record)) => {
                    (thread.ordinal, thread.access) = (ordinal, access);
                    self.record(record, reader.began(), &mut thread);
                    by = self.clock.accessor(self.thread);
                    (ordinal, access) = (thread.ordinal, thread.access);
                }
                Err(_) => {
                    self.damaged = true;
                    break;
                }
            }
        }
        (thread.ordinal, thread.access) = (ordinal, access);
        self.threads[self.thread as usize] = thread;
        next
    }

    fn note(&mut self, note: Note) {
        if self.notes.len() <= self.limits.notes {
            self.notes.push(note);
        }
    }

    #[inline(never)]
    fn note_compact(&mut self, compact: Compact, thread: &mut Thread, ordinal: u64) {
        let stack = thread.stack.id(&mut self.calls);
        self.note(Note::Compact { compact, thread: self.thread, stack, ordinal });
    }

    /// Takes an access to a range. [`Filter::record`] could do it; this is faster.
    fn range(&mut self, range: &Range, at: usize, by: Accessor, thread: &mut Thread) {
        self.accesses += 1;
        let &Range { kind, pc, addr, len } = range;
        let writes = kind == AccessKind::Write;
        if self.table.access(by, &self.clock, addr, len, writes) {
            let (stack, ordinal) = (thread.stack.id(&mut self.calls), thread.ordinal);
            self.note(Note::Record { at: at as u32, thread: self.thread, stack, ordinal });
        }
        let kind = if writes { Kind::WriteRange } else { Kind::ReadRange };
        thread.ordinal += 1;
        thread.access = 0;
        thread.step = Some((kind, Some(pc)));
    }

    /// Takes a record that is not compact.
    fn record(&mut self, record: &Record<'_>, at: usize, thread: &mut Thread) {
        let (number, at) = (self.thread, at as u32);
        if self.transfers {
            clock::apply(&mut self.clock, number, record);
        }
        let by = self.clock.accessor(number);
        if let Record::Alloc { pc, addr, size } = *record {
            self.table.allocate(addr, size);
            let site = self.sites.of(pc, thread.stack.id(&mut self.calls));
            return self.note(Note::Allocation { site, at, thread: number, addr, size });
        }
        let matters = match *record {
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                self.table.allocate(stack_start, stack_end.saturating_sub(stack_start));
                true
            }
            Record::Free { counted, addr, size, .. } => {
                counted
                    && (self.table.free(by, &self.clock, addr, size)
                        || self.hidden_arguments.meets(addr, size))
            }
            Record::HiddenCall { ref arguments, .. } => {
                arguments.iter().for_each(|&addr| self.hidden_arguments.add(addr));
                // The call may write them.
                for &addr in arguments.iter().filter(|addr| **addr < MAX_ADDRESS) {
                    self.table.access(by, &self.clock, addr, GIVEN, true);
                }
                true
            }
            Record::ElisionGap { ordered: true, writes, addr, .. } => {
                self.table.access(by, &self.clock, addr, 8, writes)
            }
            Record::ElisionGap { addr, .. } => {
                self.gaps += 1;
                self.table.share(addr, 8)
            }
            Record::Sync { kind, object, .. } if is_on_lock_or_condition(kind) => {
                // The life of a block matters to the threads that use a lock in it.
                self.table.access(by, &self.clock, object, 1, true);
                true
            }
            _ => match touched(record) {
                Some((addr, len)) => {
                    self.accesses += 1;
                    self.table.access(by, &self.clock, addr, len, writes(record))
                }
                None => is_event(record),
            },
        };
        if matters {
            let (stack, ordinal) = (thread.stack.id(&mut self.calls), thread.ordinal);
            self.note(if matches!(record, Record::ThreadEnd | Record::ElisionPoint) {
                let (ends, last) = (matches!(record, Record::ThreadEnd), thread.last());
                Note::Last { ends, thread: number, stack, ordinal, last }
            } else {
                Note::Record { at, thread: number, stack, ordinal }
            });
        }
        if let Some(kind) = record.kind() {
            thread.ordinal += 1;
            thread.access = 0;
            thread.step = Some((kind, record.pc()));
        }
    }

    /// Returns what is left of the log when the program has ended, and its call stacks.
    pub fn finish(self) -> (FilteredLog, Calls) {
        let (chunks_stored, damaged) = match self.store.finish() {
            Ok(stored) => (stored, self.damaged),
            Err(_) => (StoredChunks::default(), true),
        };
        let filtered = FilteredLog {
            shared: self.table.finish(),
            sites: self.sites.sites,
            chunks: self.chunks,
            chunks_stored,
            accesses: self.accesses,
            gaps: self.gaps,
            hidden_arguments: self.hidden_arguments,
            damaged,
            functions: self.functions,
            transferred_until: self.transferred_until,
        };
        (filtered, self.calls)
    }
}

/// Skips accesses on the fast path. Returns their number and the slot key of the last one. It is a
/// function of its own, so that all its state is in registers.
#[inline(never)]
fn skip(
    reader: &mut ChunkReader<'_>,
    slots: &Slots,
    fast_path: FastPath<'_>,
    stack: Option<&mut Stack>,
) -> (u64, Option<u64>) {
    let mut skipping = Skipping { fast_path, stack, count: 0, last: 0 };
    reader.visit(slots, &mut skipping);
    (skipping.count, (skipping.count > 0).then(|| slots.get(skipping.last).key))
}

/// Visitor that skips accesses, and follows function entries and exits.
struct Skipping<'a> {
    fast_path: FastPath<'a>,
    /// Call stack of the thread; none if function entries and exits matter.
    stack: Option<&'a mut Stack>,
    /// Number of skipped accesses.
    count: u64,
    /// Slot of the last skipped access.
    last: u16,
}

impl Visitor for Skipping<'_> {
    #[inline(always)]
    fn access(&mut self, access: Brief, _: u64) -> bool {
        let skips = self.fast_path.skips(access);
        if skips {
            self.count += 1;
            self.last = access.slot;
        }
        skips
    }

    #[inline(always)]
    fn entry(&mut self, slot: Slot, call: u64) -> bool {
        self.stack.as_mut().map(|stack| stack.enter(slot.pc(), call)).is_some()
    }

    #[inline(always)]
    fn exit(&mut self) -> bool {
        self.stack.as_mut().map(|stack| stack.exit()).is_some()
    }
}

/// Whether an operation is on a lock or a condition; one that follows another of its thread on the
/// same object (a release, the end of a wait) is left out.
fn is_on_lock_or_condition(kind: SyncKind) -> bool {
    use SyncKind::*;
    matches!(kind, Lock | ReadLock | Wait | Signal | Broadcast | Destroy)
}

/// Whether a record that accesses no memory matters to the trace.
fn is_event(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::Module { .. }
            | Record::ModuleGone { .. }
            | Record::Create { .. }
            | Record::ThreadLocals { .. }
            | Record::ThreadName { .. }
            | Record::ThreadEnd
            | Record::ElisionPoint
            | Record::AfterElisionPoint { .. }
            | Record::Join { .. }
            | Record::Sync { .. }
            | Record::Frames { .. }
            | Record::MarkBegin { .. }
            | Record::MarkEnd { .. }
            | Record::HiddenFunction { .. }
            | Record::HiddenCall { .. }
            | Record::AfterOthers
            | Record::Signal { starts: true, .. }
            | Record::Forked { .. }
            | Record::ChildOfFork { .. }
            | Record::Abort { .. }
            | Record::EndOfProgram { .. }
            | Record::Benign { .. }
            | Record::Ignore { .. }
            | Record::Crash { .. }
            | Record::Stuck { .. }
            | Record::Deadlock { .. }
    )
}
