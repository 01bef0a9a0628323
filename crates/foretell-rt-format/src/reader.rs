//! Reading a raw log, complete or cut off.

use crate::record::{AccessKind, LONGEST_RANGE, Record, StopReason};
use crate::wire::{
    Brief, CHUNK_HEADER_LEN, CHUNK_USED, Compact, ENTRY_CLASS, Get, HEAD_LEN, HEADER_LEN, LIVE,
    Live, MAGIC, MOST_THREADS, Slot, Slots, VERSION, class_of, compact_len, header, is_exit, tag,
};
use std::fmt;

/// Reason why bytes are not a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// Too short, or other first bytes.
    NotALog,
    /// Written by another version of the runtime.
    Version(u32),
    /// A record that is not valid, at this offset of the file.
    Corrupt(usize),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::NotALog => write!(f, "not a raw log of the foretell runtime"),
            FormatError::Version(v) => write!(
                f,
                "written by version {v} of the foretell runtime's log, this is version {VERSION}: \
                 build the program again"
            ),
            FormatError::Corrupt(at) => write!(f, "damaged at byte {at}"),
        }
    }
}

impl std::error::Error for FormatError {}

/// The header page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// 0 record, 1 parallel, 2 replay.
    pub mode: u32,
    /// Seed of the scheduler.
    pub seed: u64,
    /// Average quantum.
    pub quantum: u64,
    /// Process id.
    pub pid: u32,
    /// Reason why recording stopped early, if it did.
    pub stopped: StopReason,
    /// Error number of that.
    pub stop_errno: u32,
    /// Lower bound of the number of records lost then.
    pub lost: u64,
}

/// A raw log in memory.
#[derive(Clone, Debug)]
pub struct Log<'a> {
    /// Its header.
    pub header: Header,
    bytes: &'a [u8],
    chunk_len: usize,
}

/// A record with its thread and its ordinal.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry<'a> {
    /// Index of the thread, in order of creation.
    pub thread: u32,
    /// Number of steps of this thread before this record.
    pub ordinal: u64,
    /// The record.
    pub record: Record<'a>,
}

impl<'a> Log<'a> {
    /// Reads the header.
    pub fn parse(bytes: &'a [u8]) -> Result<Log<'a>, FormatError> {
        let page = bytes.get(..HEADER_LEN).ok_or(FormatError::NotALog)?;
        let u32_at = |at: usize| Get { buf: page, at }.fixed(4).map_or(0, |v| v as u32);
        let u64_at = |at: usize| Get { buf: page, at }.fixed(8).unwrap_or(0);
        if page[..8] != MAGIC {
            return Err(FormatError::NotALog);
        }
        if u32_at(header::VERSION) != VERSION {
            return Err(FormatError::Version(u32_at(header::VERSION)));
        }
        let chunk_len = u32_at(header::CHUNK_LEN) as usize;
        if chunk_len <= CHUNK_HEADER_LEN {
            return Err(FormatError::Corrupt(header::CHUNK_LEN));
        }
        let header = Header {
            mode: u32_at(header::MODE),
            seed: u64_at(header::SEED),
            quantum: u64_at(header::QUANTUM),
            pid: u32_at(header::PID),
            stopped: StopReason::from_u8(u32_at(header::STOPPED) as u8)
                .unwrap_or(StopReason::Failed),
            stop_errno: u32_at(header::STOP_ERRNO),
            lost: u64_at(header::LOST),
        };
        Ok(Log { header, bytes, chunk_len })
    }

    /// Returns the chunks, in the order of the file.
    pub fn chunks(&self) -> Vec<Chunk<'a>> {
        let mut chunks: Vec<Chunk<'a>> = Vec::new();
        // The state of writing of each stream.
        let mut lives: Vec<(u32, Live)> = Vec::new();
        let mut start = HEADER_LEN;
        while let Some(head) = (Get { buf: self.bytes, at: start }).fixed(4).filter(|&h| h != 0) {
            let stream = (head - 1) as u32;
            let live = match lives.iter().find(|(id, _)| *id == stream) {
                Some(&(_, live)) => live,
                None => {
                    let at = if stream == 0 { header::LIVE } else { start + LIVE };
                    let live = self.live(at);
                    lives.push((stream, live));
                    live
                }
            };
            let used = Get { buf: self.bytes, at: start + CHUNK_USED }.fixed(4).unwrap_or(0);
            chunks.push(self.chunk(start, stream, used, live));
            start += self.chunk_len;
        }
        chunks
    }

    /// Returns the chunk of a ring that is still being written.
    pub fn open_chunk(&self) -> Chunk<'a> {
        let live = self.live(header::LIVE);
        let start = usize::try_from(live.offset).unwrap_or(usize::MAX);
        // It is closed and the next one was not begun, or recording stopped.
        let used = Get { buf: self.bytes, at: start.saturating_add(CHUNK_USED) }.fixed(4);
        if start < HEADER_LEN || used != Some(0) {
            return Chunk::complete(0, start, &[]);
        }
        self.chunk(start, 0, 0, live)
    }

    fn chunk(&self, start: usize, stream: u32, used: u64, live: Live) -> Chunk<'a> {
        let open = used == 0;
        let mut used = used;
        let mut pending = usize::MAX;
        if open && live.offset == start as u64 {
            used = live.cur.wrapping_sub(live.chunk);
            let value = live.pending.wrapping_sub(live.chunk);
            if value < used {
                pending = (value as usize).saturating_sub(CHUNK_HEADER_LEN);
            }
        }
        let used = used.clamp(CHUNK_HEADER_LEN as u64, self.chunk_len as u64) as usize;
        let end = start.saturating_add(used).min(self.bytes.len());
        let at = start.saturating_add(CHUNK_HEADER_LEN).min(end);
        Chunk { stream, at, records: &self.bytes[at..end], pending }
    }

    fn live(&self, at: usize) -> Live {
        let mut g = Get { buf: self.bytes, at };
        let mut next = || g.fixed(8).unwrap_or(0);
        Live { cur: next(), chunk: next(), offset: next(), pending: next() }
    }

    /// Returns all records in the recorded order. `Switch`, `Slot` and `Seq` are resolved, not
    /// shown.
    pub fn events(&self) -> Events<'a> {
        let mut streams: Vec<Stream<'a>> = Vec::new();
        for chunk in self.chunks() {
            match streams.iter_mut().find(|s| s.id == chunk.stream) {
                Some(s) => s.chunks.push(chunk),
                None => streams.push(Stream::new(chunk, self.header.mode == 1)),
            }
        }
        Events { streams, ordinals: Vec::new(), failed: false }
    }
}

/// One chunk of a log.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The stream that it belongs to.
    pub stream: u32,
    /// Offset of its records in the log.
    pub at: usize,
    /// Its records.
    pub records: &'a [u8],
    /// Offset in the records of a value that is missing; `usize::MAX`: none is.
    pub pending: usize,
}

impl<'a> Chunk<'a> {
    /// Returns a chunk that has been written to its end.
    pub fn complete(stream: u32, at: usize, records: &'a [u8]) -> Chunk<'a> {
        Chunk { stream, at, records, pending: usize::MAX }
    }
}

/// A record of a chunk.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A compact one.
    Compact(Compact),
    /// Any other.
    Record(Record<'a>),
}

/// An access to a range of memory, without its data.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Read or write.
    pub kind: AccessKind,
    /// Code address.
    pub pc: u64,
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
}

/// Visitor of compact records. A method returns false if it does not take the record:
/// [`ChunkReader::next`] gives it then.
pub trait Visitor {
    /// A plain access. It must not be taken if its address is not known. Only the value's low
    /// bytes, as many as the access has, are valid.
    fn access(&mut self, access: Brief, value: u64) -> bool;
    /// A function entry: slot and address of the call.
    fn entry(&mut self, slot: Slot, call: u64) -> bool;
    /// A function exit.
    fn exit(&mut self) -> bool;
}

/// Reader of the records of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct ChunkReader<'a> {
    chunk: Chunk<'a>,
    at: usize,
    /// Offset of the last record that is not compact.
    began: usize,
}

impl<'a> ChunkReader<'a> {
    /// Returns a reader of a chunk. The slots must be the same for all its records.
    pub fn new(chunk: Chunk<'a>, slots: &mut Slots) -> Self {
        slots.clear();
        ChunkReader { chunk, at: 0, began: 0 }
    }

    /// Returns the next record. `Slot` is not shown.
    #[inline(always)]
    pub fn next(&mut self, slots: &mut Slots) -> Option<Result<Item<'a>, FormatError>> {
        let rest = &self.chunk.records[self.at..];
        if let Some((compact, len)) = slots.compact(rest) {
            return Some(Ok(self.shown(compact, len)));
        }
        self.other(slots)
    }

    /// Reads compact records for as long as the visitor takes them. The last few records may be
    /// left to [`ChunkReader::next`].
    #[inline(always)]
    pub fn visit(&mut self, slots: &Slots, visitor: &mut impl Visitor) {
        let records = &self.chunk.records[..self.chunk.pending.min(self.chunk.records.len())];
        let mut at = self.at;
        // Every compact record is shorter than 16 bytes.
        while let Some(ahead) = records.get(at..).and_then(<[u8]>::first_chunk::<16>) {
            let whole = u128::from_le_bytes(*ahead);
            let ahead = whole as u64;
            let head = ahead as u16;
            let class = class_of(usize::from(head >> 1));
            let taken = if head & 1 == 0 {
                false
            } else if class < ENTRY_CLASS {
                visitor.access(slots.brief(ahead), (whole >> (8 * HEAD_LEN)) as u64)
            } else if class == ENTRY_CLASS {
                let (slot, addr) = slots.head(ahead);
                slot.key != 0 && visitor.entry(slot, addr)
            } else {
                is_exit(head) && visitor.exit()
            };
            if !taken {
                break;
            }
            at += compact_len(head);
        }
        self.at = at;
    }

    /// Returns the next record, if it is an access to a range, without its data ([`record_at`]).
    #[inline]
    pub fn range(&mut self) -> Option<Range> {
        let mut g = Get { buf: self.chunk.records, at: self.at };
        if g.u8()? != tag::RANGE {
            return None;
        }
        let kind = AccessKind::from_u8(g.u8()?)?;
        let range = Range { kind, pc: g.var()?, addr: g.var()?, len: g.var()? };
        if range.len > LONGEST_RANGE {
            return None;
        }
        g.bytes()?;
        (self.began, self.at) = (self.at, g.at);
        Some(range)
    }

    /// Returns the offset of the last record that is not compact; [`record_at`] reads it again.
    pub fn began(&self) -> usize {
        self.began
    }

    #[inline(always)]
    fn shown(&mut self, compact: Compact, len: usize) -> Item<'a> {
        self.at += len;
        match compact {
            Compact::Access(slot, addr, _) if self.chunk.pending < self.at => {
                Item::Record(self.without_value(slot, addr))
            }
            _ => Item::Compact(compact),
        }
    }

    /// Returns the access that the program did not return from.
    #[cold]
    fn without_value(&mut self, slot: Slot, addr: u64) -> Record<'a> {
        self.chunk.pending = usize::MAX;
        let (kind, size) = (slot.kind(), slot.size() as u8);
        Record::Wide { kind, size, pc: slot.pc(), addr, value: None }
    }

    #[inline(never)]
    fn other(&mut self, slots: &mut Slots) -> Option<Result<Item<'a>, FormatError>> {
        loop {
            let wrong = FormatError::Corrupt(self.chunk.at + self.at);
            let mut g = Get { buf: self.chunk.records, at: self.at };
            let tag = g.u8()?;
            if tag & 1 != 0 {
                let Some((compact, len)) = slots.compact(&self.chunk.records[self.at..]) else {
                    self.at = self.chunk.records.len();
                    return Some(Err(wrong));
                };
                return Some(Ok(self.shown(compact, len)));
            }
            let record = Record::decode(tag, &mut g);
            self.began = self.at;
            self.at = g.at;
            let defined = match record {
                Some(Record::Slot { slot, key, high }) => slots.define(slot, key, high),
                Some(record) => return Some(Ok(Item::Record(record))),
                None => None,
            };
            if defined.is_none() {
                self.at = self.chunk.records.len();
                return Some(Err(wrong));
            }
        }
    }
}

/// Iterator over the records of a log.
#[derive(Debug)]
pub struct Events<'a> {
    streams: Vec<Stream<'a>>,
    ordinals: Vec<u64>,
    failed: bool,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Entry<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        // The only stream (the usual case), or the one with the smallest position.
        let mut best: Option<(usize, u64)> = None;
        for (i, s) in self.streams.iter_mut().enumerate() {
            if let Err(e) = s.fill() {
                self.failed = true;
                return Some(Err(e));
            }
            if s.ahead.is_some() && best.is_none_or(|(_, seq)| s.seq < seq) {
                best = Some((i, s.seq));
            }
        }
        let stream = &mut self.streams[best?.0];
        let record = stream.ahead.take()?;
        let thread = stream.thread;
        if thread >= MOST_THREADS {
            self.failed = true;
            return Some(Err(FormatError::NotALog));
        }
        let index = thread as usize;
        if self.ordinals.len() <= index {
            self.ordinals.resize(index + 1, 0);
        }
        let ordinal = self.ordinals[index];
        self.ordinals[index] += record.steps();
        Some(Ok(Entry { thread, ordinal, record }))
    }
}

/// Returns the record at an offset of a chunk's records, if it is not compact.
pub fn record_at(records: &[u8], at: usize) -> Option<Record<'_>> {
    let mut g = Get { buf: records, at };
    let tag = g.u8().filter(|tag| tag & 1 == 0)?;
    Record::decode(tag, &mut g)
}

struct Stream<'a> {
    id: u32,
    chunks: Vec<Chunk<'a>>,
    /// Chunks that were begun.
    chunk: usize,
    reader: Option<ChunkReader<'a>>,
    thread: u32,
    seq: u64,
    slots: Slots,
    ahead: Option<Record<'a>>,
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} in chunk {})", self.id, self.chunk)
    }
}

impl<'a> Stream<'a> {
    fn new(chunk: Chunk<'a>, parallel: bool) -> Self {
        let id = chunk.stream;
        Stream {
            id,
            chunks: vec![chunk],
            chunk: 0,
            reader: None,
            thread: if parallel { id } else { 0 },
            seq: 0,
            slots: Slots::default(),
            ahead: None,
        }
    }

    /// Reads up to the next record that is shown.
    fn fill(&mut self) -> Result<(), FormatError> {
        while self.ahead.is_none() {
            let Some(reader) = &mut self.reader else {
                let Some(&chunk) = self.chunks.get(self.chunk) else { return Ok(()) };
                self.chunk += 1;
                self.reader = Some(ChunkReader::new(chunk, &mut self.slots));
                continue;
            };
            match reader.next(&mut self.slots).transpose()? {
                None => self.reader = None,
                Some(Item::Compact(compact)) => self.ahead = Some(compact.record()),
                Some(Item::Record(record)) => match record {
                    Record::Switch { thread } => self.thread = thread,
                    Record::Seq { delta } => self.seq = self.seq.wrapping_add(delta),
                    shown => self.ahead = Some(shown),
                },
            }
        }
        Ok(())
    }
}

impl Compact {
    /// Returns the compact record in the general form.
    pub fn record(self) -> Record<'static> {
        match self {
            Compact::Access(slot, addr, value) => Record::Access {
                kind: slot.kind(),
                size: slot.size() as u8,
                pc: slot.pc(),
                addr,
                value,
            },
            Compact::Entry(slot, call) => Record::FuncEntry { pc: slot.pc(), call },
            Compact::Exit => Record::FuncExit,
        }
    }
}

impl Slot {
    /// Returns the kind of an access.
    #[inline(always)]
    pub fn kind(self) -> AccessKind {
        if self.writes() { AccessKind::Write } else { AccessKind::Read }
    }
}
