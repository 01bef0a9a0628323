//! First pass over the records of a run: properties of the whole run that the translation needs
//! before the first event, such as which memory is shared and which lock scopes are blocks.

use foretell_rt_format::channel::Channel;
use foretell_rt_format::{AtomicKind, Entry, Record, SyncKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::benign::{self, BenignFinder};
use super::held_before::HeldBefore;
use super::hidden::{HiddenSurvey, Object};
use super::lifetimes::{LifetimeFinder, Lifetimes};
use super::regions::{RegionId, Regions};
use super::stack_frames::{FrameSurvey, StackFrames};
use crate::blocks::{Blocks, ScopeFinder, Scopes};
use crate::native::cells::{Cells, is_in_word};
use foretell_log::{Calls, LoggedRecord, PlainAccess, Sink, Source, touched, writes};

/// Properties of a whole run.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) memory: MemorySurvey,
    /// Lock scopes that are blocks.
    pub(super) scopes: Scopes,
    /// Semaphores that a thread fails to take.
    pub(super) tried_semaphores: FxHashSet<(RegionId, u64)>,
    pub(super) channels: FxHashMap<u64, ChannelUse>,
    pub(super) hidden: HiddenSurvey,
    /// Locks that the first thread holds when the log begins, and whether it is the reader side.
    pub(super) held_before: Vec<(u64, bool)>,
    /// Frames in which variables on stacks are used.
    pub(super) frames: StackFrames,
    pub(super) lifetimes: Lifetimes,
}

/// Properties of the memory of a run.
#[derive(Default)]
pub(super) struct MemorySurvey {
    pub(super) cells: Cells,
    /// Bytes with failed read-modify-writes.
    pub(super) failed_updates: FxHashSet<(RegionId, u64)>,
    /// Elision points that another thread waits for: the thread, and the number of its elision
    /// points before.
    pub(super) awaited_points: FxHashSet<(u32, u64)>,
    /// Words that code which is not recorded writes, by region and address, with their objects.
    pub(super) hidden_words: FxHashMap<(RegionId, u64), Object>,
    /// Bytes on which annotations say that races are meant to be.
    pub(super) benign: benign::Bytes,
}

/// Use of a channel in a run.
#[derive(Default)]
pub(super) struct ChannelUse {
    /// Number of messages sent.
    pub(super) messages: u64,
    pub(super) senders: Users,
    /// Threads that receive.
    pub(super) takers: Users,
    /// Threads that receive or look.
    pub(super) lookers: Users,
}

/// Threads that use a channel in one way.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Users {
    #[default]
    None,
    One(u32),
    Many,
}

impl Users {
    /// Adds the threads of another use.
    pub(super) fn join(&mut self, other: Users) {
        match other {
            Users::None => {}
            Users::One(thread) => self.add(thread),
            Users::Many => *self = Users::Many,
        }
    }

    pub(super) fn add(&mut self, thread: u32) {
        *self = match *self {
            Users::None => Users::One(thread),
            Users::One(before) if before == thread => *self,
            _ => Users::Many,
        };
    }
}

impl ChannelUse {
    fn take(&mut self, thread: u32, kind: SyncKind) {
        match kind {
            SyncKind::Sent => {
                self.messages += 1;
                self.senders.add(thread);
            }
            SyncKind::Received => {
                self.takers.add(thread);
                self.lookers.add(thread);
            }
            SyncKind::Looked => self.lookers.add(thread),
            _ => {}
        }
    }

    /// Whether the channel orders threads: one thread sends, and another receives or looks.
    pub(super) fn orders(&self) -> bool {
        let (sends, looks) = (self.senders, self.lookers);
        sends != Users::None
            && looks != Users::None
            && (sends == Users::Many || looks == Users::Many || sends != looks)
    }
}

impl Survey {
    pub(super) fn of(source: &dyn Source<'_>, calls: &mut Calls, blocks: &Blocks) -> Survey {
        let mut surveyor = Surveyor {
            survey: Survey::default(),
            regions: Regions::new(),
            scopes: blocks.locks.then(ScopeFinder::default),
            points: FxHashMap::default(),
            threads: 0,
            benign: BenignFinder::default(),
            held_before: HeldBefore::default(),
            frames: FrameSurvey::default(),
            lifetimes: LifetimeFinder::default(),
        };
        source.for_each(calls, &mut surveyor);
        let Survey { hidden, memory, .. } = &mut surveyor.survey;
        hidden.finish(&memory.cells);
        memory.hidden_words = hidden.hidden_words();
        memory.benign = surveyor.benign.finish();
        let scopes = surveyor.scopes.map(ScopeFinder::finish).unwrap_or_default();
        let held_before = surveyor.held_before.finish();
        let frames = surveyor.frames.found;
        let lifetimes = surveyor.lifetimes.finish(&surveyor.regions);
        Survey { scopes, held_before, frames, lifetimes, ..surveyor.survey }
    }
}

/// A survey under construction.
struct Surveyor {
    survey: Survey,
    regions: Regions,
    /// `None` if lock scopes are no blocks.
    scopes: Option<ScopeFinder>,
    /// Number of elision points of each thread so far.
    points: FxHashMap<u32, u64>,
    /// Number of threads so far.
    threads: u32,
    benign: BenignFinder,
    held_before: HeldBefore,
    frames: FrameSurvey,
    lifetimes: LifetimeFinder,
}

impl Surveyor {
    /// Takes a record about elision gaps.
    fn elision_gap(&mut self, entry: &Entry<'_>) {
        let memory = &mut self.survey.memory;
        match entry.record {
            Record::Create { thread, .. } => {
                self.threads = self.threads.max(thread.saturating_add(1))
            }
            Record::ElisionPoint => *self.points.entry(entry.thread).or_default() += 1,
            Record::AfterElisionPoint { thread } => {
                let before = self.points.get(&thread).and_then(|points| points.checked_sub(1));
                memory.awaited_points.extend(before.map(|before| (thread, before)));
            }
            // The log does not have the bytes of elided accesses.
            Record::ElisionGap { holder, wrote, addr, .. } => {
                let holders = holder.map_or(0..self.threads.max(1), |h| h..h.saturating_add(1));
                for holder in holders {
                    memory.cells.touch(&mut self.regions, holder, addr, 8, wrote);
                }
            }
            _ => {}
        }
    }
}

/// Whether an operation is on a lock.
fn is_of_lock(kind: SyncKind) -> bool {
    use SyncKind::*;
    matches!(kind, Lock | Unlock | ReadLock | ReadUnlock)
}

impl Sink<'_> for Surveyor {
    fn record(&mut self, _: &Calls, logged: &LoggedRecord<'_>) -> bool {
        let entry = &logged.entry;
        if logged.private > 0 {
            self.survey.hidden.skip();
            return true;
        }
        if let Record::Sync { kind, object, other, .. } = entry.record {
            self.lifetimes.sync(&mut self.regions, entry.thread, (kind, object, other));
        }
        if let Record::Sync { kind, object, .. } = entry.record
            && is_of_lock(kind)
        {
            // Most records but for accesses are of locks, and say nothing else.
            let Survey { memory, hidden, .. } = &mut self.survey;
            hidden.lock(&mut self.regions, &mut memory.cells, entry.thread, object);
            let region = self.regions.of(object);
            self.frames.access(&self.regions, region, (entry.thread, object, 1));
            self.held_before.take(entry);
            if let Some(scopes) = &mut self.scopes {
                scopes.take(entry);
            }
            return true;
        }
        self.regions.apply(entry.thread, &entry.record);
        self.frames.take(entry);
        if let Record::Sync { object, .. } = entry.record {
            let region = self.regions.of(object);
            self.frames.access(&self.regions, region, (entry.thread, object, 1));
        }
        self.elision_gap(entry);
        self.benign.annotation(&mut self.regions, entry);
        self.held_before.take(entry);
        let memory = &mut self.survey.memory;
        if let Some((addr, len)) = touched(&entry.record) {
            let writes = writes(&entry.record);
            self.benign.access(&mut self.regions, entry.thread, (addr, len), writes);
            memory.cells.touch(&mut self.regions, entry.thread, addr, len, writes);
            let region = self.regions.of(addr);
            self.frames.access(&self.regions, region, (entry.thread, addr, len));
        }
        self.survey.hidden.take(&mut self.regions, &mut memory.cells, entry);
        if let Record::Free { counted: true, addr, .. } = entry.record
            && let Some((region, _)) = self.regions.extent(addr)
        {
            memory.cells.free(region, entry.thread);
            self.lifetimes.free(region, entry.thread);
        }
        if let Record::Sync { kind: SyncKind::DownFailed, object, .. } = entry.record {
            self.survey.tried_semaphores.insert((self.regions.of(object), object));
        }
        if let Record::Atomic { kind: AtomicKind::FailedUpdate, addr, size, .. } = entry.record {
            let region = self.regions.of(addr);
            memory
                .failed_updates
                .extend((addr..).take(usize::from(size)).map(|byte| (region, byte)));
        }
        if let Record::Sync { kind, object, .. } = entry.record
            && Channel::of(object).is_some()
        {
            self.survey.channels.entry(object).or_default().take(entry.thread, kind);
        }
        if let Some(scopes) = &mut self.scopes {
            scopes.take(entry);
        }
        true
    }

    fn plain(&mut self, _: &Calls, access: &PlainAccess) -> bool {
        let &PlainAccess { thread, slot, addr, .. } = access;
        let (len, writes) = (slot.size() as u64, slot.writes());
        let Survey { memory, hidden, .. } = &mut self.survey;
        let regions = &mut self.regions;
        self.benign.access(regions, thread, (addr, len), writes);
        let region = regions.of(addr);
        self.frames.access(regions, region, (thread, addr, len));
        if is_in_word(addr, len) {
            let page = memory.cells.touch_word(regions, region, thread, (addr, len), writes);
            hidden.plain_in_word(regions, &mut memory.cells, access, (region, page));
        } else {
            memory.cells.touch(regions, thread, addr, len, writes);
            hidden.plain(regions, &mut memory.cells, access);
        }
        true
    }
}
