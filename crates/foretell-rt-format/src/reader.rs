//! Reading a raw log, complete or cut off.

use crate::record::{AccessKind, Record, StopReason};
use crate::wire::{
    CHUNK_HEADER_LEN, FORM_LEN, Get, HEADER_LEN, MAGIC, SLOTS, Slot, VERSION, header, tag,
};
use std::fmt;

/// Why bytes are not a raw log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// Too short, or other first bytes.
    NotALog,
    /// Written by another version of the runtime.
    Version(u32),
    /// A record that makes no sense, at this offset of the file.
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
    /// Whether and why recording stopped early.
    pub stopped: StopReason,
    /// The error number that goes with it.
    pub stop_errno: u32,
    /// A lower bound of the records lost then.
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

/// One record with whose it is and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry<'a> {
    /// Index of the thread, in order of creation.
    pub thread: u32,
    /// Counted records of this thread before this one.
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

    /// Every record in the recorded order. `Switch`, `Slot` and `Seq` are resolved, not shown.
    pub fn events(&self) -> Events<'a> {
        let mut streams: Vec<Stream<'a>> = Vec::new();
        let mut at = HEADER_LEN;
        while let Some(head) = (Get { buf: self.bytes, at }).fixed(4) {
            if head == 0 {
                break;
            }
            let id = (head - 1) as u32;
            let end = (at + self.chunk_len).min(self.bytes.len());
            let chunk = (at + CHUNK_HEADER_LEN, end);
            match streams.iter_mut().find(|s| s.id == id) {
                Some(s) => s.chunks.push(chunk),
                None => streams.push(Stream::new(self.bytes, id, self.header.mode == 1, chunk)),
            }
            at += self.chunk_len;
        }
        Events { streams, ordinals: Vec::new(), failed: false }
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
        // One stream (the usual case), or the one that is behind.
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
        let index = thread as usize;
        if self.ordinals.len() <= index {
            self.ordinals.resize(index + 1, 0);
        }
        let ordinal = self.ordinals[index];
        self.ordinals[index] += u64::from(record.counted());
        Some(Ok(Entry { thread, ordinal, record }))
    }
}

struct Stream<'a> {
    id: u32,
    bytes: &'a [u8],
    chunks: Vec<(usize, usize)>,
    chunk: usize,
    at: usize,
    thread: u32,
    seq: u64,
    slots: Vec<Slot>,
    ahead: Option<Record<'a>>,
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} at {})", self.id, self.at)
    }
}

impl<'a> Stream<'a> {
    fn new(bytes: &'a [u8], id: u32, parallel: bool, chunk: (usize, usize)) -> Self {
        Stream {
            id,
            bytes,
            chunks: vec![chunk],
            chunk: 0,
            at: chunk.0,
            thread: if parallel { id } else { 0 },
            seq: 0,
            slots: vec![Slot::default(); SLOTS],
            ahead: None,
        }
    }

    /// Reads up to the next record that is shown.
    fn fill(&mut self) -> Result<(), FormatError> {
        while self.ahead.is_none() {
            let Some(&(_, end)) = self.chunks.get(self.chunk) else { return Ok(()) };
            let mut g = Get { buf: &self.bytes[..end], at: self.at };
            let t = g.u8().unwrap_or(tag::END);
            if t == tag::END {
                self.chunk += 1;
                if let Some(&(start, _)) = self.chunks.get(self.chunk) {
                    self.at = start;
                }
                continue;
            }
            let record = self.record(t, &mut g).ok_or(FormatError::Corrupt(self.at))?;
            self.at = g.at;
            match record {
                Record::Switch { thread } => self.thread = thread,
                Record::Seq { delta } => self.seq = self.seq.wrapping_add(delta),
                Record::Slot { slot, pc } => {
                    let s = self
                        .slots
                        .get_mut(usize::from(slot))
                        .ok_or(FormatError::Corrupt(self.at))?;
                    *s = Slot { pc, addr: 0 };
                }
                shown => self.ahead = Some(shown),
            }
        }
        Ok(())
    }

    fn record(&mut self, t: u8, g: &mut Get<'a>) -> Option<Record<'a>> {
        if t & tag::ACCESS != 0 {
            let (pc, addr) = self.slot(g, usize::from(t >> 2 & 3))?;
            let value = g.fixed(usize::from(FORM_LEN[usize::from(t & 3)]))?;
            let kind = AccessKind::from_u8(t >> 6 & 1)?;
            return Some(Record::Access { kind, size: 1 << (t >> 4 & 3), pc, addr, value });
        }
        if t == tag::FUNC_EXIT {
            return Some(Record::FuncExit);
        }
        if t & !3 == tag::FUNC_ENTRY {
            let (pc, call) = self.slot(g, usize::from(t & 3))?;
            return Some(Record::FuncEntry { pc, call });
        }
        Record::decode(t, g)
    }

    /// Slot and address delta: the code address and the new data address.
    fn slot(&mut self, g: &mut Get<'_>, form: usize) -> Option<(u64, u64)> {
        let index = g.fixed(2)? as usize;
        let len = usize::from(FORM_LEN[form]);
        let raw = g.fixed(len)?;
        let unused = 64 - 8 * len as u32;
        let delta = if len == 0 { 0 } else { ((raw << unused) as i64 >> unused) as u64 };
        let slot = self.slots.get_mut(index)?;
        slot.addr = slot.addr.wrapping_add(delta);
        Some((slot.pc, slot.addr))
    }
}
