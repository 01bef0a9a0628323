//! The words that are shared at the end of a run.

use super::{PAGE, WORDS};

/// Sharing of a word over the whole run, in increasing order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Share {
    /// Used by one thread, or only read.
    Not = 0,
    /// Transferred by create and join.
    Transferred = 1,
    Shared = 2,
}

impl Share {
    /// Returns the highest sharing in the union of several.
    #[inline(always)]
    fn of(bits: u8) -> Share {
        match bits {
            0 => Share::Not,
            1 => Share::Transferred,
            _ => Share::Shared,
        }
    }
}

/// Returns the highest sharing of some words. The loop has no branch, so that it is vectorised.
pub(super) fn most(words: &[u8]) -> Share {
    Share::of(words.iter().fold(0, |bits, word| bits | word))
}

/// The words that are shared, or were transferred, at the end of a run.
#[derive(Default)]
pub(crate) struct SharedWords {
    /// Open-addressing hash table of the pages, by page number, at most half full.
    slots: Vec<Option<(u64, u32)>>,
    pages: Vec<(u64, [u8; WORDS])>,
}

impl SharedWords {
    pub(super) fn of(pages: Vec<(u64, [u8; WORDS])>) -> SharedWords {
        let mut shared =
            SharedWords { slots: vec![None; (2 * pages.len() + 1).next_power_of_two()], pages };
        for (page, &(number, _)) in (0u32..).zip(&shared.pages) {
            let slot = slot_of(&shared.slots, number);
            shared.slots[slot] = Some((number, page));
        }
        shared
    }

    #[inline(always)]
    fn page(&self, number: u64) -> Option<&[u8; WORDS]> {
        if self.slots.is_empty() {
            return None;
        }
        let (_, page) = self.slots[slot_of(&self.slots, number)]?;
        Some(&self.pages[page as usize].1)
    }

    /// Returns the highest sharing of the words that an access to up to eight bytes is to.
    #[inline(always)]
    pub(crate) fn word(&self, addr: u64, size: usize) -> Share {
        if (addr % 8) as usize + size > 8 {
            return self.most(addr, size as u64);
        }
        let word = self.page(addr / PAGE).map_or(0, |words| words[(addr / 8) as usize % WORDS]);
        Share::of(word)
    }

    /// Returns the highest sharing of the words of `len` bytes.
    #[inline]
    pub(crate) fn most(&self, addr: u64, len: u64) -> Share {
        let end = addr.saturating_add(len.max(1));
        let (first, last) = (addr / PAGE, (end - 1) / PAGE);
        let most = if last - first > self.pages.len() as u64 {
            self.pages.iter().map(|(number, words)| in_page(*number, words, addr, end)).max()
        } else {
            let pages = (first..=last).filter_map(|n| Some((n, self.page(n)?)));
            pages.map(|(number, words)| in_page(number, words, addr, end)).max()
        };
        most.unwrap_or(Share::Not)
    }
}

/// Returns the index of a page in the hash table, or where it would be. The table is not full.
#[inline(always)]
fn slot_of(slots: &[Option<(u64, u32)>], number: u64) -> usize {
    let mut slot = number as usize & (slots.len() - 1);
    while slots[slot].is_some_and(|(other, _)| other != number) {
        slot = (slot + 1) & (slots.len() - 1);
    }
    slot
}

/// Returns the highest sharing of the words of a page between two addresses.
fn in_page(number: u64, words: &[u8; WORDS], addr: u64, end: u64) -> Share {
    let base = number * PAGE;
    let from = (addr.saturating_sub(base).min(PAGE) / 8) as usize;
    let to = end.saturating_sub(base).min(PAGE).div_ceil(8) as usize;
    most(&words[from..to.max(from)])
}
