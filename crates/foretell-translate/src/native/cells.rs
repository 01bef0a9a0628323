//! Memory cells: the variables of the trace.
//!
//! Ownership (`foretell-ownership`) decides by the word which accesses reach the translation: those
//! to words that several threads share, and the first ones to transferred words. Cells refine its
//! answer by the byte. Threads that use different bytes of a word share the word and no cell; an
//! access to a byte that one thread alone accesses, or that no thread writes, does not reach the
//! trace. The refinement needs no clock: a byte that two threads access is shared, in a transferred
//! word too. A word that is neither shared nor transferred has no shared cell, so a log that is not
//! filtered gives the same cells.
//!
//! Accesses of different sizes may overlap, and overlapping accesses conflict. So the memory that
//! was accessed is cut wherever an access begins or ends, and at every multiple of eight unless
//! only long ranges (copied or filled at once) extend over it. The pieces are the cells, each a
//! variable of the trace, and an access is one event for each cell that it covers. Freeing memory
//! writes all bytes of it that were accessed.

mod word;

use rustc_hash::FxHashMap;

use crate::native::regions::{RegionId, Regions};
use word::{ByteOwners, WordBytes, mask};

/// A memory cell: `len` bytes at `addr` that are one variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cell {
    pub(crate) region: RegionId,
    pub(crate) addr: u64,
    pub(crate) len: u64,
}

/// Words of a page.
const PAGE_WORDS: usize = 64;
/// Bytes of a page.
pub(crate) const PAGE: u64 = 8 * PAGE_WORDS as u64;
/// Number of pages in the cache.
const CACHED: usize = 1 << 12;
/// Longest access that is cut at every word, in bytes.
const LONG: u64 = 64;

/// The words of one region in an aligned piece of memory.
struct Page {
    addr: u64,
    words: [WordBytes; PAGE_WORDS],
}

/// The memory that the run accesses, cut into cells.
pub(crate) struct Cells {
    pages: Vec<Page>,
    index: FxHashMap<(RegionId, u64), u32>,
    /// Cache of pages, by their address.
    cache: Box<[CachedPage; CACHED]>,
    /// The pages of each region.
    of_region: FxHashMap<RegionId, Vec<u32>>,
    byte_owners: ByteOwners,
    /// Regions that were freed, with the owner that freed them.
    freed: FxHashMap<RegionId, u16>,
}

/// An entry of the cache of pages.
#[derive(Clone, Copy)]
struct CachedPage {
    addr: u64,
    region: RegionId,
    page: u32,
}

impl Default for Cells {
    fn default() -> Self {
        // No page has this address.
        let nothing = CachedPage { addr: u64::MAX, region: 0, page: 0 };
        Cells {
            pages: Vec::new(),
            index: FxHashMap::default(),
            cache: Box::new([nothing; CACHED]),
            of_region: FxHashMap::default(),
            byte_owners: ByteOwners::default(),
            freed: FxHashMap::default(),
        }
    }
}

impl Cells {
    /// A thread accesses `len` bytes.
    pub(crate) fn touch(
        &mut self,
        regions: &mut Regions,
        thread: u32,
        addr: u64,
        len: u64,
        write: bool,
    ) {
        if is_in_word(addr, len) {
            let region = regions.of(addr);
            self.touch_word(regions, region, thread, (addr, len), write);
        } else {
            self.note(regions, owner(thread), addr, len, write);
        }
    }

    /// A thread accesses bytes of one word, which is in this region. Returns the number of its
    /// page.
    #[inline]
    pub(crate) fn touch_word(
        &mut self,
        regions: &mut Regions,
        region: RegionId,
        thread: u32,
        (addr, len): (u64, u64),
        write: bool,
    ) -> Option<usize> {
        let me = owner(thread);
        let page = self.page(region, addr);
        if let Some(page) = page {
            let (from, word) = ((addr % 8) as u8, &self.pages[page].words[index_in_page(addr)]);
            if word.has(me, from, from + len as u8, write) {
                return Some(page);
            }
        }
        self.note(regions, me, addr, len, write);
        page.or_else(|| self.page(region, addr))
    }

    #[inline(never)]
    fn note(&mut self, regions: &mut Regions, me: u16, addr: u64, len: u64, write: bool) {
        let end = addr.saturating_add(len);
        // Region, page and address of the word before.
        let mut before: Option<(RegionId, usize, u64)> = None;
        for (at, from, to) in words(addr, len) {
            let region = regions.of(at + u64::from(from));
            let page = match self.page(region, at) {
                Some(page) => page,
                None => self.add(region, at),
            };
            // A range that extends into another region is cut there.
            let enters_region = before.is_some_and(|(other, ..)| other != region);
            if let Some((_, page, at)) = before.replace((region, page, at))
                && enters_region
            {
                self.pages[page].words[index_in_page(at)].ends = true;
            }
            let freed_by = self.freed.get(&region).copied().filter(|&by| by != me);
            let word = &mut self.pages[page].words[index_in_page(at)];
            if len <= LONG || enters_region || at + u64::from(from) == addr {
                word.cuts |= 1 << from;
            }
            if to < 8 {
                word.cuts |= 1 << to;
            }
            word.ends |= at + 8 == end;
            if write {
                word.written |= mask(from, to);
            }
            let owners = &mut self.byte_owners;
            if let Some(by) = freed_by {
                // Freeing has written bytes that nothing touched before.
                let bytes = word.untouched(mask(from, to));
                word.touch(by, bytes, || owners.of(page, index_in_page(at)));
                word.written |= bytes;
            }
            word.touch(me, mask(from, to), || owners.of(page, index_in_page(at)));
        }
    }

    /// A thread frees a region.
    pub(crate) fn free(&mut self, region: RegionId, thread: u32) {
        let me = owner(thread);
        self.freed.entry(region).or_insert(me);
        for &page in self.of_region.get(&region).map_or(&[][..], Vec::as_slice) {
            let words = &mut self.pages[page as usize].words;
            for (i, word) in words.iter_mut().enumerate().filter(|(_, word)| word.is_touched()) {
                word.free(me, || self.byte_owners.of(page as usize, i));
            }
        }
    }

    /// Returns the number of the page that an address is in.
    #[inline]
    pub(crate) fn page(&mut self, region: RegionId, at: u64) -> Option<usize> {
        let addr = at & !(PAGE - 1);
        let found = &self.cache[(addr / PAGE) as usize % CACHED];
        if (found.addr, found.region) == (addr, region) {
            return Some(found.page as usize);
        }
        self.find(region, addr)
    }

    #[inline(never)]
    fn find(&mut self, region: RegionId, addr: u64) -> Option<usize> {
        let &page = self.index.get(&(region, addr))?;
        self.cache[(addr / PAGE) as usize % CACHED] = CachedPage { addr, region, page };
        Some(page as usize)
    }

    fn add(&mut self, region: RegionId, at: u64) -> usize {
        let addr = at & !(PAGE - 1);
        let page = self.pages.len();
        self.pages.push(Page { addr, words: [WordBytes::default(); PAGE_WORDS] });
        self.index.insert((region, addr), page as u32);
        self.of_region.entry(region).or_default().push(page as u32);
        page
    }

    /// Collects the shared cells among `len` bytes.
    pub(crate) fn shared(
        &mut self,
        regions: &mut Regions,
        addr: u64,
        len: u64,
        out: &mut Vec<Cell>,
    ) {
        out.clear();
        let mut cutter = Cutter { out, open: None };
        for (at, from, to) in words(addr, len) {
            let region = regions.of(at + u64::from(from));
            match self.page(region, at) {
                Some(page) => {
                    cutter.word(&self.pages[page].words[index_in_page(at)], region, at, from, to);
                }
                None => cutter.close(),
            }
        }
        cutter.close();
    }

    /// Whether a shared cell has bytes of the word at `at`.
    pub(crate) fn is_shared(&self, region: RegionId, at: u64) -> bool {
        let page = self.index.get(&(region, at & !(PAGE - 1)));
        let word = page.map(|&page| &self.pages[page as usize].words[index_in_page(at)]);
        word.is_some_and(|word| word.shared != 0 && word.written != 0)
    }

    /// Whether a region has shared cells.
    pub(crate) fn has_shared(&self, region: RegionId) -> bool {
        !self.of_region(region).is_empty()
    }

    /// Returns all shared cells of a region, by address.
    pub(crate) fn of_region(&self, region: RegionId) -> Vec<Cell> {
        let mut out = Vec::new();
        let mut pages: Vec<&Page> = match self.of_region.get(&region) {
            Some(pages) => pages.iter().map(|&page| &self.pages[page as usize]).collect(),
            None => return out,
        };
        pages.sort_unstable_by_key(|page| page.addr);
        let mut cutter = Cutter { out: &mut out, open: None };
        for page in pages {
            for (i, word) in page.words.iter().enumerate() {
                cutter.word(word, region, page.addr + 8 * i as u64, 0, 8);
            }
        }
        cutter.close();
        out
    }
}

/// Joins the pieces of words to cells.
struct Cutter<'a> {
    out: &'a mut Vec<Cell>,
    open: Option<Open>,
}

/// A cell that the next word may continue.
#[derive(Clone, Copy)]
struct Open {
    cell: Cell,
    shared: bool,
    written: bool,
    /// Whether it ends with the last word.
    ends: bool,
}

impl Cutter<'_> {
    /// Adds the bytes `from..to` of the word at `at`.
    fn word(&mut self, word: &WordBytes, region: RegionId, at: u64, from: u8, to: u8) {
        let first = at + u64::from(from);
        let continues = self.open.is_some_and(|open| {
            let next = open.cell.addr + open.cell.len;
            !open.ends && open.cell.region == region && next == first
        });
        if !continues || word.cuts & (1 << from) != 0 {
            self.close();
        }
        let mut start = from;
        while start < to {
            let mut end = start + 1;
            while end < to && word.cuts & (1 << end) == 0 {
                end += 1;
            }
            let bits = mask(start, end);
            let open = self.open.get_or_insert(Open {
                cell: Cell { region, addr: at + u64::from(start), len: 0 },
                shared: false,
                written: false,
                ends: false,
            });
            open.cell.len += u64::from(end - start);
            open.shared |= word.shared & bits != 0;
            open.written |= word.written & bits != 0;
            open.ends = end < 8 || word.ends;
            if end < 8 {
                self.close();
            }
            start = end;
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && open.shared
            && open.written
        {
            self.out.push(open.cell);
        }
    }
}

/// Returns the number of a thread as an owner. Threads beyond the last number share it, and none of
/// their bytes is private.
/// Whether `len` bytes at an address are in one word.
#[inline]
pub(crate) fn is_in_word(addr: u64, len: u64) -> bool {
    len <= 8 && addr % 8 + len <= 8
}

fn owner(thread: u32) -> u16 {
    u16::try_from(thread.saturating_add(1)).unwrap_or(u16::MAX)
}

fn index_in_page(at: u64) -> usize {
    (at / 8) as usize % PAGE_WORDS
}

/// Returns the words of `len` bytes at `addr`: address of the word, first byte, end.
pub(crate) fn words(addr: u64, len: u64) -> impl Iterator<Item = (u64, u8, u8)> {
    let end = addr.saturating_add(len);
    let mut at = addr;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let word = at & !7;
        let stop = end.min(word.saturating_add(8));
        let piece = (word, (at - word) as u8, (stop - word) as u8);
        at = stop;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::regions::ELSEWHERE;

    fn spans(g: &mut Cells, addr: u64, len: u64) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        g.shared(&mut Regions::new(), addr, len, &mut out);
        out.iter().map(|g| (g.addr, g.len)).collect()
    }

    #[test]
    fn overlapping_accesses_are_cut_into_common_cells() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 0, 64, 8, true);
        g.touch(&mut r, 1, 64, 4, false);
        g.touch(&mut r, 1, 68, 4, false);
        assert_eq!(spans(&mut g, 64, 8), [(64, 4), (68, 4)]);
        assert_eq!(spans(&mut g, 68, 4), [(68, 4)]);
        // Unaligned: cut at the word as well.
        g.touch(&mut r, 0, 78, 4, true);
        g.touch(&mut r, 1, 78, 4, true);
        assert_eq!(spans(&mut g, 78, 4), [(78, 2), (80, 2)]);
    }

    #[test]
    fn long_range_is_one_cell_until_an_access_cuts_it() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 0, 1004, 2000, true);
        g.touch(&mut r, 1, 1004, 2000, false);
        g.touch(&mut r, 0, 3008, 8, true);
        assert_eq!(spans(&mut g, 1004, 2000), [(1004, 2000)]);
        g.touch(&mut r, 1, 2000, 4, true);
        g.touch(&mut r, 1, 2088, 8, true);
        let pieces = [(1004, 996), (2000, 4), (2004, 84), (2088, 8), (2096, 908)];
        assert_eq!(spans(&mut g, 1004, 2000), pieces);
        assert_eq!(spans(&mut g, 2088, 8), [(2088, 8)]);
        let all: Vec<_> = g.of_region(ELSEWHERE).iter().map(|g| (g.addr, g.len)).collect();
        assert_eq!(all, pieces);
    }

    #[test]
    fn range_over_two_regions_is_cut_between_them() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        let alloc = foretell_rt_format::Record::Alloc { pc: 1, addr: 1064, size: 80 };
        r.apply(0, &alloc);
        g.touch(&mut r, 0, 1000, 200, true);
        g.touch(&mut r, 1, 1000, 200, true);
        let spans = |cells: Vec<Cell>| -> Vec<(u64, u64)> {
            cells.iter().map(|g| (g.addr, g.len)).collect()
        };
        let mut out = Vec::new();
        g.shared(&mut r, 1000, 200, &mut out);
        assert_eq!(spans(out), [(1000, 64), (1064, 80), (1144, 56)]);
        assert_eq!(spans(g.of_region(r.of(1064))), [(1064, 80)]);
        assert_eq!(spans(g.of_region(ELSEWHERE)), [(1000, 64), (1144, 56)]);
    }

    #[test]
    fn bytes_of_one_thread_are_private() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 0, 64, 4, true);
        g.touch(&mut r, 1, 68, 4, true);
        g.touch(&mut r, 0, 64, 4, false);
        assert_eq!(spans(&mut g, 64, 8), []);
        g.touch(&mut r, 2, 64, 1, false);
        assert_eq!(spans(&mut g, 64, 8), [(64, 1)]);
        assert_eq!(g.of_region(ELSEWHERE).len(), 1);
    }

    #[test]
    fn bytes_that_are_only_read_are_left_out_until_freed() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 0, 640, 4, false);
        g.touch(&mut r, 1, 640, 4, false);
        assert_eq!(spans(&mut g, 640, 4), []);
        g.free(ELSEWHERE, 1);
        assert_eq!(spans(&mut g, 640, 4), [(640, 4)]);
    }

    #[test]
    fn freeing_bytes_of_another_thread_shares_them() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 1, 64, 4, true);
        g.free(ELSEWHERE, 1);
        assert_eq!(spans(&mut g, 64, 4), []);
        g.free(ELSEWHERE, 0);
        assert_eq!(spans(&mut g, 64, 4), [(64, 4)]);
    }

    #[test]
    fn freeing_bytes_that_nothing_touched_shares_them_with_later_users() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.free(ELSEWHERE, 1);
        g.touch(&mut r, 1, 64, 4, true);
        assert_eq!(spans(&mut g, 64, 4), []);
        g.touch(&mut r, 2, 72, 4, false);
        assert_eq!(spans(&mut g, 72, 4), [(72, 4)]);
    }
}
