//! Which words are shared in the end.

use super::{PAGE, WORDS};

/// Whether a word is shared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Share {
    Not = 0,
    /// Handed over from thread to thread.
    Handed = 1,
    Shared = 2,
}

impl Share {
    /// The most that is in a set of bits.
    #[inline(always)]
    fn of(bits: u8) -> Share {
        match bits {
            0 => Share::Not,
            1 => Share::Handed,
            _ => Share::Shared,
        }
    }
}

/// The most shared of some words. Goes over all of them at once.
pub(super) fn most(words: &[u8]) -> Share {
    Share::of(words.iter().fold(0, |bits, word| bits | word))
}

/// The words that are shared or handed over, at the end of a run.
#[derive(Default)]
pub(crate) struct SharedWords {
    /// Pages by number: a table that is at most half full, a page at the first free place from that of its number on.
    places: Vec<Option<(u64, u32)>>,
    pages: Vec<(u64, [u8; WORDS])>,
}

impl SharedWords {
    pub(super) fn of(pages: Vec<(u64, [u8; WORDS])>) -> SharedWords {
        let mut shared =
            SharedWords { places: vec![None; (2 * pages.len() + 1).next_power_of_two()], pages };
        for (page, &(number, _)) in (0u32..).zip(&shared.pages) {
            let place = place_of(&shared.places, number);
            shared.places[place] = Some((number, page));
        }
        shared
    }

    #[inline(always)]
    fn page(&self, number: u64) -> Option<&[u8; WORDS]> {
        if self.places.is_empty() {
            return None;
        }
        let (_, page) = self.places[place_of(&self.places, number)]?;
        Some(&self.pages[page as usize].1)
    }

    /// What an access to up to eight bytes is to.
    #[inline(always)]
    pub(crate) fn word(&self, addr: u64, size: usize) -> Share {
        if (addr % 8) as usize + size > 8 {
            return self.most(addr, size as u64);
        }
        let word = self.page(addr / PAGE).map_or(0, |words| words[(addr / 8) as usize % WORDS]);
        Share::of(word)
    }

    /// The same of `len` bytes: the most shared word of them.
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

/// Where a page is in a table of pages, or would be. The table is not full.
#[inline(always)]
fn place_of(places: &[Option<(u64, u32)>], number: u64) -> usize {
    let mut place = number as usize & (places.len() - 1);
    while places[place].is_some_and(|(other, _)| other != number) {
        place = (place + 1) & (places.len() - 1);
    }
    place
}

/// The most shared word of a page between two addresses.
fn in_page(number: u64, words: &[u8; WORDS], addr: u64, end: u64) -> Share {
    let base = number * PAGE;
    let from = (addr.saturating_sub(base).min(PAGE) / 8) as usize;
    let to = end.saturating_sub(base).min(PAGE).div_ceil(8) as usize;
    most(&words[from..to.max(from)])
}
