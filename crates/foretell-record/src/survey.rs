//! The first pass over the records of a run: which memory is shared, and which lock scopes are blocks.

use foretell_rt_format::{AccessKind, AtomicKind, Record, SyncKind};
use rustc_hash::FxHashSet;

use crate::blocks::{Blocks, ScopeFinder};
use crate::calls::Calls;
use crate::granules::Granules;
use crate::regions::{RegionId, Regions};
use crate::seen::Source;

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
        let mut regions = Regions::new();
        let mut granules = Granules::default();
        let mut scopes = ScopeFinder::default();
        let mut tried = FxHashSet::default();
        source.for_each(calls, &mut |_, seen| {
            let entry = &seen.entry;
            if seen.private > 0 {
                return true;
            }
            regions.apply(entry.thread, &entry.record);
            if let Some((addr, len)) = touched(&entry.record) {
                granules.touch(&mut regions, entry.thread, addr, len, writes(&entry.record));
            }
            if let Record::Free { counted: true, addr, .. } = entry.record
                && let Some((region, _)) = regions.extent(addr)
            {
                granules.free(region, entry.thread);
            }
            if let Record::Sync { kind: SyncKind::DownFailed, object, .. } = entry.record {
                tried.insert((regions.of(object), object));
            }
            if blocks.locks {
                scopes.take(entry);
            }
            true
        });
        Survey { granules, scopes: scopes.finish(), tried }
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
