//! Which words of memory one thread alone has touched so far.
//!
//! For every eight bytes that the run touches: nobody, one thread (and whether it wrote), several threads that
//! only read, or *shared*. As long as a word is not shared its accesses are not in the trace: they are
//! let go while the program runs. They may be wanted after all: a word that becomes
//! shared may have a past, and every access of that past belongs to the trace. So each page
//! knows in which groups of chunks of the log such accesses to it are; these are then read again.
//!
//! A word is shared when a second thread touches it and one of the two wrote, or frees it. Once shared it stays so. It
//! may be shared and none of its bytes are: `granules` decides that later, by the byte, among what is left.
//! Memory that is given out again is nobody's.

use foretell_rt_format::Brief;
use rustc_hash::FxHashMap;

/// Bytes of a page, and words.
const PAGE: u64 = 4096;
const WORDS: usize = 512;
/// Pages that are found without a search.
const CACHED: usize = 8192;
/// Bits of an address that are not in the tag of its page.
const TAG_SHIFT: u32 = 23;

/// Nobody has touched the word.
const FRESH: u8 = 0;
/// Several threads have read it, nobody wrote.
const READ: u8 = 254;
/// Shared.
const SHARED: u8 = 255;
/// More threads than these are not told apart: all they touch is shared.
const MOST_THREADS: u32 = 120;

/// A thread beyond those.
const NOT_TOLD_APART: u8 = 253;

/// A thread, as words know it: an odd number, one less where it has only read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner(u8);

impl Owner {
    pub(crate) fn of(thread: u32) -> Owner {
        Owner(if thread < MOST_THREADS { 2 * thread as u8 + 3 } else { NOT_TOLD_APART })
    }
}

/// What is known of a page; its words are in [`Owners::words`].
struct Page {
    /// The last group with accesses to it that were let go, plus one.
    group: u32,
    /// All of these.
    groups: Vec<u32>,
    number: u64,
}

/// A page that was found lately.
#[derive(Clone, Copy)]
struct Found {
    /// See [`TAG_SHIFT`].
    tag: u32,
    page: u32,
}

impl Found {
    /// No address has that tag.
    const NONE: Found = Found { tag: u32::MAX - 1, page: u32::MAX };

    /// Where the state of an address is, if this is its page.
    #[inline(always)]
    fn word(self, addr: u64) -> usize {
        self.page as usize * WORDS + (addr / 8) as usize % WORDS
    }

    /// Place in the cache and tag of an address; addresses of programs have 47 bits.
    #[inline(always)]
    fn place(addr: u64) -> (usize, u32) {
        ((addr / PAGE) as usize % CACHED, (addr >> TAG_SHIFT) as u32)
    }
}

/// The words that the run has touched.
pub(crate) struct Owners {
    /// The words of all pages, one page after the other.
    words: Vec<u8>,
    pages: Vec<Page>,
    index: FxHashMap<u64, u32>,
    /// Pages that are noted for this group of chunks, and pages whether they are or not.
    noted: Box<[Found; CACHED]>,
    found: Box<[Found; CACHED]>,
    /// The group that is being read, plus one.
    group: u32,
    /// Groups that have to be read again.
    wanted: Vec<u32>,
}

impl Default for Owners {
    fn default() -> Self {
        Owners {
            words: Vec::new(),
            pages: Vec::new(),
            index: FxHashMap::default(),
            noted: Box::new([Found::NONE; CACHED]),
            found: Box::new([Found::NONE; CACHED]),
            group: 0,
            wanted: Vec::new(),
        }
    }
}

impl Owners {
    /// Another group of chunks begins.
    pub(crate) fn begin(&mut self, group: u32) {
        self.group = group + 1;
        self.noted.fill(Found::NONE);
    }

    /// The groups that turned out to hold accesses to shared words, since the last call.
    pub(crate) fn wanted(&mut self) -> std::vec::Drain<'_, u32> {
        self.wanted.drain(..)
    }

    /// What tells whether accesses of `owner` can be let go.
    pub(crate) fn gate(&self, owner: Owner) -> Gate<'_> {
        Gate { noted: &self.noted, words: &self.words, owner: owner.0 }
    }

    /// Whether an access to up to eight bytes is within a word that is known to be shared.
    #[inline(always)]
    pub(crate) fn is_shared(&self, addr: u64, size: usize) -> bool {
        let (place, tag) = Found::place(addr);
        let found = self.found[place];
        let word = self.words.get(found.word(addr));
        found.tag == tag && word == Some(&SHARED) && (addr % 8) as usize + size <= 8
    }

    /// `owner` accesses any number of bytes. Whether a word of them is shared.
    #[inline(never)]
    pub(crate) fn touch(&mut self, owner: Owner, addr: u64, len: u64, write: bool) -> bool {
        self.each_word(addr, len, |state| match *state {
            SHARED => Past::Shared,
            _ if owner.0 == NOT_TOLD_APART => turn_shared(state),
            FRESH => {
                *state = owner.0 - u8::from(!write);
                Past::Private
            }
            own if own | 1 == owner.0 => {
                *state |= u8::from(write);
                Past::Private
            }
            READ if !write => Past::Private,
            other if !write && other & 1 == 0 => {
                *state = READ;
                Past::Private
            }
            _ => turn_shared(state),
        })
    }

    /// `owner` frees memory. Whether a word of it is shared.
    pub(crate) fn free(&mut self, owner: Owner, addr: u64, len: u64) -> bool {
        self.each_word(addr, len, |state| match *state {
            SHARED => Past::Shared,
            FRESH => Past::Private,
            own if own | 1 == owner.0 => {
                *state |= 1;
                Past::Private
            }
            _ => turn_shared(state),
        })
    }

    /// Memory is given out: what was there before was something else.
    pub(crate) fn given(&mut self, addr: u64, len: u64) {
        let start = addr.next_multiple_of(8);
        let end = addr.saturating_add(len) & !7;
        if start >= end {
            return;
        }
        let (first, last) = (start / PAGE, (end - 1) / PAGE);
        if last - first > self.pages.len() as u64 {
            (0..self.pages.len()).for_each(|page| self.clear(page, start, end));
            return;
        }
        for number in first..=last {
            if let Some(page) = self.find(number) {
                self.clear(page, start, end);
            }
        }
    }

    /// Makes the words of a page between two addresses nobody's.
    fn clear(&mut self, page: usize, start: u64, end: u64) {
        let base = self.pages[page].number * PAGE;
        let from = start.saturating_sub(base).min(PAGE) / 8;
        let to = end.saturating_sub(base).min(PAGE) / 8;
        let words = &mut self.words[page * WORDS..(page + 1) * WORDS];
        for state in &mut words[from as usize..to.max(from) as usize] {
            if *state != SHARED {
                *state = FRESH;
            }
        }
    }

    fn each_word(&mut self, addr: u64, len: u64, mut f: impl FnMut(&mut u8) -> Past) -> bool {
        let end = addr.saturating_add(len);
        let (mut at, mut shared) = (addr & !7, false);
        while at < end {
            let page = match self.find(at / PAGE) {
                Some(page) => page,
                None => self.add(at / PAGE),
            };
            let number = page;
            let page = &mut self.pages[number];
            let words = &mut self.words[number * WORDS..(number + 1) * WORDS];
            let stop = end.min((at / PAGE + 1).saturating_mul(PAGE));
            let (from, to) = (at % PAGE / 8, (stop - at / PAGE * PAGE).div_ceil(8));
            let (mut private, mut late) = (false, false);
            for state in &mut words[from as usize..to as usize] {
                match f(state) {
                    Past::Private => private = true,
                    Past::Late => late = true,
                    Past::Shared => shared = true,
                }
            }
            if (private || late) && page.group != self.group {
                page.group = self.group;
                page.groups.push(self.group - 1);
            }
            if late {
                shared = true;
                self.wanted.append(&mut page.groups);
                page.group = 0;
            }
            let (place, tag) = Found::place(at);
            let found = Found { tag, page: number as u32 };
            if at < 1 << 47 {
                self.found[place] = found;
                self.noted[place] = if page.group == self.group { found } else { Found::NONE };
            }
            at = stop;
        }
        shared
    }

    fn find(&self, number: u64) -> Option<usize> {
        let (place, tag) = Found::place(number.wrapping_mul(PAGE));
        let found = self.found[place];
        if found.tag == tag && number < 1 << 35 {
            return Some(found.page as usize);
        }
        self.index.get(&number).map(|&page| page as usize)
    }

    fn add(&mut self, number: u64) -> usize {
        let page = self.pages.len();
        self.words.resize((page + 1) * WORDS, FRESH);
        self.pages.push(Page { group: 0, groups: Vec::new(), number });
        self.index.insert(number, page as u32);
        page
    }

    /// What is shared in the end.
    pub(crate) fn finish(self) -> SharedWords {
        let pages = self.pages.iter().zip(self.words.as_chunks::<WORDS>().0);
        let pages = pages.filter(|(_, words)| words.contains(&SHARED));
        SharedWords::of(pages.map(|(page, words)| (page.number, words)))
    }
}

/// Tells whether accesses of a thread can be let go.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    noted: &'a [Found; CACHED],
    words: &'a [u8],
    owner: u8,
}

impl Gate<'_> {
    /// Whether an access can be let go without a change to anything: this is so of nearly all.
    #[inline(always)]
    pub(crate) fn lets_go(&self, access: Brief) -> bool {
        let noted = self.noted[(access.low / PAGE as u32) as usize % CACHED];
        let Some(&word) = self.words.get(noted.word(u64::from(access.low))) else { return false };
        noted.tag == access.high()
            && access.aligned()
            && (word | access.reads() == self.owner || (word == READ && access.reads() == 1))
    }
}

/// Place and tag of a page, and nothing else, are of its address.
const _: () = assert!(PAGE * CACHED as u64 >= 1 << TAG_SHIFT);

/// What an access finds.
enum Past {
    /// It is let go.
    Private,
    /// The word has become shared by it: what was let go is wanted.
    Late,
    /// The word is shared.
    Shared,
}

fn turn_shared(state: &mut u8) -> Past {
    *state = SHARED;
    Past::Late
}

/// The words that are shared, at the end of a run.
#[derive(Default)]
pub(crate) struct SharedWords {
    /// Pages by number: a table that is at most half full, a page at the first free place from that of its number on.
    places: Vec<Option<(u64, u32)>>,
    pages: Vec<(u64, [u8; WORDS])>,
}

impl SharedWords {
    fn of<'a>(pages: impl Iterator<Item = (u64, &'a [u8; WORDS])>) -> SharedWords {
        let pages: Vec<_> = pages.map(|(number, words)| (number, *words)).collect();
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

    /// Whether an access to up to eight bytes is to a word that is shared.
    #[inline(always)]
    pub(crate) fn word(&self, addr: u64, size: usize) -> bool {
        if (addr % 8) as usize + size > 8 {
            return self.any(addr, size as u64);
        }
        self.page(addr / PAGE).is_some_and(|words| words[(addr / 8) as usize % WORDS] == SHARED)
    }

    /// Whether a word of `len` bytes is shared.
    #[inline]
    pub(crate) fn any(&self, addr: u64, len: u64) -> bool {
        let end = addr.saturating_add(len.max(1));
        let (first, last) = (addr / PAGE, (end - 1) / PAGE);
        if last - first > self.pages.len() as u64 {
            return self.pages.iter().any(|(number, words)| in_page(*number, words, addr, end));
        }
        (first..=last)
            .any(|number| self.page(number).is_some_and(|words| in_page(number, words, addr, end)))
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

fn in_page(number: u64, words: &[u8; WORDS], addr: u64, end: u64) -> bool {
    let base = number * PAGE;
    let from = addr.saturating_sub(base).min(PAGE) / 8;
    let to = end.saturating_sub(base).min(PAGE).div_ceil(8);
    from < to && words[from as usize..to as usize].contains(&SHARED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_rt_format::{access_code, slot_key};

    fn owners() -> Owners {
        let mut o = Owners::default();
        o.begin(0);
        o
    }

    impl Owners {
        /// As `sift` does it.
        fn access(&mut self, owner: Owner, addr: u64, size: usize, write: bool) -> bool {
            let code = access_code(size.ilog2(), write);
            let access = Brief::new(slot_key(1, code), addr);
            !self.gate(owner).lets_go(access) && self.touch(owner, addr, size as u64, write)
        }
    }

    fn wanted(o: &mut Owners) -> Vec<u32> {
        o.wanted().collect()
    }

    #[test]
    fn the_past_of_a_word_that_becomes_shared_is_wanted() {
        let (mut o, a, b) = (owners(), Owner::of(0), Owner::of(1));
        assert!(!o.access(a, 4096, 4, true));
        o.begin(1);
        assert!(!o.access(a, 4096, 4, false) && !o.access(a, 8192, 8, true));
        o.begin(2);
        assert!(o.access(b, 4100, 4, false));
        assert_eq!(wanted(&mut o), [0, 1, 2]);
        o.begin(3);
        // Once shared nothing is let go.
        assert!(o.access(a, 4096, 1, true) && o.access(b, 4096, 8, false));
        assert_eq!(wanted(&mut o), []);
        let shared = o.finish();
        assert!(shared.any(4103, 1) && shared.any(0, 1 << 40) && shared.any(4090, 7));
        assert!(!shared.any(4104, 8192) && !shared.any(4090, 6));
    }

    #[test]
    fn what_is_only_read_is_not_shared_until_it_is_written_or_freed() {
        let (mut o, a, b, c) = (owners(), Owner::of(0), Owner::of(1), Owner::of(2));
        for addr in [64, 72] {
            assert!(!o.access(a, addr, 8, false) && !o.access(b, addr, 8, false));
        }
        assert!(o.access(c, 64, 8, true) && o.free(a, 72, 8));
        assert_eq!(wanted(&mut o), [0, 0]);
    }

    #[test]
    fn memory_that_is_given_out_again_is_nobodys() {
        let (mut o, a, b) = (owners(), Owner::of(0), Owner::of(1));
        assert!(!o.touch(a, 64, 64, true) && !o.free(a, 64, 64));
        o.given(66, 40);
        // Whole words alone: the first and the last may be somebody else's.
        assert!(!o.access(b, 72, 8, true) && !o.access(b, 96, 8, true));
        assert!(o.access(b, 64, 8, true) && o.access(b, 104, 8, true));
        o.given(0, 1 << 40);
        assert!(!o.access(a, 72, 8, true) && o.access(a, 64, 8, true));
    }

    #[test]
    fn words_and_pages_that_an_access_reaches_into_count() {
        let (mut o, a, b) = (owners(), Owner::of(0), Owner::of(1));
        assert!(!o.access(a, 4092, 8, true));
        assert!(o.access(b, 4088, 4, false) && o.access(b, 4100, 4, false));
        assert!(!o.access(b, 4104, 4, true));
    }

    #[test]
    fn too_many_threads_share_everything() {
        let (mut o, a) = (owners(), Owner::of(1000));
        assert!(o.access(a, 64, 8, true) && o.access(a, 64, 8, false));
        let (mut o, last) = (owners(), Owner::of(MOST_THREADS - 1));
        assert!(!o.access(last, 64, 8, false) && !o.access(last, 64, 8, true));
        assert!(o.access(Owner::of(0), 64, 8, false));
    }
}
