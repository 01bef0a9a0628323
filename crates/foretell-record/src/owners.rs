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

use rustc_hash::FxHashMap;

/// Bytes of a page, and words.
const PAGE: u64 = 4096;
const WORDS: usize = 512;
/// Pages that are found without a search.
const CACHED: usize = 2048;

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

struct Page {
    words: [u8; WORDS],
    /// The last group with accesses to it that were let go, plus one.
    group: u32,
    /// All of these.
    groups: Vec<u32>,
    number: u64,
}

/// A page that was found in this group of chunks, and is noted for it.
#[derive(Clone, Copy)]
struct Found {
    /// What its number has above the place in the cache.
    tag: u32,
    page: u32,
}

impl Found {
    const NONE: Found = Found { tag: u32::MAX, page: u32::MAX };

    /// Place in the cache and tag of an address; addresses of programs have 47 bits.
    #[inline(always)]
    fn place(addr: u64) -> (usize, u32) {
        let number = addr / PAGE;
        (number as usize % CACHED, (number / CACHED as u64) as u32)
    }
}

/// The words that the run has touched.
pub(crate) struct Owners {
    pages: Vec<Page>,
    index: FxHashMap<u64, u32>,
    cache: Box<[Found; CACHED]>,
    /// The group that is being read, plus one.
    group: u32,
    /// Groups that have to be read again.
    wanted: Vec<u32>,
}

impl Default for Owners {
    fn default() -> Self {
        Owners {
            pages: Vec::new(),
            index: FxHashMap::default(),
            cache: Box::new([Found::NONE; CACHED]),
            group: 0,
            wanted: Vec::new(),
        }
    }
}

impl Owners {
    /// Another group of chunks begins.
    pub(crate) fn begin(&mut self, group: u32) {
        self.group = group + 1;
        self.cache.fill(Found::NONE);
    }

    /// The groups that turned out to hold accesses to shared words, since the last call.
    pub(crate) fn wanted(&mut self) -> std::vec::Drain<'_, u32> {
        self.wanted.drain(..)
    }

    /// Whether an access to up to eight bytes can be let go without a change to anything: this is so of nearly all.
    #[inline(always)]
    pub(crate) fn lets_go(&self, owner: Owner, addr: u64, size: usize, write: bool) -> bool {
        let (place, tag) = Found::place(addr);
        let found = self.cache[place];
        let Some(page) = self.pages.get(found.page as usize) else { return false };
        found.tag == tag
            && page.words[(addr / 8) as usize % WORDS] | u8::from(!write) == owner.0
            && (addr % 8) as usize + size <= 8
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
        let clear = |page: &mut Page| {
            let base = page.number * PAGE;
            let from = start.saturating_sub(base).min(PAGE) / 8;
            let to = end.saturating_sub(base).min(PAGE) / 8;
            for state in &mut page.words[from as usize..to.max(from) as usize] {
                if *state != SHARED {
                    *state = FRESH;
                }
            }
        };
        let (first, last) = (start / PAGE, (end - 1) / PAGE);
        if last - first > self.pages.len() as u64 {
            self.pages.iter_mut().for_each(clear);
            return;
        }
        for number in first..=last {
            if let Some(page) = self.find(number) {
                clear(&mut self.pages[page]);
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
            let stop = end.min((at / PAGE + 1).saturating_mul(PAGE));
            let (from, to) = (at % PAGE / 8, (stop - at / PAGE * PAGE).div_ceil(8));
            let (mut private, mut late) = (false, false);
            for state in &mut page.words[from as usize..to as usize] {
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
            self.cache[place] = if page.group == self.group && at < 1 << 47 {
                Found { tag, page: number as u32 }
            } else {
                Found::NONE
            };
            at = stop;
        }
        shared
    }

    fn find(&self, number: u64) -> Option<usize> {
        let (place, tag) = Found::place(number.wrapping_mul(PAGE));
        let found = self.cache[place];
        if found.tag == tag && number < 1 << 35 {
            return Some(found.page as usize);
        }
        self.index.get(&number).map(|&page| page as usize)
    }

    fn add(&mut self, number: u64) -> usize {
        let page = self.pages.len();
        self.pages.push(Page { words: [FRESH; WORDS], group: 0, groups: Vec::new(), number });
        self.index.insert(number, page as u32);
        page
    }

    /// What is shared in the end.
    pub(crate) fn finish(self) -> SharedWords {
        let pages = self.pages.into_iter().filter(|page| page.words.contains(&SHARED));
        SharedWords(pages.map(|page| (page.number, page.words)).collect())
    }
}

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
pub(crate) struct SharedWords(FxHashMap<u64, [u8; WORDS]>);

impl SharedWords {
    /// Whether a word of `len` bytes is shared.
    #[inline]
    pub(crate) fn any(&self, addr: u64, len: u64) -> bool {
        let end = addr.saturating_add(len.max(1));
        let (first, last) = (addr / PAGE, (end - 1) / PAGE);
        if last - first > self.0.len() as u64 {
            return self.0.iter().any(|(&number, words)| in_page(number, words, addr, end));
        }
        (first..=last).any(|number| {
            self.0.get(&number).is_some_and(|words| in_page(number, words, addr, end))
        })
    }
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

    fn owners() -> Owners {
        let mut o = Owners::default();
        o.begin(0);
        o
    }

    impl Owners {
        /// As `sift` does it.
        fn access(&mut self, owner: Owner, addr: u64, size: usize, write: bool) -> bool {
            !self.lets_go(owner, addr, size, write) && self.touch(owner, addr, size as u64, write)
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
