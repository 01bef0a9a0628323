//! Regions of memory: the object that an address belongs to at a moment of the run.
//!
//! A region is a piece of memory with one lifetime: a module's globals, a thread's stack, one
//! allocation of the heap. Memory that is allocated again is a new region, so two objects that had
//! an address one after the other stay different objects. Freed memory keeps its region until it is
//! allocated again: a use after free is an access to the freed object. All other memory (mappings
//! of the program, thread-local storage) is one region without a name.
//!
//! Variables that had an address of one stack one after the other are one variable.

use std::collections::BTreeMap;

use foretell_rt_format::Record;
use rustc_hash::FxHashMap;

/// Number of a region, in the order of their births.
pub(crate) type RegionId = u32;

/// Number of entries of the cache of spans.
const CACHED: usize = 64;

/// Region of memory in no other region.
pub(crate) const ELSEWHERE: RegionId = 0;

/// Kind of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RegionKind {
    Elsewhere,
    /// Globals of a module.
    Module,
    /// Stack of a thread.
    Stack {
        thread: u32,
    },
    /// The `nth` allocation (from 0) of the call at `pc`.
    Heap {
        pc: u64,
        nth: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Span {
    end: u64,
    region: RegionId,
}

/// Regions of a run so far, live and dead.
pub(crate) struct Regions {
    live: BTreeMap<u64, Span>,
    kinds: Vec<(RegionKind, u64, u64)>,
    /// Number of allocations of each call.
    allocations: FxHashMap<u64, u32>,
    /// Cache of spans by address: accesses come in groups.
    cache: [(u64, u64, RegionId); CACHED],
}

impl Regions {
    pub(crate) fn new() -> Self {
        Regions {
            live: BTreeMap::new(),
            kinds: vec![(RegionKind::Elsewhere, 0, 0)],
            allocations: FxHashMap::default(),
            cache: [(0, 0, ELSEWHERE); CACHED],
        }
    }

    /// Returns the kind of a region and its first address.
    pub(crate) fn kind(&self, region: RegionId) -> (RegionKind, u64) {
        self.kinds
            .get(region as usize)
            .map_or((RegionKind::Elsewhere, 0), |&(kind, start, _)| (kind, start))
    }

    /// Returns the region that was born last.
    pub(crate) fn last(&self) -> RegionId {
        (self.kinds.len() - 1) as RegionId
    }

    /// Returns the end of a region at its birth.
    pub(crate) fn end(&self, region: RegionId) -> u64 {
        self.kinds.get(region as usize).map_or(0, |&(_, _, end)| end)
    }

    /// Adds the regions that a record creates.
    pub(crate) fn apply(&mut self, thread: u32, record: &Record<'_>) {
        match *record {
            Record::Module { start, end, .. } => self.born(start, end, RegionKind::Module),
            Record::ThreadBegin { stack_start, stack_end, .. } if stack_start < stack_end => {
                self.born(stack_start, stack_end, RegionKind::Stack { thread });
            }
            Record::Alloc { pc, addr, size } => {
                let end = addr.saturating_add(size.max(1));
                let nth = self.count(pc, 1);
                // Annotations make globals new, too; these keep their names.
                let before = self.of(addr);
                let kind = match self.kind(before).0 {
                    RegionKind::Module => RegionKind::Module,
                    _ => RegionKind::Heap { pc, nth },
                };
                self.born(addr, end, kind);
            }
            _ => {}
        }
    }

    /// Adds `more` allocations of the call at `pc`. Returns the number before.
    pub(crate) fn count(&mut self, pc: u64, more: u32) -> u32 {
        let count = self.allocations.entry(pc).or_insert(0);
        let before = *count;
        *count = before.wrapping_add(more);
        before
    }

    fn born(&mut self, start: u64, end: u64, kind: RegionKind) {
        // The log may be damaged.
        let end = end.max(start);
        let before = self.live.range(..start).next_back();
        let mut gone: Vec<u64> = Vec::new();
        // A region that holds the new one is cut: the rest of it stays.
        if let Some((&at, span)) = before
            && span.end > start
        {
            let span = *span;
            if let Some(cut) = self.live.get_mut(&at) {
                cut.end = start;
            }
            if span.end > end {
                self.live.insert(end, span);
            }
        }
        gone.extend(self.live.range(start..end).map(|(&at, _)| at));
        for at in gone {
            let Some(span) = self.live.remove(&at) else { continue };
            if span.end > end {
                self.live.insert(end, span);
            }
        }
        let region = self.kinds.len() as RegionId;
        self.kinds.push((kind, start, end));
        self.live.insert(start, Span { end, region });
        self.cache = [(0, 0, ELSEWHERE); CACHED];
    }

    /// Returns the region that holds an address.
    pub(crate) fn of(&mut self, addr: u64) -> RegionId {
        let slot = (addr >> 12) as usize % CACHED;
        let (start, end, region) = self.cache[slot];
        if start <= addr && addr < end {
            return region;
        }
        match self.live.range(..=addr).next_back() {
            Some((&start, span)) if addr < span.end => {
                self.cache[slot] = (start, span.end, span.region);
                span.region
            }
            _ => ELSEWHERE,
        }
    }

    /// Returns the region that starts at `addr` and its end, if one does.
    pub(crate) fn extent(&self, addr: u64) -> Option<(RegionId, u64)> {
        self.live.get(&addr).map(|span| (span.region, span.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alloc(r: &mut Regions, addr: u64, size: u64) {
        r.apply(0, &Record::Alloc { pc: 1, addr, size });
    }

    #[test]
    fn memory_that_is_allocated_again_is_a_new_region() {
        let mut r = Regions::new();
        alloc(&mut r, 100, 50);
        let first = r.of(120);
        assert_ne!(first, ELSEWHERE);
        assert_eq!(r.of(150), ELSEWHERE);
        alloc(&mut r, 110, 10);
        let second = r.of(110);
        assert_ne!(first, second);
        // The rest of the first on both sides is still the first.
        assert_eq!((r.of(105), r.of(119), r.of(120), r.of(149)), (first, second, first, first));
        alloc(&mut r, 90, 100);
        let third = r.of(90);
        assert_eq!((r.of(105), r.of(119), r.of(189)), (third, third, third));
        assert_eq!(r.of(190), ELSEWHERE);
        assert_eq!(r.kind(third), (RegionKind::Heap { pc: 1, nth: 2 }, 90));
    }

    #[test]
    fn globals_that_are_new_memory_stay_globals() {
        let mut r = Regions::new();
        let path = b"a";
        let (bias, start, end) = (0, 1000, 2000);
        r.apply(0, &Record::Module { bias, start, end, path, build_id: &[] });
        let before = r.of(1504);
        alloc(&mut r, 1504, 4);
        assert_ne!(r.of(1504), before);
        assert_eq!((r.of(1503), r.of(1508)), (before, before));
        assert_eq!(r.kind(r.last()).0, RegionKind::Module);
    }

    #[test]
    fn stacks_and_modules_are_regions() {
        let mut r = Regions::new();
        r.apply(3, &Record::ThreadBegin { tid: 7, stack_start: 1000, stack_end: 2000 });
        let stack = r.of(1500);
        assert_eq!(r.kind(stack).0, RegionKind::Stack { thread: 3 });
        assert_eq!(r.extent(1000), Some((stack, 2000)));
        assert_eq!(r.extent(1001), None);
    }
}
