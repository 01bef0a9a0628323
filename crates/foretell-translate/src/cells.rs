//! Which bytes of memory are one variable, and which are shared.
//!
//! Accesses of different sizes may overlap, and overlapping accesses conflict. So the memory that was touched
//! is cut at every place where some access begins or ends, and at every multiple of eight unless only long
//! ranges (copied or filled at once) go over it: the pieces are the cells, each the variable of the trace,
//! and an access is one event for each cell that it covers. A cell that one thread alone ever touched is private, and one that nobody
//! ever wrote conflicts with nothing: their accesses do not reach the trace. Freeing memory
//! touches and writes whatever somebody touched in it.

mod word;

use rustc_hash::FxHashMap;

use crate::native::regions::{RegionId, Regions};
use word::{Mixed, Word, mask};

/// A variable: `len` bytes at `addr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Cell {
    pub(crate) region: RegionId,
    pub(crate) addr: u64,
    pub(crate) len: u64,
}

/// Words in a page, and bytes.
const PAGE_WORDS: usize = 64;
pub(crate) const PAGE: u64 = 8 * PAGE_WORDS as u64;
/// Pages that are found without the index.
const CACHED: usize = 1 << 12;
/// Accesses longer than this are not cut at every word.
const LONG: u64 = 64;

/// The words of one region in an aligned piece of memory.
struct Page {
    addr: u64,
    words: [Word; PAGE_WORDS],
}

/// The memory that the run touched.
pub(crate) struct Cells {
    pages: Vec<Page>,
    index: FxHashMap<(RegionId, u64), u32>,
    /// Pages found last, by their address.
    cache: Box<[Found; CACHED]>,
    /// The pages of each region.
    of_region: FxHashMap<RegionId, Vec<u32>>,
    mixed: Mixed,
}

/// Where a page is.
#[derive(Clone, Copy)]
struct Found {
    addr: u64,
    region: RegionId,
    page: u32,
}

impl Default for Cells {
    fn default() -> Self {
        // No page has this address.
        let nothing = Found { addr: u64::MAX, region: 0, page: 0 };
        Cells {
            pages: Vec::new(),
            index: FxHashMap::default(),
            cache: Box::new([nothing; CACHED]),
            of_region: FxHashMap::default(),
            mixed: Mixed::default(),
        }
    }
}

impl Cells {
    /// Notes an access of `thread` to `len` bytes.
    pub(crate) fn touch(
        &mut self,
        regions: &mut Regions,
        thread: u32,
        addr: u64,
        len: u64,
        write: bool,
    ) {
        let me = owner(thread);
        if len <= 8
            && addr % 8 + len <= 8
            && let Some(page) = self.page(regions.of(addr), addr)
        {
            let (from, word) = ((addr % 8) as u8, &self.pages[page].words[index_in_page(addr)]);
            if word.has(me, from, from + len as u8, write) {
                return;
            }
        }
        self.note(regions, me, addr, len, write);
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
            // A range that goes over into another region is cut there.
            let goes_over = before.is_some_and(|(other, ..)| other != region);
            if let Some((_, page, at)) = before.replace((region, page, at))
                && goes_over
            {
                self.pages[page].words[index_in_page(at)].ends = true;
            }
            let word = &mut self.pages[page].words[index_in_page(at)];
            if len <= LONG || goes_over || at + u64::from(from) == addr {
                word.cuts |= 1 << from;
            }
            if to < 8 {
                word.cuts |= 1 << to;
            }
            word.ends |= at + 8 == end;
            if write {
                word.written |= mask(from, to);
            }
            word.touch(me, mask(from, to), || self.mixed.of(page, index_in_page(at)));
        }
    }

    /// `thread` frees a region.
    pub(crate) fn free(&mut self, region: RegionId, thread: u32) {
        let me = owner(thread);
        for &page in self.of_region.get(&region).map_or(&[][..], Vec::as_slice) {
            let words = &mut self.pages[page as usize].words;
            for (i, word) in words.iter_mut().enumerate().filter(|(_, word)| word.is_touched()) {
                word.free(me, || self.mixed.of(page as usize, i));
            }
        }
    }

    /// The number of the page that an address is in.
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
        self.cache[(addr / PAGE) as usize % CACHED] = Found { addr, region, page };
        Some(page as usize)
    }

    fn add(&mut self, region: RegionId, at: u64) -> usize {
        let addr = at & !(PAGE - 1);
        let page = self.pages.len();
        self.pages.push(Page { addr, words: [Word::default(); PAGE_WORDS] });
        self.index.insert((region, addr), page as u32);
        self.of_region.entry(region).or_default().push(page as u32);
        page
    }

    /// The shared cells among `len` bytes.
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

    /// Every shared cell of a region, by address.
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

/// Puts words together to cells.
struct Cutter<'a> {
    out: &'a mut Vec<Cell>,
    open: Option<Open>,
}

/// A cell that may go on.
#[derive(Clone, Copy)]
struct Open {
    cell: Cell,
    shared: bool,
    written: bool,
    /// Whether it ends with the word it has come to.
    ends: bool,
}

impl Cutter<'_> {
    /// The bytes `from..to` of the word at `at`.
    fn word(&mut self, word: &Word, region: RegionId, at: u64, from: u8, to: u8) {
        let first = at + u64::from(from);
        let goes_on = self.open.is_some_and(|open| {
            let next = open.cell.addr + open.cell.len;
            !open.ends && open.cell.region == region && next == first
        });
        if !goes_on || word.cuts & (1 << from) != 0 {
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

/// How a thread is noted. Beyond this many they are not told apart: nothing of theirs is private.
fn owner(thread: u32) -> u16 {
    u16::try_from(thread.saturating_add(1)).unwrap_or(u16::MAX)
}

fn index_in_page(at: u64) -> usize {
    (at / 8) as usize % PAGE_WORDS
}

/// The words that `len` bytes at `addr` touch: address of the word, first byte, end.
fn words(addr: u64, len: u64) -> impl Iterator<Item = (u64, u8, u8)> {
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
    fn overlapping_accesses_are_cut_into_the_same_pieces() {
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
    fn long_ranges_stay_whole_until_something_cuts_them() {
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
    fn a_range_over_two_regions_is_cut_between_them() {
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
    fn what_one_thread_touches_is_private() {
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
    fn what_nobody_writes_is_left_out_until_it_is_freed() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 0, 640, 4, false);
        g.touch(&mut r, 1, 640, 4, false);
        assert_eq!(spans(&mut g, 640, 4), []);
        g.free(ELSEWHERE, 1);
        assert_eq!(spans(&mut g, 640, 4), [(640, 4)]);
    }

    #[test]
    fn freeing_what_another_thread_touched_shares_it() {
        let (mut g, mut r) = (Cells::default(), Regions::new());
        g.touch(&mut r, 1, 64, 4, true);
        g.free(ELSEWHERE, 1);
        assert_eq!(spans(&mut g, 64, 4), []);
        g.free(ELSEWHERE, 0);
        assert_eq!(spans(&mut g, 64, 4), [(64, 4)]);
    }
}
