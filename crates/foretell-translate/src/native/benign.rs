//! Bytes on which annotations say that races are meant to be.

use foretell_rt_format::{Entry, Record};
use rustc_hash::{FxHashMap, FxHashSet};

use super::regions::{RegionId, Regions};

/// Bytes that an annotation may name at once.
const MOST: u64 = 1 << 20;

/// Bytes of regions.
pub(super) type Bytes = FxHashSet<(RegionId, u64)>;

/// Finds the bytes that annotations name, and those that threads access between annotations to
/// ignore their accesses.
#[derive(Default)]
pub(super) struct BenignFinder {
    bytes: Bytes,
    /// Depth of the annotations of each thread to ignore reads, and writes; those that are not 0.
    ignoring: FxHashMap<u32, [i64; 2]>,
}

impl BenignFinder {
    pub(super) fn annotation(&mut self, regions: &mut Regions, entry: &Entry<'_>) {
        match entry.record {
            Record::Benign { addr, size } => self.add(regions, addr, size.min(MOST)),
            Record::Ignore { reads, writes } => {
                let depth = self.ignoring.entry(entry.thread).or_default();
                // An end without a begin means nothing.
                *depth =
                    [(depth[0] + i64::from(reads)).max(0), (depth[1] + i64::from(writes)).max(0)];
                if *depth == [0, 0] {
                    self.ignoring.remove(&entry.thread);
                }
            }
            _ => {}
        }
    }

    #[inline]
    pub(super) fn access(
        &mut self,
        regions: &mut Regions,
        thread: u32,
        (addr, len): (u64, u64),
        writes: bool,
    ) {
        if self.ignoring.is_empty() {
            return;
        }
        let depth = self.ignoring.get(&thread).map_or(0, |depth| depth[usize::from(writes)]);
        if depth > 0 {
            self.add(regions, addr, len.min(MOST));
        }
    }

    fn add(&mut self, regions: &mut Regions, addr: u64, len: u64) {
        let bytes = addr..addr.saturating_add(len);
        self.bytes.extend(bytes.map(|byte| (regions.of(byte), byte)));
    }

    pub(super) fn finish(self) -> Bytes {
        self.bytes
    }
}
