//! The first pass over the records of a run: which memory is shared, and which lock scopes are blocks.

use foretell_rt_format::channel::Channel;
use foretell_rt_format::{AtomicKind, Entry, Record, SyncKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::blocks::{Blocks, ScopeFinder, Scopes};
use crate::cells::Cells;
use crate::regions::{RegionId, Regions};
use foretell_log::Calls;
use foretell_log::{LoggedRecord, PlainAccess, Sink, Source, touched, writes};

/// What has to be known of a whole run before its first event is written.
pub(crate) struct Survey {
    pub(crate) cells: Cells,
    /// Lock scopes that are blocks.
    pub(crate) scopes: Scopes,
    /// Semaphores that somebody tried to take in vain.
    pub(crate) tried: FxHashSet<(RegionId, u64)>,
    /// Bytes that somebody tried to exchange in vain.
    pub(crate) attempted: FxHashSet<(RegionId, u64)>,
    /// How channels are used.
    pub(crate) channels: FxHashMap<u64, ChannelUse>,
    /// What threads leave behind and others come after: by thread, and how often it has left something behind before.
    pub(crate) left_behind: FxHashSet<(u32, u64)>,
}

/// How a channel is used in a run.
#[derive(Default)]
pub(crate) struct ChannelUse {
    /// How often something is sent.
    pub(crate) messages: u64,
    pub(crate) senders: Users,
    /// Those who take something out.
    pub(crate) takers: Users,
    /// Those who take something out or look.
    pub(crate) lookers: Users,
}

/// Threads that do something, as far as it matters.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Users {
    #[default]
    None,
    One(u32),
    Many,
}

impl Users {
    fn add(&mut self, thread: u32) {
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

    /// Whether it orders anything: somebody sends, and another thread receives or looks.
    pub(crate) fn orders(&self) -> bool {
        let (sends, looks) = (self.senders, self.lookers);
        sends != Users::None
            && looks != Users::None
            && (sends == Users::Many || looks == Users::Many || sends != looks)
    }
}

impl Survey {
    pub(crate) fn of(source: &dyn Source<'_>, calls: &mut Calls, blocks: &Blocks) -> Survey {
        let mut surveyor = Surveyor {
            regions: Regions::new(),
            cells: Cells::default(),
            scopes: blocks.locks.then(ScopeFinder::default),
            tried: FxHashSet::default(),
            attempted: FxHashSet::default(),
            channels: FxHashMap::default(),
            left_behind: FxHashSet::default(),
            leaves: FxHashMap::default(),
            threads: 0,
        };
        source.for_each(calls, &mut surveyor);
        let Surveyor { cells, scopes, tried, attempted, channels, left_behind, .. } = surveyor;
        let scopes = scopes.map(ScopeFinder::finish).unwrap_or_default();
        Survey { cells, scopes, tried, attempted, channels, left_behind }
    }
}

/// Makes a survey.
struct Surveyor {
    regions: Regions,
    cells: Cells,
    /// If lock scopes are blocks.
    scopes: Option<ScopeFinder>,
    tried: FxHashSet<(RegionId, u64)>,
    attempted: FxHashSet<(RegionId, u64)>,
    channels: FxHashMap<u64, ChannelUse>,
    left_behind: FxHashSet<(u32, u64)>,
    /// How often each thread has left something behind.
    leaves: FxHashMap<u32, u64>,
    /// Threads so far.
    threads: u32,
}

impl Surveyor {
    /// What has to do with accesses that have no records.
    fn gap(&mut self, entry: &Entry<'_>) {
        match entry.record {
            Record::Create { thread, .. } => {
                self.threads = self.threads.max(thread.saturating_add(1))
            }
            Record::ElisionPoint => *self.leaves.entry(entry.thread).or_default() += 1,
            Record::AfterElisionPoint { thread } => {
                let leaves = self.leaves.get(&thread).and_then(|leaves| leaves.checked_sub(1));
                self.left_behind.extend(leaves.map(|leaves| (thread, leaves)));
            }
            // Which bytes these accesses were to, nobody knows.
            Record::ElisionGap { holder, wrote, addr, .. } => {
                let holders = holder.map_or(0..self.threads.max(1), |h| h..h.saturating_add(1));
                for holder in holders {
                    self.cells.touch(&mut self.regions, holder, addr, 8, wrote);
                }
            }
            _ => {}
        }
    }
}

impl Sink<'_> for Surveyor {
    fn record(&mut self, _: &Calls, seen: &LoggedRecord<'_>) -> bool {
        let entry = &seen.entry;
        if seen.private > 0 {
            return true;
        }
        self.regions.apply(entry.thread, &entry.record);
        self.gap(entry);
        if let Some((addr, len)) = touched(&entry.record) {
            let writes = writes(&entry.record);
            self.cells.touch(&mut self.regions, entry.thread, addr, len, writes);
        }
        if let Record::Free { counted: true, addr, .. } = entry.record
            && let Some((region, _)) = self.regions.extent(addr)
        {
            self.cells.free(region, entry.thread);
        }
        if let Record::Sync { kind: SyncKind::DownFailed, object, .. } = entry.record {
            self.tried.insert((self.regions.of(object), object));
        }
        if let Record::Atomic { kind: AtomicKind::FailedUpdate, addr, size, .. } = entry.record {
            let region = self.regions.of(addr);
            self.attempted.extend((addr..).take(usize::from(size)).map(|byte| (region, byte)));
        }
        if let Record::Sync { kind, object, .. } = entry.record
            && Channel::of(object).is_some()
        {
            self.channels.entry(object).or_default().take(entry.thread, kind);
        }
        if let Some(scopes) = &mut self.scopes {
            scopes.take(entry);
        }
        true
    }

    fn plain(&mut self, _: &Calls, access: &PlainAccess) -> bool {
        let &PlainAccess { thread, slot, addr, .. } = access;
        self.cells.touch(&mut self.regions, thread, addr, slot.size() as u64, slot.writes());
        true
    }
}
