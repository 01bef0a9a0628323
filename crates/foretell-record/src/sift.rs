//! Reading a log while the program runs, and keeping what may matter.
//!
//! Nearly all accesses of most programs are to memory that one thread alone ever touches, and the trace
//! has none of them. Here they are recognised as they come (`owners`): an access to a word that is not shared
//! *so far* is counted and let go; everything else is noted. Where a word becomes
//! shared late, the chunks of the log that hold its past are marked, and read once more when the program has ended. So
//! what comes out is every record about shared words, whenever it was made, and nothing is guessed: the trace is the
//! one that the whole log gives.
//!
//! - A chunk with very many notes is read again as well: the notes would take more room than the records.
//! - Memory given out or taken back is passed on only where it overlaps a shared word. Of the rest only the number counts, for
//!   the names of heap objects.
//! - Function entries and exits move the stack of their thread; they are noted only if functions are blocks.

use foretell_rt_format::{
    AccessKind, Brief, Chunk, ChunkReader, Compact, Entry, Item, Kind, Range, Record, Slot, Slots,
    Visitor, record_at,
};
use rustc_hash::FxHashMap;

use crate::calls::{CallId, Calls, OUTSIDE, Stack};
use crate::hold::{Held, Hold};
use crate::owners::{Gate, Owner, Owners, SharedWords};
use crate::seen::{LastStep, Plain, Seen, Sink, Source};
use crate::survey::{touched, writes};

/// More notes than these: the chunk is read again instead. The chunks of tests are small.
const MOST_NOTES: usize = if cfg!(test) { 24 } else { 8192 };

/// So many chunks are one to `owners`: pages are noted once for all of them.
const GROUP: usize = if cfg!(test) { 2 } else { 16 };

/// The C library may give out so much more than it was asked for. What is freed is that much larger.
const SLACK: u64 = 4096 + 64;

/// A record that may matter.
#[derive(Clone, Copy, Debug)]
enum Note {
    Compact {
        compact: Compact,
        thread: u32,
        stack: CallId,
        ordinal: u64,
    },
    /// The record at this place of the chunk.
    Record {
        at: u32,
        thread: u32,
        stack: CallId,
        ordinal: u64,
    },
    /// Memory given out, by the place that did and the record.
    Given {
        site: u32,
        at: u32,
        thread: u32,
        addr: u64,
        size: u64,
    },
    /// The end of a thread.
    End {
        thread: u32,
        stack: CallId,
        ordinal: u64,
        last: Option<(Kind, Option<u64>)>,
    },
}

/// A thread at some point of the log.
#[derive(Clone, Default, Debug)]
struct Thread {
    /// Of its next step.
    ordinal: u64,
    stack: Stack,
    /// Its last step: an access by its slot's key, or else any other.
    access: u64,
    step: Option<(Kind, Option<u64>)>,
}

impl Thread {
    fn last(&self) -> Option<(Kind, Option<u64>)> {
        if self.access == 0 {
            return self.step;
        }
        let slot = Slot { key: self.access, high: 0 };
        let kind = if slot.writes() { Kind::Write } else { Kind::Read };
        Some((kind, Some(slot.pc())))
    }
}

/// A thread where a chunk first comes to it.
#[derive(Clone, Copy, Debug)]
struct Start {
    thread: u32,
    ordinal: u64,
    stack: CallId,
    access: u64,
    step: Option<(Kind, Option<u64>)>,
}

/// What is known of a chunk.
#[derive(Default, Debug)]
struct Noted {
    /// The thread that it begins with.
    thread: u32,
    starts: Vec<Start>,
    notes: Box<[Note]>,
    /// The notes are not all: the records are to be read again.
    again: bool,
    /// See [`Chunk::pending`].
    pending: usize,
}

/// The places that gave memory out: code address and stack.
#[derive(Default)]
struct Places {
    index: FxHashMap<(u64, CallId), u32>,
    places: Vec<(u64, CallId)>,
}

impl Places {
    fn of(&mut self, pc: u64, stack: CallId) -> u32 {
        let next = self.places.len() as u32;
        let site = *self.index.entry((pc, stack)).or_insert(next);
        if site == next {
            self.places.push((pc, stack));
        }
        site
    }
}

/// Reads chunk after chunk.
pub(crate) struct Sift {
    owners: Owners,
    threads: Vec<Thread>,
    /// The chunk, plus one, in which each thread was last noted in the chunk's `starts`.
    started: Vec<u32>,
    thread: u32,
    calls: Calls,
    places: Places,
    /// Large: made once, and here while no chunk is being read.
    slots: Option<Slots>,
    chunks: Vec<Noted>,
    /// The notes of the chunk that is being read.
    notes: Vec<Note>,
    hold: Hold,
    accesses: u64,
    damaged: bool,
    /// Whether function entries and exits matter.
    functions: bool,
}

impl Sift {
    pub(crate) fn new(hold: Hold, functions: bool) -> Sift {
        Sift {
            owners: Owners::default(),
            threads: Vec::new(),
            started: Vec::new(),
            thread: 0,
            calls: Calls::default(),
            places: Places::default(),
            slots: None,
            chunks: Vec::new(),
            notes: Vec::new(),
            hold,
            accesses: 0,
            damaged: false,
            functions,
        }
    }

    /// Takes the next chunk of the log. What comes after damage is not taken.
    pub(crate) fn chunk(&mut self, chunk: Chunk<'_>) {
        if self.damaged {
            return;
        }
        if self.hold.add(chunk.records).is_err() {
            self.damaged = true;
            return;
        }
        let number = self.chunks.len();
        if number.is_multiple_of(GROUP) {
            self.owners.begin((number / GROUP) as u32);
        }
        let pending = chunk.pending;
        self.chunks.push(Noted { thread: self.thread, pending, ..Noted::default() });
        let mut slots = self.slots.take().unwrap_or_default();
        let mut reader = ChunkReader::new(chunk, &mut slots);
        loop {
            // Up to the next switch everything is of one thread.
            let next = self.run(&mut reader, &mut slots);
            match next {
                Some(thread) => self.thread = thread,
                None => break,
            }
        }
        self.slots = Some(slots);
        for group in self.owners.wanted() {
            let first = group as usize * GROUP;
            for noted in self.chunks.iter_mut().skip(first).take(GROUP) {
                noted.again = true;
                noted.notes = Box::default();
            }
        }
        let noted = &mut self.chunks[number];
        if noted.again || self.notes.len() > MOST_NOTES {
            noted.again = true;
        } else {
            noted.notes = self.notes.as_slice().into();
        }
        self.notes.clear();
    }

    /// Makes the thread that runs the one whose state is at hand.
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

    /// Reads on until another thread runs, or the chunk is at its end.
    fn run(&mut self, reader: &mut ChunkReader<'_>, slots: &mut Slots) -> Option<u32> {
        let owner = Owner::of(self.thread);
        let mut thread = self.resume();
        let (mut ordinal, mut access) = (thread.ordinal, thread.access);
        let mut next = None;
        loop {
            let stack = (!self.functions).then_some(&mut thread.stack);
            let (count, key) = let_go(reader, slots, self.owners.gate(owner), stack);
            access = key.unwrap_or(access);
            ordinal += count;
            self.accesses += count;
            if let Some(range) = reader.range() {
                (thread.ordinal, thread.access) = (ordinal, access);
                self.range(&range, reader.began(), &mut thread);
                (ordinal, access) = (thread.ordinal, thread.access);
                continue;
            }
            let Some(item) = reader.next(slots) else { break };
            match item {
                Ok(Item::Compact(Compact::Access(slot, addr, value))) => {
                    if self.owners.is_shared(addr, slot.size())
                        || self.owners.touch(owner, addr, slot.size() as u64, slot.writes())
                    {
                        let compact = Compact::Access(slot, addr, value);
                        self.note_compact(compact, &mut thread, ordinal);
                    }
                    self.accesses += 1;
                    ordinal += 1;
                    access = slot.key;
                }
                Ok(Item::Compact(Compact::Entry(slot, call))) => {
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
                Ok(Item::Record(Record::Switch { thread })) => {
                    next = Some(thread);
                    break;
                }
                Ok(Item::Record(record)) => {
                    (thread.ordinal, thread.access) = (ordinal, access);
                    self.record(&record, reader.began(), &mut thread);
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
        if self.notes.len() <= MOST_NOTES {
            self.notes.push(note);
        }
    }

    #[inline(never)]
    fn note_compact(&mut self, compact: Compact, thread: &mut Thread, ordinal: u64) {
        let stack = thread.stack.id(&mut self.calls);
        self.note(Note::Compact { compact, thread: self.thread, stack, ordinal });
    }

    /// Takes an access to a range: the same as [`Sift::record`], for the many of them.
    fn range(&mut self, range: &Range, at: usize, thread: &mut Thread) {
        self.accesses += 1;
        let &Range { kind, pc, addr, len } = range;
        let writes = kind == AccessKind::Write;
        if self.owners.touch(Owner::of(self.thread), addr, len, writes) {
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
        let owner = Owner::of(number);
        if let Record::Alloc { pc, addr, size } = *record {
            self.owners.given(addr, size);
            let site = self.places.of(pc, thread.stack.id(&mut self.calls));
            return self.note(Note::Given { site, at, thread: number, addr, size });
        }
        let matters = match *record {
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                self.owners.given(stack_start, stack_end.saturating_sub(stack_start));
                true
            }
            Record::Free { counted, addr, size, .. } => {
                counted && self.owners.free(owner, addr, size)
            }
            _ => match touched(record) {
                Some((addr, len)) => {
                    self.accesses += 1;
                    self.owners.touch(owner, addr, len, writes(record))
                }
                None => is_event(record),
            },
        };
        if matters {
            let (stack, ordinal) = (thread.stack.id(&mut self.calls), thread.ordinal);
            self.note(if matches!(record, Record::ThreadEnd) {
                Note::End { thread: number, stack, ordinal, last: thread.last() }
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

    /// The program has ended.
    pub(crate) fn finish(self) -> (Sifted, Calls) {
        let (held, damaged) = match self.hold.finish() {
            Ok(held) => (held, self.damaged),
            Err(_) => (Held::default(), true),
        };
        let sifted = Sifted {
            shared: self.owners.finish(),
            places: self.places.places,
            chunks: self.chunks,
            held,
            accesses: self.accesses,
            damaged,
            functions: self.functions,
        };
        (sifted, self.calls)
    }
}

/// Reads on over what can be let go: how many accesses, and the key of the last one's slot. A function of its own, so
/// that all it needs is in registers.
#[inline(never)]
fn let_go(
    reader: &mut ChunkReader<'_>,
    slots: &Slots,
    gate: Gate<'_>,
    stack: Option<&mut Stack>,
) -> (u64, Option<u64>) {
    let mut passing = Passing { passes: |access| gate.lets_go(access), stack, count: 0, last: 0 };
    reader.visit(slots, &mut passing);
    passing.end(slots)
}

/// The same over accesses to words that are not shared in the end.
#[inline(never)]
fn pass_by(
    reader: &mut ChunkReader<'_>,
    slots: &Slots,
    shared: &SharedWords,
    stack: Option<&mut Stack>,
) -> (u64, Option<u64>) {
    let passes =
        |access: Brief| access.high() != u32::MAX && !shared.word(access.addr(), access.size());
    let mut passing = Passing { passes, stack, count: 0, last: 0 };
    reader.visit(slots, &mut passing);
    passing.end(slots)
}

/// Goes over accesses that pass, and function entries and exits.
struct Passing<'a, F> {
    passes: F,
    /// The thread's stack; none if function entries and exits matter.
    stack: Option<&'a mut Stack>,
    /// Accesses so far, and the last one's slot.
    count: u64,
    last: u16,
}

impl<F> Passing<'_, F> {
    fn end(self, slots: &Slots) -> (u64, Option<u64>) {
        (self.count, (self.count > 0).then(|| slots.get(self.last).key))
    }
}

impl<F: Fn(Brief) -> bool> Visitor for Passing<'_, F> {
    #[inline(always)]
    fn access(&mut self, access: Brief) -> bool {
        let passes = (self.passes)(access);
        if passes {
            self.count += 1;
            self.last = access.slot;
        }
        passes
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

/// How far a part of a chunk went.
enum Run {
    /// This thread is next.
    Goes(u32),
    /// The chunk is at its end; whether it goes on with the next.
    Ends(bool),
}

/// Whether a record that accesses no memory matters to the trace.
fn is_event(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::Module { .. }
            | Record::ModuleGone { .. }
            | Record::Create { .. }
            | Record::ThreadName { .. }
            | Record::ThreadEnd
            | Record::Join { .. }
            | Record::Sync { .. }
            | Record::MarkBegin { .. }
            | Record::MarkEnd { .. }
            | Record::Deadlock { .. }
    )
}

/// What is left of a log.
pub(crate) struct Sifted {
    shared: SharedWords,
    places: Vec<(u64, CallId)>,
    chunks: Vec<Noted>,
    held: Held,
    accesses: u64,
    damaged: bool,
    functions: bool,
}

/// Shows what is left.
struct Shower<'s, 'a> {
    sifted: &'a Sifted,
    calls: &'s mut Calls,
    sink: &'s mut dyn Sink<'a>,
    /// Memory given out that nobody was told of yet, by place.
    untold: Vec<u32>,
    /// The places that have some.
    untold_places: Vec<u32>,
    /// For chunks that are read again; large, so that they are made once.
    slots: Option<Slots>,
}

impl<'a> Source<'a> for &'a Sifted {
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'a>) {
        let (untold, untold_places) = (vec![0; self.places.len()], Vec::new());
        let mut shower = Shower { sifted: self, calls, sink, untold, untold_places, slots: None };
        for (number, noted) in self.chunks.iter().enumerate() {
            let records = self.held.get(number);
            let goes_on = if noted.again {
                shower.again(records, noted)
            } else {
                noted.notes.iter().all(|note| shower.note(records, note))
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

impl<'a> Shower<'_, 'a> {
    fn show(&mut self, entry: Entry<'a>, stack: CallId, last: Option<LastStep>) -> bool {
        // Code addresses mean something else after this.
        if matches!(entry.record, Record::Module { .. } | Record::ModuleGone { .. }) {
            self.tell();
        }
        self.sink.seen(self.calls, &Seen { entry, stack, last, private: 0 })
    }

    fn compact(&mut self, compact: Compact, thread: u32, ordinal: u64, stack: CallId) -> bool {
        match compact {
            Compact::Access(slot, addr, value) => {
                self.sink.plain(self.calls, &Plain { thread, ordinal, stack, slot, addr, value })
            }
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
            Note::Given { site, at, thread, addr, size } => {
                if !self.sifted.shared.any(addr, size.saturating_add(SLACK)) {
                    self.keep_untold(site);
                    return true;
                }
                let Some(record) = record_at(records, at as usize) else { return true };
                let stack = self.sifted.places.get(site as usize).map_or(OUTSIDE, |p| p.1);
                self.tell() && self.show(Entry { thread, ordinal: 0, record }, stack, None)
            }
            Note::End { thread, stack, ordinal, last } => self.end(thread, stack, ordinal, last),
        }
    }

    fn end(
        &mut self,
        thread: u32,
        stack: CallId,
        ordinal: u64,
        last: Option<(Kind, Option<u64>)>,
    ) -> bool {
        let last = last.map(|(kind, pc)| LastStep { ordinal: ordinal.saturating_sub(1), kind, pc });
        self.show(Entry { thread, ordinal, record: Record::ThreadEnd }, stack, last)
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
                Run::Goes(next) => number = next,
                Run::Ends(goes_on) => break goes_on,
            }
        };
        self.slots = Some(slots);
        goes_on
    }

    /// Reads on until another thread runs, or the chunk is at its end.
    fn run_again(
        &mut self,
        reader: &mut ChunkReader<'a>,
        slots: &mut Slots,
        number: u32,
        thread: &mut Thread,
    ) -> Run {
        loop {
            let stack = (!self.sifted.functions).then_some(&mut thread.stack);
            let (count, key) = pass_by(reader, slots, &self.sifted.shared, stack);
            thread.access = key.unwrap_or(thread.access);
            thread.ordinal += count;
            let goes_on = match reader.next(slots) {
                Some(Ok(Item::Record(Record::Switch { thread }))) => return Run::Goes(thread),
                Some(Ok(Item::Compact(compact))) => self.compact_again(compact, number, thread),
                Some(Ok(Item::Record(record))) => self.record_again(record, number, thread),
                _ => return Run::Ends(true),
            };
            if !goes_on {
                return Run::Ends(false);
            }
        }
    }

    fn compact_again(&mut self, compact: Compact, number: u32, thread: &mut Thread) -> bool {
        let matters = match compact {
            Compact::Access(slot, addr, _) => {
                thread.access = slot.key;
                self.sifted.shared.word(addr, slot.size())
            }
            Compact::Entry(slot, call) => {
                thread.stack.enter(slot.pc(), call);
                self.sifted.functions
            }
            Compact::Exit => self.sifted.functions,
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
        let shared = &self.sifted.shared;
        let goes_on = match record {
            Record::ThreadEnd => {
                let stack = thread.stack.id(self.calls);
                self.end(number, stack, ordinal, thread.last())
            }
            Record::Alloc { addr, size, pc } => {
                let stack = thread.stack.id(self.calls);
                if shared.any(addr, size.saturating_add(SLACK)) {
                    self.tell() && self.show(Entry { thread: number, ordinal, record }, stack, None)
                } else {
                    self.private_alloc(number, pc, stack, 1)
                }
            }
            _ => {
                let matters = match record {
                    Record::Free { counted, addr, size, .. } => counted && shared.any(addr, size),
                    Record::ThreadBegin { .. } => true,
                    _ => match touched(&record) {
                        Some((addr, len)) => shared.any(addr, len),
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
            self.untold_places.push(site);
        }
        *untold += 1;
    }

    /// Tells of memory that was given out for nothing that matters.
    fn tell(&mut self) -> bool {
        let mut goes_on = true;
        for site in std::mem::take(&mut self.untold_places) {
            let count = std::mem::take(&mut self.untold[site as usize]);
            let (pc, stack) = self.sifted.places[site as usize];
            goes_on &= self.private_alloc(0, pc, stack, count);
        }
        goes_on
    }

    fn private_alloc(&mut self, thread: u32, pc: u64, stack: CallId, count: u32) -> bool {
        let record = Record::Alloc { pc, addr: 0, size: 0 };
        let entry = Entry { thread, ordinal: 0, record };
        self.sink.seen(self.calls, &Seen { entry, stack, last: None, private: count })
    }
}

#[cfg(test)]
mod tests;
