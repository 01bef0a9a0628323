//! The first pass over the records of a run: which memory is shared, and which lock scopes are blocks.

use foretell_rt_format::{AccessKind, AtomicKind, Record, SyncKind};
use rustc_hash::FxHashSet;

use crate::blocks::{Blocks, ScopeFinder};
use crate::calls::Calls;
use crate::granules::Granules;
use crate::regions::{RegionId, Regions};
use crate::seen::{Plain, Seen, Sink, Source};

/// What has to be known of a whole run before its first event is written.
pub(crate) struct Survey {
    pub(crate) granules: Granules,
    /// Lock scopes that are blocks, by thread and ordinal of the acquire.
    pub(crate) scopes: FxHashSet<(u32, u64)>,
    /// Semaphores that somebody tried to take in vain.
    pub(crate) tried: FxHashSet<(RegionId, u64)>,
}

impl Survey {
    pub(crate) fn of(source: &dyn Source<'_>, calls: &mut Calls, blocks: &Blocks) -> Survey {
        let mut surveyor = Surveyor {
            regions: Regions::new(),
            granules: Granules::default(),
            scopes: blocks.locks.then(ScopeFinder::default),
            tried: FxHashSet::default(),
        };
        source.for_each(calls, &mut surveyor);
        let scopes = surveyor.scopes.map(ScopeFinder::finish).unwrap_or_default();
        Survey { granules: surveyor.granules, scopes, tried: surveyor.tried }
    }
}

/// Makes a survey.
struct Surveyor {
    regions: Regions,
    granules: Granules,
    /// If lock scopes are blocks.
    scopes: Option<ScopeFinder>,
    tried: FxHashSet<(RegionId, u64)>,
}

impl Sink<'_> for Surveyor {
    fn seen(&mut self, _: &Calls, seen: &Seen<'_>) -> bool {
        let entry = &seen.entry;
        if seen.private > 0 {
            return true;
        }
        self.regions.apply(entry.thread, &entry.record);
        if let Some((addr, len)) = touched(&entry.record) {
            let writes = writes(&entry.record);
            self.granules.touch(&mut self.regions, entry.thread, addr, len, writes);
        }
        if let Record::Free { counted: true, addr, .. } = entry.record
            && let Some((region, _)) = self.regions.extent(addr)
        {
            self.granules.free(region, entry.thread);
        }
        if let Record::Sync { kind: SyncKind::DownFailed, object, .. } = entry.record {
            self.tried.insert((self.regions.of(object), object));
        }
        if let Some(scopes) = &mut self.scopes {
            scopes.take(entry);
        }
        true
    }

    fn plain(&mut self, _: &Calls, access: &Plain) -> bool {
        let &Plain { thread, slot, addr, .. } = access;
        self.granules.touch(&mut self.regions, thread, addr, slot.size() as u64, slot.writes());
        true
    }
}

/// The memory that a record accesses.
pub(crate) fn touched(record: &Record<'_>) -> Option<(u64, u64)> {
    match *record {
        Record::Access { addr, size, .. }
        | Record::Wide { addr, size, .. }
        | Record::Atomic { addr, size, .. } => Some((addr, u64::from(size))),
        Record::Range { addr, len, .. } => Some((addr, len)),
        _ => None,
    }
}

/// Whether an access writes.
pub(crate) fn writes(record: &Record<'_>) -> bool {
    match record {
        Record::Access { kind, .. } | Record::Wide { kind, .. } | Record::Range { kind, .. } => {
            *kind == AccessKind::Write
        }
        Record::Atomic { kind, .. } => {
            matches!(kind, AtomicKind::Store | AtomicKind::VolatileStore | AtomicKind::Update)
        }
        _ => false,
    }
}
