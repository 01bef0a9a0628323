//! What is known of accesses that come again and again: the variable that they are about.
//!
//! A direct-mapped cache: most accesses need no more than a look at it.

use crate::regions::RegionId;

/// Places of the cache.
const PLACES: usize = 1 << 13;

#[derive(Clone, Copy)]
struct Entry {
    addr: u64,
    region: RegionId,
    /// Bytes of the access; 0: the place is free.
    len: u8,
    /// The variable that the access is about, or none: all of it is private.
    variable: Option<u32>,
}

/// Accesses within a word, by region, address and length.
pub(super) struct Known(Box<[Entry; PLACES]>);

impl Default for Known {
    fn default() -> Self {
        Known(Box::new([Entry { addr: 0, region: 0, len: 0, variable: None }; PLACES]))
    }
}

impl Known {
    /// Whether an access is within a word.
    pub(super) fn applies(addr: u64, len: u64) -> bool {
        (1..=8).contains(&len) && addr % 8 + len <= 8
    }

    /// The variable of an access, if that is known.
    #[inline]
    pub(super) fn get(&self, region: RegionId, addr: u64, len: u64) -> Option<Option<u32>> {
        let entry = &self.0[place(addr)];
        let same = entry.addr == addr && entry.region == region && u64::from(entry.len) == len;
        same.then_some(entry.variable)
    }

    /// Notes the variable of an access that [`Known::applies`] to.
    pub(super) fn set(&mut self, region: RegionId, addr: u64, len: u64, variable: Option<u32>) {
        self.0[place(addr)] = Entry { addr, region, len: len as u8, variable };
    }
}

fn place(addr: u64) -> usize {
    (addr ^ (addr >> 13)) as usize % PLACES
}
