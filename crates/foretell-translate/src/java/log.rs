//! Reads the log of the Java agent, complete or cut off.
//!
//! | part of the file | content |
//! |---|---|
//! | 8 bytes | `FTJAVA2\n` |
//! | 2 varints | seed, quantum |
//! | records | tag, varints (LEB128, signed values zigzag) |
//!
//! The file grows by chunks that are zero at first: tag 0 is the end, tag 255 leads to the next
//! chunk. `Log.java` of the agent has the tags and the content of their records.

use std::cmp::Ordering;

use foretell_rt_format::{FormatError, SyncKind};
use foretell_trace::MemoryOrder;

use super::mutex_semaphores::TRIED;
use super::optimistic_reads::OPTIMISTIC;
use super::plain::ObjectUse;
use super::record::{Blocked, Effect, Mode, Record};

const MAGIC: &[u8] = b"FTJAVA2\n";
const CHUNK: usize = 8 << 20;
const SKIP: u8 = 255;
/// Tags of atomic accesses: on atomic objects, through handles, on elements; for each a read, a
/// write, an update, a failed update.
const FIRST_ATOMIC: u8 = 48;
const LAST_ATOMIC: u8 = FIRST_ATOMIC + 11;
/// Tag before that of an atomic access whose mode is not volatile.
const MODE: u8 = 83;

/// A record, its thread, and the number of steps of that thread before it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) thread: u32,
    pub(crate) ordinal: u64,
    pub(crate) record: Record<'a>,
}

/// A log in memory.
pub(crate) struct Log<'a> {
    bytes: &'a [u8],
    pub(crate) seed: u64,
    pub(crate) quantum: u64,
    start: usize,
}

impl<'a> Log<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(MAGIC) {
            return Err(FormatError::NotALog);
        }
        let mut r = Reader { bytes, at: MAGIC.len() };
        let (seed, quantum) = (r.varint(), r.varint());
        match (seed, quantum) {
            (Some(seed), Some(quantum)) => Ok(Log { bytes, seed, quantum, start: r.at }),
            _ => Err(FormatError::NotALog),
        }
    }

    /// Returns the records, up to the end or the first damaged one.
    pub(crate) fn entries(&self) -> Entries<'a> {
        let reader = Reader { bytes: self.bytes, at: self.start };
        Entries { reader, thread: 0, ordinals: Vec::new(), damaged: false }
    }
}

/// Iterator over the records of a log.
pub(crate) struct Entries<'a> {
    reader: Reader<'a>,
    thread: u32,
    ordinals: Vec<u64>,
    /// Whether the log ended in an invalid record.
    pub(crate) damaged: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let tag = *self.reader.bytes.get(self.reader.at)?;
            match tag {
                0 => return None,
                SKIP => {
                    self.reader.at = (self.reader.at / CHUNK + 1) * CHUNK;
                    continue;
                }
                _ => self.reader.at += 1,
            }
            if tag == 1 {
                match self.reader.thread() {
                    Some(thread) => self.thread = thread,
                    None => return self.stop(),
                }
                continue;
            }
            let Some(record) = self.reader.record(tag) else { return self.stop() };
            let thread = self.thread;
            let i = thread as usize;
            if self.ordinals.len() <= i {
                self.ordinals.resize(i + 1, 0);
            }
            let ordinal = self.ordinals[i];
            if record.kind().is_some() {
                self.ordinals[i] += 1;
            }
            return Some(Entry { thread, ordinal, record });
        }
    }
}

impl<'a> Entries<'a> {
    fn stop(&mut self) -> Option<Entry<'a>> {
        self.damaged = true;
        self.reader.at = self.reader.bytes.len();
        None
    }
}

/// Maximum number of threads of a valid log.
const MOST_THREADS: u32 = 1 << 24;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Option<u64> {
        foretell_varint::read(self.bytes, &mut self.at).ok()
    }

    fn thread(&mut self) -> Option<u32> {
        self.id().filter(|&thread| thread < MOST_THREADS)
    }

    fn id(&mut self) -> Option<u32> {
        u32::try_from(self.varint()?).ok()
    }

    fn signed(&mut self) -> Option<i64> {
        self.varint().map(foretell_varint::unzigzag)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::try_from(self.varint()?).ok()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        std::str::from_utf8(bytes).ok()
    }

    fn sync(&mut self, kind: SyncKind, other: bool) -> Option<Record<'a>> {
        let (site, object) = (self.id()?, self.id()?);
        let other = if other { self.varint()? } else { 0 };
        Some(Record::Sync { kind, site, object, other })
    }

    /// Parses an acquire by a try.
    fn tried(&mut self, kind: SyncKind) -> Option<Record<'a>> {
        Some(Record::Sync { kind, site: self.id()?, object: self.id()?, other: 1 })
    }

    /// Parses the begin or the validation of an optimistic read.
    fn optimistic(&mut self, kind: SyncKind) -> Option<Record<'a>> {
        Some(Record::Sync { kind, site: self.id()?, object: self.id()?, other: OPTIMISTIC })
    }

    fn order(&mut self, post: bool, down: bool) -> Option<Record<'a>> {
        Some(Record::Order { post, down, site: self.id()?, semaphore: self.id()? })
    }

    /// Parses the mode of an atomic access: a memory order, or 5 for the plain mode.
    fn mode(&mut self) -> Option<Mode> {
        let number = u8::try_from(self.varint()?).ok()?;
        if number == 5 { Some(Mode::Plain) } else { MemoryOrder::from_u8(number).map(Mode::Atomic) }
    }

    /// Parses an atomic access with a mode of its own.
    fn atomic_with_mode(&mut self) -> Option<Record<'a>> {
        let mode = self.mode()?;
        let tag = *self.bytes.get(self.at)?;
        self.at += 1;
        (FIRST_ATOMIC..=LAST_ATOMIC).contains(&tag).then(|| self.atomic(tag, mode))?
    }

    /// Parses an atomic access; its tag has the kind of variable and the effect.
    fn atomic(&mut self, tag: u8, mode: Mode) -> Option<Record<'a>> {
        let (site, object, index) = (self.id()?, self.id()?, self.id()?);
        let effect = match (tag - FIRST_ATOMIC) % 4 {
            0 => Effect::Read(self.signed()?),
            1 => Effect::Write(self.signed()?),
            2 => Effect::Update(self.signed()?, self.signed()?),
            _ => Effect::FailedUpdate(self.signed()?),
        };
        Some(match (tag - FIRST_ATOMIC) / 4 {
            0 => Record::Atomic { site, object, index, mode, effect },
            1 => Record::Handled { site, object, handle: index, mode, effect },
            _ => Record::AtomicElement { site, array: object, index, mode, effect },
        })
    }

    fn operation(&mut self, attempt: bool) -> Option<Record<'a>> {
        let (site, down, object, key) = (self.id()?, self.id()?, self.id()?, self.id()?);
        let (old, new) = (self.version()?, self.version()?);
        let effect = match old.cmp(&new) {
            Ordering::Less => Effect::Update(old, new),
            Ordering::Equal if attempt => Effect::FailedUpdate(old),
            Ordering::Equal => Effect::Read(old),
            // The operation did not observe the version before.
            Ordering::Greater => Effect::Write(new),
        };
        Some(Record::Operation { site, down, object, key, effect, post: self.id()? })
    }

    fn objects(&mut self) -> Option<Vec<u32>> {
        let n = self.varint()?;
        (0..n).map(|_| self.id()).collect()
    }

    fn values(&mut self) -> Option<Vec<i64>> {
        let n = self.varint()?;
        (0..n).map(|_| self.signed()).collect()
    }

    fn uses(&mut self) -> Option<Vec<ObjectUse>> {
        let n = self.varint()?;
        (0..n).map(|_| ObjectUse::parse(self.id()?, self.id()?)).collect()
    }

    fn version(&mut self) -> Option<i64> {
        i64::try_from(self.varint()?).ok()
    }

    fn record(&mut self, tag: u8) -> Option<Record<'a>> {
        Some(match tag {
            2 => Record::Object { id: self.id()?, class: self.id()? },
            3 => Record::ClassName { class: self.id()?, name: self.text()? },
            4 | 76 => Record::Made { id: self.id()?, site: self.id()?, for_all: tag == 76 },
            5 => Record::Node(self.id()?),
            6 => Record::Frame {
                node: self.id()?,
                parent: self.id()?,
                call: self.id()?,
                method: self.id()?,
            },
            7 | 8 => Record::Access {
                write: tag == 8,
                site: self.id()?,
                object: self.id()?,
                value: self.signed()?,
            },
            9 | 10 => Record::Element {
                write: tag == 10,
                site: self.id()?,
                array: self.id()?,
                index: self.id()?,
                value: self.signed()?,
            },
            11 => self.sync(SyncKind::Lock, false)?,
            12 => self.sync(SyncKind::Unlock, false)?,
            13 => self.sync(SyncKind::TryFailed, false)?,
            14 => self.sync(SyncKind::ReadLock, false)?,
            15 => self.sync(SyncKind::ReadUnlock, false)?,
            16 => self.sync(SyncKind::Wait, true)?,
            17 => self.sync(SyncKind::Woken, true)?,
            18 => self.sync(SyncKind::TimedOut, true)?,
            19 => self.sync(SyncKind::Signal, false)?,
            20 => self.sync(SyncKind::Broadcast, false)?,
            21 => Record::Fork { site: self.id()?, thread: self.thread()?, nth: self.id()? },
            22 => Record::Join { site: self.id()?, thread: self.thread()? },
            23 => Record::End,
            24 => Record::ThreadName { thread: self.thread()?, name: self.text()? },
            25 => self.sync(SyncKind::Post, true)?,
            26 => self.sync(SyncKind::Down, true)?,
            27 => {
                Record::Semaphore { number: self.id()?, count: self.varint()?, name: self.text()? }
            }
            28 => self.order(true, true)?,
            29 => self.sync(SyncKind::Arrive, false)?,
            30 => self.sync(SyncKind::Leave, false)?,
            31 => Record::Barrier { object: self.id()?, parties: self.varint()? },
            32 => self.sync(SyncKind::TryReadFailed, false)?,
            33 | 34 | 74 => Record::State {
                change: tag == 34,
                is_step: tag == 74,
                site: self.id()?,
                object: self.id()?,
            },
            75 => Record::Key { map: self.id()?, key: self.id()?, text: self.text()? },
            35 => Record::Begin { method: self.id()? },
            36 => Record::EndBlock,
            37 => self.uncaught()?,
            38 => {
                let n = self.varint()?;
                let threads = (0..n).map(|_| self.thread()).collect::<Option<_>>()?;
                Record::Deadlock { threads }
            }
            39 => {
                self.varint()?;
                Record::Departure { message: self.text()? }
            }
            40 => Record::Stopped,
            41 => self.order(true, false)?,
            42 => self.order(false, true)?,
            43 => Record::Latch { site: self.id()?, semaphore: self.id()?, count: self.varint()? },
            44 => Record::Permit { site: self.id()?, down: self.id()?, post: self.id()? },
            45 => Record::Handle { number: self.id()?, class: self.text()?, field: self.text()? },
            46 | 47 => self.operation(tag == 47)?,
            FIRST_ATOMIC..=LAST_ATOMIC => self.atomic(tag, Mode::VOLATILE)?,
            MODE => self.atomic_with_mode()?,
            84 => {
                let site = self.id()?;
                Record::Fence { site, order: self.mode()?.order() }
            }
            67 => Record::Sync {
                kind: SyncKind::Down,
                site: self.id()?,
                object: self.id()?,
                other: self.varint()?.min(TRIED - 1) | TRIED,
            },
            68 | 69 => Record::Range {
                write: tag == 69,
                site: self.id()?,
                array: self.id()?,
                first: self.id()?,
                values: self.values()?,
            },
            77 => self.optimistic(SyncKind::ReadLock)?,
            78 => self.optimistic(SyncKind::ReadUnlock)?,
            79 | 82 => {
                // The site of the call.
                self.id()?;
                Record::FailedOptimistic { begins: tag == 79, object: self.id()? }
            }
            85..=88 => Record::Resource {
                closes: matches!(tag, 86 | 88),
                is_step: tag >= 87,
                site: self.id()?,
                object: self.id()?,
            },
            72 => self.tried(SyncKind::Lock)?,
            73 => self.tried(SyncKind::ReadLock)?,
            70 => Record::Initial {
                site: self.id()?,
                object: self.id()?,
                index: None,
                value: self.signed()?,
            },
            71 => Record::Initial {
                site: self.id()?,
                object: self.id()?,
                index: Some(self.id()?),
                value: self.signed()?,
            },
            60 | 61 => Record::Hidden {
                returns: tag == 61,
                site: self.id()?,
                method: self.id()?,
                uses: self.uses()?,
            },
            62 => {
                // The site of the call.
                self.id()?;
                Record::HiddenJoin { object: self.id()?, objects: self.objects()? }
            }
            63 => Record::HiddenMethod {
                number: self.id()?,
                state: self.id()?,
                class: self.text()?,
                name: self.text()?,
            },
            64 => Record::AfterOthers,
            65 | 66 => Record::HandledPlain {
                write: tag == 66,
                site: self.id()?,
                object: self.id()?,
                handle: self.id()?,
                value: self.signed()?,
            },
            90 => Record::OtherWake,
            80 => Record::StepsDone,
            81 => {
                let n = self.varint()?;
                let blocked = (0..n).map(|_| {
                    let (thread, joins) = (self.thread()?, self.varint()? == 1);
                    let object = if joins { self.thread()? } else { self.id()? };
                    Some(Blocked { thread, joins, object })
                });
                Record::AllBlocked { threads: blocked.collect::<Option<_>>()? }
            }
            _ => return None,
        })
    }

    fn uncaught(&mut self) -> Option<Record<'a>> {
        let (thread, class, message) = (self.thread()?, self.text()?, self.text()?);
        let n = self.varint()?;
        let frames = (0..n).map(|_| Some((self.text()?, self.text()?))).collect::<Option<_>>()?;
        Some(Record::Uncaught { thread, class, message, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(records: &[u8]) -> Vec<u8> {
        [MAGIC, &[3, 5], records].concat()
    }

    #[test]
    fn records_have_threads_and_ordinals() {
        let bytes = log(&[1, 0, 8, 4, 7, 3, 1, 2, 7, 4, 0, 2, 7, 5, 0, 2, 0, 9, 9]);
        let parsed = Log::parse(&bytes).unwrap();
        assert_eq!((parsed.seed, parsed.quantum), (3, 5));
        let entries: Vec<Entry<'_>> = parsed.entries().collect();
        let write = Record::Access { write: true, site: 4, object: 7, value: -2 };
        assert_eq!(entries[0], Entry { thread: 0, ordinal: 0, record: write });
        let read = Record::Access { write: false, site: 5, object: 0, value: 1 };
        assert_eq!(entries[2], Entry { thread: 2, ordinal: 1, record: read });
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn atomic_accesses_have_modes() {
        let bytes = log(&[1, 0, MODE, 3, 49, 4, 7, 0, 2, 84, 4, 2, 48, 4, 7, 0, 2, MODE, 5, 48, 4]);
        let parsed = Log::parse(&bytes).unwrap();
        let mut entries = parsed.entries();
        let found: Vec<Record<'_>> = entries.by_ref().map(|entry| entry.record).collect();
        let (site, object, index) = (4, 7, 0);
        let mode = Mode::Atomic(MemoryOrder::Release);
        assert_eq!(
            found,
            [
                Record::Atomic { site, object, index, mode, effect: Effect::Write(1) },
                Record::Fence { site, order: MemoryOrder::Acquire },
                Record::Atomic {
                    site,
                    object,
                    index,
                    mode: Mode::VOLATILE,
                    effect: Effect::Read(1),
                },
            ]
        );
        assert!(entries.damaged);
        let bytes = log(&[1, 0, MODE, 1, 8, 4, 7, 0]);
        assert_eq!(Log::parse(&bytes).unwrap().entries().count(), 0);
    }

    #[test]
    fn truncated_log_is_read_to_its_end() {
        let bytes = log(&[1, 0, 8, 4, 7, 3, 8, 4]);
        let parsed = Log::parse(&bytes).unwrap();
        let mut entries = parsed.entries();
        assert!(entries.next().is_some() && entries.next().is_none() && entries.damaged);
        assert!(Log::parse(b"hello").is_err());
    }

    #[test]
    fn records_continue_in_the_next_chunk() {
        let mut bytes = log(&[1, 0, SKIP]);
        bytes.resize(CHUNK, 0);
        bytes.extend([7, 1, 0, 0]);
        assert_eq!(Log::parse(&bytes).unwrap().entries().count(), 1);
    }
}
