//! Provenance: the threads that may know a block, and the last uses of it.
//!
//! A thread can use a heap block only after it got a reference to it. These explain a use:
//! - the thread allocated the block;
//! - a recorded access of the thread read an address in the block (or the one past its end) that
//!   recorded code of another thread had written;
//! - create and join order a thread that knew the block before this one: the argument of the
//!   creation, the result of the join, and everything that is read from memory which they transfer
//!   and whose accesses the log does not have;
//! - the thread came back from a wait that is not modelled after the block was allocated.
//!
//! A first use that nothing explains is ordered after the last use of the block by each other
//! thread. Values that a thread itself has written, or that code which is not recorded has written,
//! explain nothing: the reference came from elsewhere. Stacks are blocks of their threads.

use foretell_ownership::transfer::LAST_EPOCH;
use foretell_ownership::{AtLimit, BitSet, Epoch, ForkJoinClock};
use foretell_rt_format::Record;
use rustc_hash::FxHashMap;

use crate::native::regions::{RegionId, RegionKind, Regions};

/// Mask of the address in a pointer with a tag in its high bits.
const ADDRESS: u64 = (1 << 47) - 1;

/// Use of a block by a thread.
#[derive(Clone, Copy)]
struct Use {
    thread: u32,
    /// Index of the record.
    last: u64,
}

/// A block.
#[derive(Default)]
struct Block {
    /// Threads that know the block, each with its epoch then.
    knowers: Vec<(u32, Epoch)>,
    uses: Vec<Use>,
}

impl Block {
    /// Whether the region is a block: its allocation is a use.
    fn is_one(&self) -> bool {
        !self.uses.is_empty()
    }
}

/// Threads, and the blocks that they know.
pub(super) struct Provenance {
    clock: ForkJoinClock<BitSet>,
    /// By region; without uses for a region that is no block.
    blocks: Vec<Block>,
    /// Thread, block and index of the last use.
    recent: (u32, RegionId),
    /// Regions up to this one are known to a thread.
    all_until: FxHashMap<u32, RegionId>,
    /// Lowest and highest address of a block so far.
    bounds: (u64, u64),
}

/// Last uses by other threads that a first use comes after.
pub(super) type Earlier = Vec<u64>;

impl Default for Provenance {
    fn default() -> Self {
        Provenance {
            clock: ForkJoinClock::new(LAST_EPOCH, AtLimit::KeepEpoch),
            blocks: Vec::new(),
            recent: (u32::MAX, 0),
            all_until: FxHashMap::default(),
            bounds: (u64::MAX, 0),
        }
    }
}

impl Provenance {
    /// Takes a record that creates a block, or that orders threads.
    pub(super) fn take(
        &mut self,
        regions: &mut Regions,
        thread: u32,
        index: u64,
        record: &Record<'_>,
    ) {
        match *record {
            Record::Create { thread: child, .. } => self.clock.create(thread, child),
            Record::Join { thread: ended, .. } => self.clock.join(thread, ended),
            Record::AfterOthers => self.knows_all(thread, regions.last()),
            Record::Alloc { addr, .. } | Record::ThreadBegin { stack_start: addr, .. } => {
                let region = regions.of(addr);
                if !is_block(regions, region) {
                    return;
                }
                let (start, end) = self.bounds;
                self.bounds = (start.min(addr), end.max(regions.end(region)));
                let knowers = vec![(thread, self.clock.epoch(thread))];
                let uses = vec![Use { thread, last: index }];
                let region = region as usize;
                if self.blocks.len() <= region {
                    self.blocks.resize_with(region + 1, Block::default);
                }
                self.blocks[region] = Block { knowers, uses };
            }
            _ => {}
        }
    }

    /// A thread knows all regions up to this one.
    pub(super) fn knows_all(&mut self, thread: u32, last: RegionId) {
        self.all_until.insert(thread, last);
    }

    /// A thread uses a region. Returns the last uses by other threads if it is a block and nothing
    /// explains that the thread knows it.
    #[inline(always)]
    pub(super) fn use_at(
        &mut self,
        (thread, index): (u32, u64),
        region: RegionId,
    ) -> Option<Earlier> {
        let block = self.blocks.get_mut(region as usize).filter(|block| block.is_one())?;
        if let Some(own) = block.uses.iter_mut().find(|own| own.thread == thread) {
            own.last = index;
            return None;
        }
        self.first_use((thread, index), region)
    }

    #[cold]
    fn first_use(&mut self, (thread, index): (u32, u64), region: RegionId) -> Option<Earlier> {
        let block = self.blocks.get_mut(region as usize)?;
        let all_until = self.all_until.get(&thread).copied().unwrap_or(0);
        let knows = region <= all_until
            || block.knowers.iter().any(|&(knower, epoch)| {
                knower == thread || (!epoch.is_none() && self.clock.knows(thread, epoch))
            });
        let epoch = self.clock.epoch(thread);
        let earlier: Earlier = block.uses.iter().map(|other| other.last).collect();
        block.uses.push(Use { thread, last: index });
        block.knowers.push((thread, epoch));
        (!knows).then_some(earlier)
    }

    /// A thread has read a value that recorded code of another thread wrote: it knows the block
    /// that the value is an address in.
    #[inline]
    pub(super) fn learn(&mut self, regions: &mut Regions, thread: u32, value: u64) {
        let addr = value & ADDRESS;
        if (self.bounds.0..=self.bounds.1).contains(&addr) {
            self.learn_address(regions, thread, addr);
        }
    }

    #[inline(never)]
    fn learn_address(&mut self, regions: &mut Regions, thread: u32, addr: u64) {
        let mut region = regions.of(addr);
        if !self.blocks.get(region as usize).is_some_and(Block::is_one) {
            // The address past the end of a block.
            region = regions.of(addr.saturating_sub(1));
        }
        if self.recent == (thread, region) {
            return;
        }
        self.recent = (thread, region);
        if let Some(block) = self.blocks.get_mut(region as usize)
            && block.is_one()
            && !block.knowers.iter().any(|&(knower, _)| knower == thread)
        {
            block.knowers.push((thread, self.clock.epoch(thread)));
        }
    }
}

/// Whether a region is a block: memory that a thread has to get a reference to.
fn is_block(regions: &Regions, region: RegionId) -> bool {
    matches!(regions.kind(region).0, RegionKind::Heap { .. } | RegionKind::Stack { .. })
}
