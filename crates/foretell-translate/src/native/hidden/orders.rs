//! Orders between records that the first pass finds and the second one writes.
//!
//! An order is a *point*, a variable that a thread writes after its record and that another thread
//! reads before its own. Records are numbered as they come: both passes see the same ones.

use crate::native::regions::RegionId;

/// Order of a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Order {
    /// The record comes after everything that the other threads have done so far.
    AfterOthers,
    /// The record comes after a point.
    After(u32),
    /// A point follows the record.
    Point(u32),
}

/// Orders of a run, by the index of their record.
#[derive(Default)]
pub(in crate::native) struct Orders {
    orders: Vec<(u64, Order)>,
    /// Number of orders that the second pass has taken.
    taken: usize,
    /// The block of each point.
    blocks: Vec<RegionId>,
}

impl Orders {
    /// The record `later` comes after the others, which use the same block.
    pub(super) fn first_use(&mut self, block: RegionId, earlier: &[u64], later: u64) {
        for &earlier in earlier {
            let point = self.blocks.len() as u32;
            self.blocks.push(block);
            self.orders.push((earlier, Order::Point(point)));
            self.orders.push((later, Order::After(point)));
        }
    }

    /// The record comes after everything that the other threads have done so far.
    pub(super) fn after_others(&mut self, index: u64) {
        self.orders.push((index, Order::AfterOthers));
    }

    /// Ends the first pass.
    pub(super) fn finish(&mut self) {
        self.orders.sort_unstable();
        self.orders.dedup();
    }

    /// Returns the index of the next record with an order.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.orders.get(self.taken).map_or(u64::MAX, |&(index, _)| index)
    }

    /// Takes an order of the record; those before the record come first.
    pub(super) fn take(&mut self, index: u64) -> Option<Order> {
        let &(_, order) = self.orders.get(self.taken).filter(|(of, _)| *of == index)?;
        self.taken += 1;
        Some(order)
    }

    /// Returns the block of a point.
    pub(super) fn block(&self, point: u32) -> RegionId {
        self.blocks.get(point as usize).copied().unwrap_or(0)
    }
}
