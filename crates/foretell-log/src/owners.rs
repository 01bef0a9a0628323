//! Which words of memory one thread alone has touched so far.
//!
//! For every eight bytes that the run touches: nobody, one thread in one of its phases (and whether it wrote), several threads
//! that only read, or *shared*. As long as a word is not shared its accesses are not in the trace: they are
//! let go while the program runs. They may be wanted after all: a word that becomes
//! shared may have a past, and every access of that past belongs to the trace. So each page
//! knows in which groups of chunks of the log such accesses to it are; these are then read again.
//!
//! A word is shared when a second thread touches it and one of the two wrote, or frees it. Once shared it stays so. It
//! may be shared and none of its bytes are: `cells` decides that later, by the byte, among what is left.
//! Memory that is given out again is nobody's.
//!
//! If create and join order the two accesses in every run (`lineage`), the word is not shared but *handed over*: it is the second
//! thread's from then on. Several threads may read what one has written before all of them. No access to such a word can be in a race, read
//! anything else than it did, or be between two accesses of one block. As long as there are few, these accesses are not let go
//! either ([`Owners::stop_showing`]).

mod shared;

pub(crate) use shared::{Share, SharedWords};

use foretell_rt_format::Brief;
use rustc_hash::FxHashMap;

use crate::lineage::{Lineage, Phase, Phases};

/// Bytes of a page, and words.
const PAGE: u64 = 4096;
const WORDS: usize = 512;
/// Pages that are found without a search.
const CACHED: usize = 8192;
/// Bits of an address that are not in the tag of its page.
const TAG_SHIFT: u32 = 23;

/// Nobody has touched the word.
const FRESH: u16 = 0;
/// Several threads have read it since it was written.
const READ_AFTER: u16 = 0xfffc;
/// Several threads have read it, nobody wrote.
const READ: u16 = 0xfffe;
/// Shared.
const SHARED: u16 = 0xffff;

/// A thread in one of its phases, as words know it: an odd number, one less where it has only read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    thread: u32,
    phase: Phase,
}

impl Owner {
    pub(crate) fn of(thread: u32, lineage: &mut Lineage) -> Owner {
        Owner { thread, phase: lineage.phase(thread) }
    }

    fn state(self, write: bool) -> u16 {
        self.phase.0 << 1 | u16::from(write)
    }
}

/// What else is known of a word.
#[derive(Clone, Copy, Default)]
struct Past(u16);

impl Past {
    /// The phase of the last write, if its thread is not the owner, or others have read since.
    #[inline(always)]
    fn written(self) -> Phase {
        Phase(self.0 >> 1)
    }

    fn set_written(&mut self, phase: Phase) {
        self.0 = phase.0 << 1 | self.0 & 1;
    }

    /// Whether it was ever handed over.
    fn is_handed(self) -> bool {
        self.0 & 1 != 0
    }

    fn hand_over(&mut self) {
        self.0 |= 1;
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
    words: Vec<u16>,
    pasts: Vec<Past>,
    /// What the gate sees of them: as `words`, but those that were handed over and are shown seem shared.
    seen: Vec<u16>,
    /// Whether accesses to words that are handed over are shown, and how many were.
    showing: bool,
    shown: u64,
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
            pasts: Vec::new(),
            seen: Vec::new(),
            showing: true,
            shown: 0,
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

    /// Accesses so far to words that are handed over, by which they are noted.
    pub(crate) fn shown(&self) -> u64 {
        self.shown
    }

    /// From now on accesses to words that are handed over are let go.
    pub(crate) fn stop_showing(&mut self) {
        self.showing = false;
        self.seen.copy_from_slice(&self.words);
    }

    /// The groups that turned out to hold accesses to words that matter, since the last call.
    pub(crate) fn wanted(&mut self) -> std::vec::Drain<'_, u32> {
        self.wanted.drain(..)
    }

    /// What tells whether accesses of `owner` can be let go.
    pub(crate) fn gate<'a>(&'a self, owner: Owner, lineage: &'a Lineage) -> Gate<'a> {
        Gate {
            noted: &self.noted,
            seen: &self.seen,
            pasts: &self.pasts,
            known: lineage.known(owner.thread),
            owner: owner.state(true),
        }
    }

    /// Whether an access to up to eight bytes is within a word that is known to be shared.
    #[inline(always)]
    pub(crate) fn is_shared(&self, addr: u64, size: usize) -> bool {
        let (place, tag) = Found::place(addr);
        let found = self.found[place];
        let word = self.words.get(found.word(addr));
        found.tag == tag && word == Some(&SHARED) && (addr % 8) as usize + size <= 8
    }

    /// An access to any number of bytes. Whether it has to be noted: a word of them is shared, or handed over and shown.
    #[inline(never)]
    pub(crate) fn touch(&mut self, by: &By<'_>, addr: u64, len: u64, write: bool) -> bool {
        self.each_word(addr, len, |state, past| by.touches(state, past, write))
    }

    /// The words of these bytes are shared from now on, whoever used them. That has to be noted.
    pub(crate) fn share(&mut self, addr: u64, len: u64) -> bool {
        self.each_word(addr, len, |state, _| {
            let meets = if *state == SHARED { Meets::Shared } else { Meets::Late };
            *state = SHARED;
            meets
        })
    }

    /// Memory is freed. Whether that has to be noted.
    pub(crate) fn free(&mut self, by: &By<'_>, addr: u64, len: u64) -> bool {
        self.each_word(addr, len, |state, past| match *state {
            FRESH => Meets::Private,
            _ => by.touches(state, past, true),
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
        let span = page * WORDS + from as usize..page * WORDS + to.max(from) as usize;
        for (state, seen) in self.words[span.clone()].iter_mut().zip(&mut self.seen[span]) {
            if *state != SHARED {
                *state = FRESH;
                *seen = FRESH;
            }
        }
    }

    fn each_word(
        &mut self,
        addr: u64,
        len: u64,
        mut f: impl FnMut(&mut u16, &mut Past) -> Meets,
    ) -> bool {
        let end = addr.saturating_add(len);
        let (mut at, mut shared, mut handed) = (addr & !7, false, false);
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
            for word in number * WORDS + from as usize..number * WORDS + to as usize {
                let (state, seen) = (&mut self.words[word], &mut self.seen[word]);
                let was_shown = state != seen;
                match f(state, &mut self.pasts[word]) {
                    Meets::Shared => shared = true,
                    Meets::Late => late = true,
                    Meets::HandedOver if self.showing && !was_shown => {
                        (late, handed) = (true, true)
                    }
                    _ if was_shown => handed = true,
                    _ => {
                        private = true;
                        *seen = *state;
                        continue;
                    }
                }
                *seen = SHARED;
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
        self.shown += u64::from(handed);
        shared || handed
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
        self.pasts.resize((page + 1) * WORDS, Past::default());
        self.seen.resize((page + 1) * WORDS, FRESH);
        self.pages.push(Page { group: 0, groups: Vec::new(), number });
        self.index.insert(number, page as u32);
        page
    }

    /// What is shared or was handed over in the end.
    pub(crate) fn finish(self) -> SharedWords {
        let mut shared = Vec::new();
        let words = self.words.as_chunks::<WORDS>().0.iter();
        let words = words.zip(self.pasts.as_chunks::<WORDS>().0);
        for (page, (states, pasts)) in self.pages.iter().zip(words) {
            let mut shares = [Share::Not as u8; WORDS];
            for (share, (&state, past)) in shares.iter_mut().zip(states.iter().zip(pasts)) {
                *share = match state {
                    SHARED => Share::Shared as u8,
                    _ if past.is_handed() => Share::Handed as u8,
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

/// A thread that accesses memory, and what it knows.
pub(crate) struct By<'a> {
    pub(crate) owner: Owner,
    pub(crate) lineage: &'a Lineage,
}

impl By<'_> {
    fn knows(&self, phase: Phase) -> bool {
        self.lineage.known(self.owner.thread).contains(phase)
    }

    /// Accesses a word.
    fn touches(&self, state: &mut u16, past: &mut Past, write: bool) -> Meets {
        let own = self.owner.state(write);
        match *state {
            SHARED => return Meets::Shared,
            _ if self.owner.phase == Phase::OTHER => {}
            FRESH => {
                *state = own;
                past.set_written(Phase::NONE);
                return Meets::Private;
            }
            READ if !write => return Meets::Private,
            READ | READ_AFTER if write => {
                if self.lineage.alone(self.owner.thread) {
                    *state = own;
                    past.set_written(Phase::NONE);
                    past.hand_over();
                    return Meets::HandedOver;
                }
            }
            READ_AFTER => {
                if self.knows(past.written()) {
                    return Meets::Private;
                }
            }
            other => return self.meets(other, state, past, write),
        }
        *state = SHARED;
        Meets::Late
    }

    /// Accesses a word that a thread has touched last, perhaps this one.
    fn meets(&self, other: u16, state: &mut u16, past: &mut Past, write: bool) -> Meets {
        let (phase, wrote) = (Phase(other >> 1), other & 1 != 0);
        if phase == self.owner.phase {
            *state |= u16::from(write);
            return Meets::Private;
        }
        let same = self.lineage.thread(phase) == self.owner.thread;
        // The write that a read sees; what a write has to come after.
        let (written, before) = if wrote { (phase, phase) } else { (past.written(), phase) };
        let ordered = if write {
            same || self.knows(before)
        } else {
            written == Phase::NONE || self.knows(written)
        };
        if !ordered {
            *state = SHARED;
            return Meets::Late;
        }
        let hands_over = !same && (write || written != Phase::NONE);
        if hands_over {
            past.hand_over();
        }
        *state = match (write, wrote || same) {
            (true, _) | (false, true) => self.owner.state(write),
            (false, false) if written == Phase::NONE => READ,
            (false, false) => READ_AFTER,
        };
        past.set_written(if write { Phase::NONE } else { written });
        if hands_over { Meets::HandedOver } else { Meets::Private }
    }
}

/// Tells whether accesses of a thread can be let go.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    noted: &'a [Found; CACHED],
    seen: &'a [u16],
    pasts: &'a [Past],
    known: &'a Phases,
    owner: u16,
}

impl Gate<'_> {
    /// Whether an access can be let go without a change to anything: this is so of nearly all.
    #[inline(always)]
    pub(crate) fn lets_go(&self, access: Brief) -> bool {
        let noted = self.noted[(access.low / PAGE as u32) as usize % CACHED];
        let place = noted.word(u64::from(access.low));
        let Some(&word) = self.seen.get(place) else { return false };
        noted.tag == access.high()
            && access.aligned()
            && (word | u16::from(access.reads()) == self.owner
                || (access.reads() == 1 && (word == READ || self.knows(word, place))))
    }

    /// Whether the word is one that many read, and its last write is over.
    fn knows(&self, word: u16, place: usize) -> bool {
        word == READ_AFTER && self.known.contains(self.pasts[place].written())
    }
}

/// Place and tag of a page, and nothing else, are of its address.
const _: () = assert!(PAGE * CACHED as u64 >= 1 << TAG_SHIFT);

/// What an access finds.
enum Meets {
    /// It is let go.
    Private,
    /// The word has been handed over by it.
    HandedOver,
    /// The word has become shared by it: what was let go is wanted.
    Late,
    /// The word is shared.
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_rt_format::{AccessCode, Record, slot_key};

    /// Memory, and threads of which the first creates the others at once.
    struct World {
        owners: Owners,
        lineage: Lineage,
    }

    fn world(threads: u32) -> World {
        let mut world = World { owners: Owners::default(), lineage: Lineage::new(true) };
        world.owners.begin(0);
        (1..threads).for_each(|thread| world.create(thread));
        world
    }

    impl World {
        fn create(&mut self, thread: u32) {
            self.lineage.take(0, &Record::Create { thread, nth: 0, pc: 0, routine: 0 });
        }

        fn join(&mut self, thread: u32) {
            self.lineage.take(0, &Record::Join { thread, pc: 0 });
        }

        /// As `sift` does it.
        fn access(&mut self, thread: u32, addr: u64, size: usize, write: bool) -> bool {
            let code = AccessCode::of_size(size, write);
            let access = Brief::new(slot_key(1, code), addr);
            let owner = Owner::of(thread, &mut self.lineage);
            !self.owners.gate(owner, &self.lineage).lets_go(access)
                && self.touch(thread, addr, size as u64, write)
        }

        fn touch(&mut self, thread: u32, addr: u64, len: u64, write: bool) -> bool {
            let owner = Owner::of(thread, &mut self.lineage);
            self.owners.touch(&By { owner, lineage: &self.lineage }, addr, len, write)
        }

        fn free(&mut self, thread: u32, addr: u64, len: u64) -> bool {
            let owner = Owner::of(thread, &mut self.lineage);
            self.owners.free(&By { owner, lineage: &self.lineage }, addr, len)
        }

        fn wanted(&mut self) -> Vec<u32> {
            self.owners.wanted().collect()
        }
    }

    #[test]
    fn the_past_of_a_word_that_becomes_shared_is_wanted() {
        let mut o = world(2);
        assert!(!o.access(0, 4096, 4, true));
        o.owners.begin(1);
        assert!(!o.access(0, 4096, 4, false) && !o.access(0, 8192, 8, true));
        o.owners.begin(2);
        assert!(o.access(1, 4100, 4, false));
        assert_eq!(o.wanted(), [0, 1, 2]);
        o.owners.begin(3);
        // Once shared nothing is let go.
        assert!(o.access(0, 4096, 1, true) && o.access(1, 4096, 8, false));
        assert_eq!(o.wanted(), []);
        let shared = o.owners.finish();
        let any = |addr, len| shared.most(addr, len) == Share::Shared;
        assert!(any(4103, 1) && any(0, 1 << 40) && any(4090, 7));
        assert!(!any(4104, 8192) && !any(4090, 6));
    }

    #[test]
    fn what_is_only_read_is_not_shared_until_it_is_written_or_freed() {
        let mut o = world(3);
        for addr in [64, 72] {
            assert!(!o.access(0, addr, 8, false) && !o.access(1, addr, 8, false));
        }
        assert!(o.access(2, 64, 8, true) && o.free(0, 72, 8));
        assert_eq!(o.wanted(), [0, 0]);
    }

    #[test]
    fn memory_that_is_given_out_again_is_nobodys() {
        let mut o = world(2);
        assert!(!o.touch(0, 64, 64, true) && !o.free(0, 64, 64));
        o.owners.given(66, 40);
        // WholeLog words alone: the first and the last may be somebody else's.
        assert!(!o.access(1, 72, 8, true) && !o.access(1, 96, 8, true));
        assert!(o.access(1, 64, 8, true) && o.access(1, 104, 8, true));
        o.owners.given(0, 1 << 40);
        assert!(!o.access(0, 72, 8, true) && o.access(0, 64, 8, true));
    }

    #[test]
    fn words_and_pages_that_an_access_reaches_into_count() {
        let mut o = world(2);
        assert!(!o.access(0, 4092, 8, true));
        assert!(o.access(1, 4088, 4, false) && o.access(1, 4100, 4, false));
        assert!(!o.access(1, 4104, 4, true));
    }

    #[test]
    fn too_many_threads_share_everything() {
        let mut o = world(40_000);
        assert!(o.access(39_999, 64, 8, true) && o.access(39_999, 64, 8, false));
    }

    #[test]
    fn what_create_and_join_order_is_handed_over() {
        for showing in [true, false] {
            let mut o = world(1);
            if !showing {
                o.owners.stop_showing();
            }
            // Written before two threads read it, and again after they were joined.
            assert!(!o.access(0, 64, 8, true) && !o.access(0, 72, 8, true));
            (1..3).for_each(|thread| o.create(thread));
            o.owners.begin(1);
            let shown = o.access(1, 64, 8, false) as u8 + o.access(2, 64, 8, false) as u8;
            // One thread's from its creation to its end.
            let shown = shown + o.access(1, 72, 8, false) as u8 + o.access(1, 72, 8, true) as u8;
            o.join(1);
            let shown = shown + o.access(0, 72, 8, false) as u8 + o.access(0, 64, 8, false) as u8;
            o.join(2);
            let shown = shown + o.access(0, 64, 8, true) as u8;
            let (all, wanted) = if showing { (7, vec![0, 1, 1]) } else { (0, vec![]) };
            assert_eq!((shown, o.owners.shown(), o.wanted()), (all, u64::from(all), wanted));
            // Given out again it is as new.
            o.owners.given(64, 8);
            assert!(!o.access(0, 64, 8, true) && !o.access(0, 64, 8, true));
            let shared = o.owners.finish();
            assert_eq!((shared.most(64, 8), shared.word(72, 8)), (Share::Handed, Share::Handed));
            assert_eq!(shared.word(80, 8), Share::Not);
        }
    }

    #[test]
    fn what_create_and_join_do_not_order_is_shared() {
        // After the creation, by the creator; by a thread that was created before it was written.
        let mut o = world(2);
        o.owners.stop_showing();
        assert!(!o.access(0, 64, 8, true) && o.access(1, 64, 8, false));
        o.create(2);
        assert!(!o.access(0, 72, 8, true));
        o.create(3);
        assert!(!o.access(3, 72, 8, false) && o.access(2, 72, 8, false));
        // Handed over, and yet used by who had it before; read by many, and written by one of them.
        assert!(!o.access(0, 80, 8, true) && !o.access(0, 88, 8, true));
        o.create(4);
        assert!(!o.access(4, 80, 8, true) && o.access(0, 80, 8, false));
        o.create(5);
        assert!(!o.access(4, 88, 8, false) && !o.access(5, 88, 8, false));
        assert!(o.access(4, 88, 8, true) && !o.access(0, 96, 8, true));
        // Read by two, and one of them is not over.
        o.create(6);
        o.create(7);
        assert!(!o.access(6, 96, 8, false) && !o.access(7, 96, 8, false));
        o.join(6);
        assert!(o.access(0, 96, 8, true));
    }
}
