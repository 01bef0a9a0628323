//! Set of addresses, asked mostly for blocks without any.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Most pages of a block that are looked up one by one.
const FEW: u64 = 4;

/// A set of addresses.
#[derive(Default)]
pub(crate) struct AddressSet {
    addresses: BTreeSet<u64>,
    /// Pages of the addresses.
    pages: FxHashSet<u64>,
}

impl AddressSet {
    pub(crate) fn add(&mut self, addr: u64) {
        self.addresses.insert(addr);
        self.pages.insert(addr / PAGE);
    }

    /// Whether an address is in a block, or at its end.
    pub(crate) fn meets(&self, start: u64, len: u64) -> bool {
        let end = start.saturating_add(len);
        let (first, last) = (start / PAGE, end / PAGE);
        let may = last - first >= FEW || (first..=last).any(|page| self.pages.contains(&page));
        may && self.addresses.range(start..=end).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_a_block_and_at_its_end_are_met() {
        let mut set = AddressSet::default();
        set.add(2 * PAGE);
        set.add(u64::MAX);
        for (start, len) in [(2 * PAGE, 0), (PAGE, PAGE), (0, 64 * PAGE), (u64::MAX - 1, 9)] {
            assert!(set.meets(start, len), "{start} {len}");
        }
        for (start, len) in [(0, 0), (PAGE, PAGE - 1), (2 * PAGE + 1, 8), (3 * PAGE, 64 * PAGE)] {
            assert!(!set.meets(start, len), "{start} {len}");
        }
    }
}
