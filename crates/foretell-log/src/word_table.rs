//! Ownership of all words that the run accesses, as far as the filter has read.
//!
//! [`WordTable`] has the state of every word ([`foretell_ownership::transfer`]). An access to a
//! word that is not shared is skipped, while the program runs. It may matter after all: when a word
//! becomes shared, every earlier access to it belongs to the trace. So each page knows which groups
//! of chunks of the log have skipped accesses to it, and these groups are read again.
//!
//! A word may be shared although no byte of it is; the translation decides that later, by the byte,
//! among the accesses that are left. A shared word stays shared. Other words are fresh when their
//! memory is given out again.
//!
//! Accesses to transferred words are not skipped either as long as there are few
//! ([`WordTable::skip_transferred`]).

mod shared;

pub(crate) use shared::{Share, SharedWords};

use foretell_ownership::FREED_FRESH_WORDS;
use foretell_ownership::transfer::{self, OwnPattern, PackedPast, PackedState};
use foretell_ownership::{Accessor, BitSet, ForkJoinClock, Meeting};
use foretell_rt_format::Brief;
use rustc_hash::FxHashMap;

/// Bytes of a page.
const PAGE: u64 = 4096;
/// Words of a page.
const WORDS: usize = 512;
/// Number of pages in each cache.
const CACHED: usize = 8192;
/// Number of low bits of an address that are not in the tag of its page.
const TAG_SHIFT: u32 = 23;

/// A page of memory; its words are in the arrays of [`WordTable`].
struct Page {
    /// The last group with skipped accesses to the page, plus one.
    group: u32,
    /// All groups with skipped accesses to the page.
    groups: Vec<u32>,
    number: u64,
}

/// An entry of a cache of pages.
#[derive(Clone, Copy)]
struct CachedPage {
    /// See [`TAG_SHIFT`].
    tag: u32,
    page: u32,
}

impl CachedPage {
    /// An entry with a tag that no address has.
    const NONE: CachedPage = CachedPage { tag: u32::MAX - 1, page: u32::MAX };

    /// Returns the index of an address's word, if this is its page.
    #[inline(always)]
    fn word(self, addr: u64) -> usize {
        self.page as usize * WORDS + (addr / 8) as usize % WORDS
    }

    /// Returns the index in a cache and the tag of an address; addresses of programs have 47 bits.
    #[inline(always)]
    fn index_and_tag(addr: u64) -> (usize, u32) {
        ((addr / PAGE) as usize % CACHED, (addr >> TAG_SHIFT) as u32)
    }
}

/// The words that the run has accessed.
pub(crate) struct WordTable {
    /// The states of the words of all pages, page after page.
    states: Vec<PackedState>,
    pasts: Vec<PackedPast>,
    /// The states as the fast path sees them: transferred words whose accesses are kept are shared.
    fast_states: Vec<PackedState>,
    /// Whether accesses to transferred words are kept.
    keeps_transferred: bool,
    /// Number of accesses to transferred words that were kept.
    transferred: u64,
    pages: Vec<Page>,
    index: FxHashMap<u64, u32>,
    /// Cache of the pages that have the present group in their list.
    listed: Box<[CachedPage; CACHED]>,
    /// Cache of all pages.
    found: Box<[CachedPage; CACHED]>,
    /// The group that is being read, plus one.
    group: u32,
    /// Groups that have to be read again.
    read_again: Vec<u32>,
}

impl Default for WordTable {
    fn default() -> Self {
        WordTable {
            states: Vec::new(),
            pasts: Vec::new(),
            fast_states: Vec::new(),
            keeps_transferred: true,
            transferred: 0,
            pages: Vec::new(),
            index: FxHashMap::default(),
            listed: Box::new([CachedPage::NONE; CACHED]),
            found: Box::new([CachedPage::NONE; CACHED]),
            group: 0,
            read_again: Vec::new(),
        }
    }
}

/// Size of a block beyond which `free` does not make the pages known that were not accessed.
const LARGE_BLOCK: u64 = 64 << 20;

/// Pages whose words are changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pages {
    /// All; those that are not known become known.
    All,
    /// Those that are known.
    Known,
}

impl WordTable {
    /// Begins a group of chunks.
    pub(crate) fn begin_group(&mut self, group: u32) {
        self.group = group + 1;
        self.listed.fill(CachedPage::NONE);
    }

    /// Returns the number of accesses to transferred words that were kept so far.
    pub(crate) fn transferred(&self) -> u64 {
        self.transferred
    }

    /// Skips accesses to transferred words from now on.
    pub(crate) fn skip_transferred(&mut self) {
        self.keeps_transferred = false;
        self.fast_states.copy_from_slice(&self.states);
    }

    /// Returns the groups that turned out since the last call to have accesses that matter.
    pub(crate) fn read_again(&mut self) -> std::vec::Drain<'_, u32> {
        self.read_again.drain(..)
    }

    /// Returns the fast path for accesses of a thread.
    pub(crate) fn fast_path<'a>(
        &'a self,
        by: Accessor,
        clock: &'a ForkJoinClock<BitSet>,
    ) -> FastPath<'a> {
        FastPath {
            listed: &self.listed,
            states: &self.fast_states,
            pasts: &self.pasts,
            known: clock.known(by.thread),
            own: OwnPattern::of(by.epoch),
        }
    }

    /// Whether an access to up to eight bytes is within a word that is known to be shared.
    #[inline(always)]
    pub(crate) fn is_shared(&self, addr: u64, size: usize) -> bool {
        let (index, tag) = CachedPage::index_and_tag(addr);
        let found = self.found[index];
        let state = self.states.get(found.word(addr));
        found.tag == tag && state == Some(&PackedState::SHARED) && (addr % 8) as usize + size <= 8
    }

    /// A thread accesses any number of bytes. Returns whether the access is kept.
    #[inline(never)]
    pub(crate) fn access(
        &mut self,
        by: Accessor,
        clock: &ForkJoinClock<BitSet>,
        addr: u64,
        len: u64,
        write: bool,
    ) -> bool {
        self.each_word(addr, len, Pages::All, |state, past| {
            transfer::access(state, past, by, write, clock)
        })
    }

    /// Makes the words of some bytes shared. Returns whether the record about it is kept: always.
    pub(crate) fn share(&mut self, addr: u64, len: u64) -> bool {
        self.each_word(addr, len, Pages::All, |state, _| transfer::share(state))
    }

    /// A thread frees memory, which writes all words of it that were accessed, and the first ones
    /// that were not. Returns whether the record about it is kept.
    pub(crate) fn free(
        &mut self,
        by: Accessor,
        clock: &ForkJoinClock<BitSet>,
        addr: u64,
        len: u64,
    ) -> bool {
        let pages = if len > LARGE_BLOCK { Pages::Known } else { Pages::All };
        let mut fresh = FREED_FRESH_WORDS;
        self.each_word(addr, len, pages, |state, past| match *state {
            PackedState::FRESH if fresh == 0 => Meeting::Private,
            was => {
                fresh -= usize::from(was == PackedState::FRESH);
                transfer::access(state, past, by, true, clock)
            }
        })
    }

    /// Memory is given out: whole words of it that are not shared are fresh.
    pub(crate) fn allocate(&mut self, addr: u64, len: u64) {
        let Some(start) = addr.checked_next_multiple_of(8) else { return };
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

    /// Makes the words of a page between two addresses fresh.
    fn clear(&mut self, page: usize, start: u64, end: u64) {
        let base = self.pages[page].number * PAGE;
        let from = start.saturating_sub(base).min(PAGE) / 8;
        let to = end.saturating_sub(base).min(PAGE) / 8;
        let span = page * WORDS + from as usize..page * WORDS + to.max(from) as usize;
        let fast_states = &mut self.fast_states[span.clone()];
        for (state, fast) in self.states[span].iter_mut().zip(fast_states) {
            if *state != PackedState::SHARED {
                *state = PackedState::FRESH;
                *fast = PackedState::FRESH;
            }
        }
    }

    /// Changes the words of some bytes. Returns whether the record about it is kept: a word of them
    /// is shared, or transferred and still kept.
    fn each_word(
        &mut self,
        addr: u64,
        len: u64,
        pages: Pages,
        mut access: impl FnMut(&mut PackedState, &mut PackedPast) -> Meeting,
    ) -> bool {
        let end = addr.saturating_add(len);
        let (mut at, mut shared, mut transferred) = (addr & !7, false, false);
        while at < end {
            let number = match self.find(at / PAGE) {
                Some(page) => page,
                None if pages == Pages::All => self.add(at / PAGE),
                None => {
                    at = self.next_known(at, end);
                    continue;
                }
            };
            let page = &mut self.pages[number];
            let stop = end.min((at / PAGE + 1).saturating_mul(PAGE));
            let (from, to) = (at % PAGE / 8, (stop - at / PAGE * PAGE).div_ceil(8));
            // Whether an access is skipped, and whether earlier skipped ones matter now.
            let (mut skipped, mut past_matters) = (false, false);
            for word in number * WORDS + from as usize..number * WORDS + to as usize {
                let (state, fast) = (&mut self.states[word], &mut self.fast_states[word]);
                let was_kept = state != fast;
                match access(state, &mut self.pasts[word]) {
                    Meeting::AlreadyShared => shared = true,
                    Meeting::SharedNow => past_matters = true,
                    Meeting::Transferred if self.keeps_transferred && !was_kept => {
                        (past_matters, transferred) = (true, true)
                    }
                    _ if was_kept => transferred = true,
                    _ => {
                        skipped = true;
                        *fast = *state;
                        continue;
                    }
                }
                *fast = PackedState::SHARED;
            }
            if (skipped || past_matters) && page.group != self.group {
                page.group = self.group;
                page.groups.push(self.group - 1);
            }
            if past_matters {
                shared = true;
                self.read_again.append(&mut page.groups);
                page.group = 0;
            }
            let (index, tag) = CachedPage::index_and_tag(at);
            let found = CachedPage { tag, page: number as u32 };
            if at < 1 << 47 {
                let is_listed = page.group == self.group;
                self.found[index] = found;
                self.listed[index] = if is_listed { found } else { CachedPage::NONE };
            }
            at = stop;
        }
        self.transferred += u64::from(transferred);
        shared || transferred
    }

    /// Returns the beginning of the next page after that of `at` that is known, or `end`.
    fn next_known(&self, at: u64, end: u64) -> u64 {
        let next = at / PAGE + 1;
        if end.div_ceil(PAGE) - next < self.pages.len() as u64 {
            return next.saturating_mul(PAGE).min(end);
        }
        let later = self.pages.iter().map(|page| page.number).filter(|&number| number >= next);
        later.min().map_or(end, |number| number.saturating_mul(PAGE).min(end))
    }

    fn find(&self, number: u64) -> Option<usize> {
        let (index, tag) = CachedPage::index_and_tag(number.wrapping_mul(PAGE));
        let found = self.found[index];
        if found.tag == tag && number < 1 << 35 {
            return Some(found.page as usize);
        }
        self.index.get(&number).map(|&page| page as usize)
    }

    fn add(&mut self, number: u64) -> usize {
        let page = self.pages.len();
        self.states.resize((page + 1) * WORDS, PackedState::FRESH);
        self.pasts.resize((page + 1) * WORDS, PackedPast::default());
        self.fast_states.resize((page + 1) * WORDS, PackedState::FRESH);
        self.pages.push(Page { group: 0, groups: Vec::new(), number });
        self.index.insert(number, page as u32);
        page
    }

    /// Returns the words that are shared, or were transferred, at the end of the run.
    pub(crate) fn finish(self) -> SharedWords {
        let mut shared = Vec::new();
        let words = self.states.as_chunks::<WORDS>().0.iter();
        let words = words.zip(self.pasts.as_chunks::<WORDS>().0);
        for (page, (states, pasts)) in self.pages.iter().zip(words) {
            let mut shares = [Share::Not as u8; WORDS];
            for (share, (&state, past)) in shares.iter_mut().zip(states.iter().zip(pasts)) {
                *share = match state {
                    PackedState::SHARED => Share::Shared as u8,
                    _ if past.is_transferred() => Share::Transferred as u8,
                    _ => Share::Not as u8,
                };
            }
            if shared::most(&shares) != Share::Not {
                shared.push((page.number, shares));
            }
        }
        SharedWords::of(shared)
    }
}

/// The fast path for accesses of one thread: most accesses are skipped without a change of the
/// table.
#[derive(Clone, Copy)]
pub(crate) struct FastPath<'a> {
    listed: &'a [CachedPage; CACHED],
    states: &'a [PackedState],
    pasts: &'a [PackedPast],
    known: &'a BitSet,
    own: OwnPattern,
}

impl FastPath<'_> {
    /// Whether an access is skipped and changes nothing.
    #[inline(always)]
    pub(crate) fn skips(&self, access: Brief) -> bool {
        let listed = self.listed[(access.low / PAGE as u32) as usize % CACHED];
        let word = listed.word(u64::from(access.low));
        let Some(&state) = self.states.get(word) else { return false };
        let reads = u16::from(access.reads());
        listed.tag == access.high()
            && access.aligned()
            && state.is_unchanged(|| self.pasts[word], self.own, reads, self.known)
    }
}

/// The index and the tag of an address depend on nothing else than its page.
const _: () = assert!(PAGE * CACHED as u64 >= 1 << TAG_SHIFT);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use foretell_rt_format::{AccessCode, slot_key};

    /// Memory, and threads of which the first creates the others at once.
    struct World {
        table: WordTable,
        clock: ForkJoinClock<BitSet>,
    }

    fn world(threads: u32) -> World {
        let mut world = World { table: WordTable::default(), clock: clock::new() };
        world.table.begin_group(0);
        (1..threads).for_each(|thread| world.create(thread));
        world
    }

    impl World {
        fn create(&mut self, thread: u32) {
            self.clock.create(0, thread);
        }

        fn join(&mut self, thread: u32) {
            self.clock.join(0, thread);
        }

        /// Accesses memory as the filter does: the fast path first.
        fn access(&mut self, thread: u32, addr: u64, size: usize, write: bool) -> bool {
            let code = AccessCode::of_size(size, write);
            let access = Brief::new(slot_key(1, code), addr);
            let by = self.clock.accessor(thread);
            !self.table.fast_path(by, &self.clock).skips(access)
                && self.access_range(thread, addr, size as u64, write)
        }

        fn access_range(&mut self, thread: u32, addr: u64, len: u64, write: bool) -> bool {
            let by = self.clock.accessor(thread);
            self.table.access(by, &self.clock, addr, len, write)
        }

        fn free(&mut self, thread: u32, addr: u64, len: u64) -> bool {
            let by = self.clock.accessor(thread);
            self.table.free(by, &self.clock, addr, len)
        }

        fn read_again(&mut self) -> Vec<u32> {
            self.table.read_again().collect()
        }
    }

    #[test]
    fn groups_with_earlier_accesses_to_a_shared_word_are_read_again() {
        let mut w = world(2);
        assert!(!w.access(0, 4096, 4, true));
        w.table.begin_group(1);
        assert!(!w.access(0, 4096, 4, false) && !w.access(0, 8192, 8, true));
        w.table.begin_group(2);
        assert!(w.access(1, 4100, 4, false));
        assert_eq!(w.read_again(), [0, 1, 2]);
        w.table.begin_group(3);
        // No access to a shared word is skipped.
        assert!(w.access(0, 4096, 1, true) && w.access(1, 4096, 8, false));
        assert_eq!(w.read_again(), []);
        let shared = w.table.finish();
        let any = |addr, len| shared.most(addr, len) == Share::Shared;
        assert!(any(4103, 1) && any(0, 1 << 40) && any(4090, 7));
        assert!(!any(4104, 8192) && !any(4090, 6));
    }

    #[test]
    fn read_only_word_is_shared_when_written_or_freed() {
        let mut w = world(3);
        for addr in [64, 72] {
            assert!(!w.access(0, addr, 8, false) && !w.access(1, addr, 8, false));
        }
        assert!(w.access(2, 64, 8, true) && w.free(0, 72, 8));
        assert_eq!(w.read_again(), [0, 0]);
    }

    #[test]
    fn words_of_a_new_allocation_are_fresh() {
        let mut w = world(2);
        assert!(!w.access_range(0, 64, 64, true) && !w.free(0, 64, 64));
        w.table.allocate(66, 40);
        // Whole words only: the first and the last may belong to another allocation.
        assert!(!w.access(1, 72, 8, true) && !w.access(1, 96, 8, true));
        assert!(w.access(1, 64, 8, true) && w.access(1, 104, 8, true));
        w.table.allocate(0, 1 << 40);
        assert!(!w.access(0, 72, 8, true) && w.access(0, 64, 8, true));
    }

    #[test]
    fn access_across_words_and_pages_accesses_all_of_them() {
        let mut w = world(2);
        assert!(!w.access(0, 4092, 8, true));
        assert!(w.access(1, 4088, 4, false) && w.access(1, 4100, 4, false));
        assert!(!w.access(1, 4104, 4, true));
    }

    #[test]
    fn threads_beyond_the_limit_share_everything() {
        let mut w = world(40_000);
        assert!(w.access(39_999, 64, 8, true) && w.access(39_999, 64, 8, false));
    }

    #[test]
    fn create_and_join_transfer_words() {
        for keeps in [true, false] {
            let mut w = world(1);
            if !keeps {
                w.table.skip_transferred();
            }
            // Written before two threads read it, and again after they were joined.
            assert!(!w.access(0, 64, 8, true) && !w.access(0, 72, 8, true));
            (1..3).for_each(|thread| w.create(thread));
            w.table.begin_group(1);
            let kept = w.access(1, 64, 8, false) as u8 + w.access(2, 64, 8, false) as u8;
            // Used by one thread from its creation to its end.
            let kept = kept + w.access(1, 72, 8, false) as u8 + w.access(1, 72, 8, true) as u8;
            w.join(1);
            let kept = kept + w.access(0, 72, 8, false) as u8 + w.access(0, 64, 8, false) as u8;
            w.join(2);
            let kept = kept + w.access(0, 64, 8, true) as u8;
            let (all, again) = if keeps { (7, vec![0, 1, 1]) } else { (0, vec![]) };
            assert_eq!((kept, w.table.transferred(), w.read_again()), (all, u64::from(all), again));
            // A new allocation is fresh.
            w.table.allocate(64, 8);
            assert!(!w.access(0, 64, 8, true) && !w.access(0, 64, 8, true));
            let shared = w.table.finish();
            assert_eq!(
                (shared.most(64, 8), shared.word(72, 8)),
                (Share::Transferred, Share::Transferred)
            );
            assert_eq!(shared.word(80, 8), Share::Not);
        }
    }

    #[test]
    fn unordered_accesses_share_words() {
        // After the creation, by the creator; by a thread that was created before it was written.
        let mut w = world(2);
        w.table.skip_transferred();
        assert!(!w.access(0, 64, 8, true) && w.access(1, 64, 8, false));
        w.create(2);
        assert!(!w.access(0, 72, 8, true));
        w.create(3);
        assert!(!w.access(3, 72, 8, false) && w.access(2, 72, 8, false));
        // Transferred, then used by its former owner; read by several, then written by one of them.
        assert!(!w.access(0, 80, 8, true) && !w.access(0, 88, 8, true));
        w.create(4);
        assert!(!w.access(4, 80, 8, true) && w.access(0, 80, 8, false));
        w.create(5);
        assert!(!w.access(4, 88, 8, false) && !w.access(5, 88, 8, false));
        assert!(w.access(4, 88, 8, true) && !w.access(0, 96, 8, true));
        // Read by two threads, one of which has not been joined.
        w.create(6);
        w.create(7);
        assert!(!w.access(6, 96, 8, false) && !w.access(7, 96, 8, false));
        w.join(6);
        assert!(w.access(0, 96, 8, true));
    }
}
