//! Cache of the variables of accesses within a word.
//!
//! Each aligned group of four bytes in a touched page has the last access that began there.
//! Accesses that begin elsewhere share a small direct-mapped cache.
//!
//! | bits of an entry | content |
//! |---|---|
//! | 28–31 | length of the access; 0 in an empty entry |
//! | 0–27 | index of the variable; all ones if the access is to thread-private memory |

use crate::native::cells::PAGE;
use crate::native::regions::RegionId;

/// Number of entries for accesses that begin at no multiple of four.
const ODD: usize = 1 << 11;

type Entry = u32;

/// Number of bits of an entry below the length.
const INDEX_BITS: u32 = 28;
/// Index of an access to thread-private memory.
const PRIVATE: u32 = (1 << INDEX_BITS) - 1;

#[derive(Clone, Copy, Default)]
struct Odd {
    addr: u64,
    region: RegionId,
    entry: Entry,
}

/// Variables of accesses within a word.
pub(super) struct AccessCache {
    /// Entries by the number of the page and the offset in it.
    pages: Vec<[Entry; PAGE as usize / 4]>,
    odd: Box<[Odd; ODD]>,
}

impl Default for AccessCache {
    fn default() -> Self {
        AccessCache { pages: Vec::new(), odd: Box::new([Odd::default(); ODD]) }
    }
}

/// Position of an access within a word.
#[derive(Clone, Copy)]
pub(super) struct WordAccess {
    pub(super) region: RegionId,
    /// Number of the page among the touched pages.
    pub(super) page: usize,
    pub(super) addr: u64,
    pub(super) len: u64,
}

impl WordAccess {
    /// Whether an access is within a word.
    #[inline]
    pub(super) fn applies(addr: u64, len: u64) -> bool {
        (1..=8).contains(&len) && addr % 8 + len <= 8
    }
}

impl AccessCache {
    /// Returns the variable of an access, if it is in the cache. The inner option is `None` for
    /// an access to thread-private memory.
    #[inline]
    pub(super) fn get(&self, access: WordAccess) -> Option<Option<u32>> {
        let entry = if access.addr.is_multiple_of(4) {
            self.pages.get(access.page).map_or(0, |page| page[in_page(access.addr)])
        } else {
            let odd = &self.odd[access.addr as usize % ODD];
            if (odd.addr, odd.region) == (access.addr, access.region) { odd.entry } else { 0 }
        };
        let index = entry & PRIVATE;
        (u64::from(entry >> INDEX_BITS) == access.len)
            .then_some((index != PRIVATE).then_some(index))
    }

    /// Removes all accesses to a word.
    pub(super) fn forget(&mut self, word: WordAccess) {
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

    /// Adds an access and its variable.
    pub(super) fn set(&mut self, access: WordAccess, variable: Option<u32>) {
        let index = variable.unwrap_or(PRIVATE);
        if variable.is_some() && index >= PRIVATE {
            return;
        }
        let entry = (access.len as u32) << INDEX_BITS | index;
        if access.addr.is_multiple_of(4) {
            if self.pages.len() <= access.page {
                self.pages.resize(access.page + 1, [0; PAGE as usize / 4]);
            }
            self.pages[access.page][in_page(access.addr)] = entry;
        } else {
            let WordAccess { addr, region, .. } = access;
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
    fn length_page_and_address_tell_accesses_apart() {
        let mut cache = AccessCache::default();
        let access = |page, addr, len| WordAccess { region: page as RegionId, page, addr, len };
        cache.set(access(3, 1024, 4), Some(0));
        cache.set(access(3, 1028, 4), None);
        cache.set(access(3, 1033, 1), Some(7));
        assert_eq!(cache.get(access(3, 1024, 4)), Some(Some(0)));
        assert_eq!(cache.get(access(3, 1028, 4)), Some(None));
        assert_eq!(cache.get(access(3, 1033, 1)), Some(Some(7)));
        // Another length, page or address.
        for other in [(3, 1024, 8), (3, 1024, 1), (2, 1024, 4), (4, 1024, 4), (3, 1032, 4)] {
            assert_eq!(cache.get(access(other.0, other.1, other.2)), None, "{other:?}");
        }
        for other in [(3, 1033, 2), (4, 1033, 1), (3, 1033 + ODD as u64, 1)] {
            assert_eq!(cache.get(access(other.0, other.1, other.2)), None, "{other:?}");
        }
        // Removing a word leaves its neighbours.
        cache.set(access(3, 1027, 1), Some(8));
        cache.forget(access(3, 1024, 8));
        for (addr, len) in [(1024, 4), (1028, 4), (1027, 1)] {
            assert_eq!(cache.get(access(3, addr, len)), None);
        }
        assert_eq!(cache.get(access(3, 1033, 1)), Some(Some(7)));
        cache.set(access(3, 1024, 8), Some(PRIVATE));
        assert_eq!(cache.get(access(3, 1024, 8)), None);
    }
}
