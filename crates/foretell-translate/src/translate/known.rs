//! What is known of accesses that come again and again: the variable that they are about.
//!
//! For every four bytes of memory that events are about, the last access that began there. Accesses that begin elsewhere share a
//! small direct-mapped cache.

use crate::cells::PAGE;
use crate::regions::RegionId;

/// Places for the accesses that begin at no multiple of four.
const ODD: usize = 1 << 11;

/// Length and variable: 0 for nothing known.
type Entry = u32;

/// Bits of an entry below the length.
const INDEX_BITS: u32 = 28;
/// Stands for no variable: all of the access is private.
const PRIVATE: u32 = (1 << INDEX_BITS) - 1;

#[derive(Clone, Copy, Default)]
struct Odd {
    addr: u64,
    region: RegionId,
    entry: Entry,
}

/// Accesses within a word.
pub(super) struct Known {
    /// By the page's number in `cells` and the place in the page.
    pages: Vec<[Entry; PAGE as usize / 4]>,
    odd: Box<[Odd; ODD]>,
}

impl Default for Known {
    fn default() -> Self {
        Known { pages: Vec::new(), odd: Box::new([Odd::default(); ODD]) }
    }
}

/// Where an access within a word is.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) region: RegionId,
    /// Its number in `cells`.
    pub(super) page: usize,
    pub(super) addr: u64,
    pub(super) len: u64,
}

impl Known {
    /// Whether an access is within a word.
    #[inline]
    pub(super) fn applies(addr: u64, len: u64) -> bool {
        (1..=8).contains(&len) && addr % 8 + len <= 8
    }

    /// The variable of an access, if that is known; inside, none if all of the access is private.
    #[inline]
    pub(super) fn get(&self, spot: Spot) -> Option<Option<u32>> {
        let entry = if spot.addr.is_multiple_of(4) {
            self.pages.get(spot.page).map_or(0, |page| page[in_page(spot.addr)])
        } else {
            let odd = &self.odd[spot.addr as usize % ODD];
            if (odd.addr, odd.region) == (spot.addr, spot.region) { odd.entry } else { 0 }
        };
        let index = entry & PRIVATE;
        (u64::from(entry >> INDEX_BITS) == spot.len).then_some((index != PRIVATE).then_some(index))
    }

    /// Nothing is known of accesses to the word at this spot any more.
    pub(super) fn forget(&mut self, word: Spot) {
        for addr in word.addr..word.addr.saturating_add(8) {
            if addr.is_multiple_of(4) {
                if let Some(page) = self.pages.get_mut(word.page) {
                    page[in_page(addr)] = 0;
                }
            } else {
                let odd = &mut self.odd[addr as usize % ODD];
                if (odd.addr, odd.region) == (addr, word.region) {
                    odd.entry = 0;
                }
            }
        }
    }

    /// Notes the variable of an access that [`Known::applies`] to.
    pub(super) fn set(&mut self, spot: Spot, variable: Option<u32>) {
        let index = variable.unwrap_or(PRIVATE);
        if variable.is_some() && index >= PRIVATE {
            return;
        }
        let entry = (spot.len as u32) << INDEX_BITS | index;
        if spot.addr.is_multiple_of(4) {
            if self.pages.len() <= spot.page {
                self.pages.resize(spot.page + 1, [0; PAGE as usize / 4]);
            }
            self.pages[spot.page][in_page(spot.addr)] = entry;
        } else {
            let Spot { addr, region, .. } = spot;
            self.odd[addr as usize % ODD] = Odd { addr, region, entry };
        }
    }
}

#[inline]
fn in_page(addr: u64) -> usize {
    (addr % PAGE) as usize / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_told_apart() {
        let mut known = Known::default();
        let spot = |page, addr, len| Spot { region: page as RegionId, page, addr, len };
        known.set(spot(3, 1024, 4), Some(0));
        known.set(spot(3, 1028, 4), None);
        known.set(spot(3, 1033, 1), Some(7));
        assert_eq!(known.get(spot(3, 1024, 4)), Some(Some(0)));
        assert_eq!(known.get(spot(3, 1028, 4)), Some(None));
        assert_eq!(known.get(spot(3, 1033, 1)), Some(Some(7)));
        // Another length, page or place.
        for other in [(3, 1024, 8), (3, 1024, 1), (2, 1024, 4), (4, 1024, 4), (3, 1032, 4)] {
            assert_eq!(known.get(spot(other.0, other.1, other.2)), None, "{other:?}");
        }
        for other in [(3, 1033, 2), (4, 1033, 1), (3, 1033 + ODD as u64, 1)] {
            assert_eq!(known.get(spot(other.0, other.1, other.2)), None, "{other:?}");
        }
        // Forgotten, and what is beside it is not.
        known.set(spot(3, 1027, 1), Some(8));
        known.forget(spot(3, 1024, 8));
        for (addr, len) in [(1024, 4), (1028, 4), (1027, 1)] {
            assert_eq!(known.get(spot(3, addr, len)), None);
        }
        assert_eq!(known.get(spot(3, 1033, 1)), Some(Some(7)));
        known.set(spot(3, 1024, 8), Some(PRIVATE));
        assert_eq!(known.get(spot(3, 1024, 8)), None);
    }
}
