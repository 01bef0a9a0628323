//! Elision: the policy of the runtime, which accesses need no record.
//!
//! A few words get most of the accesses of a long computation. Once the run is long
//! ([`Context::active`]), a word is *elided* when it has been accessed [`THRESHOLD`] times without
//! being shared: further accesses of the same kind leave no record. The first write of each epoch
//! while the word is elided always has a record, so that the reader of the log knows which thread
//! wrote.
//!
//! Elided accesses are a gap in the log. An access that meets them must come after them in every
//! schedule, or the analyses would find schedules that the program does not have:
//! - create and join order it: then the log needs only the content of the word ([`Gap::ordered`]);
//! - nothing orders it: then the log says so ([`Gap`]), and the reader orders it. From then on the
//!   word is shared, and every access has its record.
//!
//! A word with a gap that was closed keeps a flag that there was one.
//!
//! Bugs are where threads meet. After a thread has released something (an unlock, a post, …) it has
//! a *post-release budget* ([`Context::post_release`]): the accesses in it are not elided, and a
//! word that was elided so far is counted anew.

use crate::clock::{Accessor, AtLimit, ForkJoinClock};
pub use crate::epoch::EPOCHS;
use crate::epoch::{ByteSet, Epoch};
use crate::word::{Meeting, WordState};

/// Number of recorded accesses after which a word is elided.
pub const THRESHOLD: u32 = 14;
/// The last epoch that is given out. The one after it is that of [`ElisionWord::SHARED`].
const LAST_EPOCH: u16 = EPOCHS as u16 - 2;

const WRITTEN: u32 = EPOCHS as u32 - 1;
const OWN_GAP: u32 = 1 << 12;
const GAP: u32 = 1 << 13;
const WROTE: u32 = 1 << 14;
const COUNT_SHIFT: u32 = 15;
const COUNT: u32 = 15;
const EPOCH_SHIFT: u32 = 19;
const SEVERAL: u32 = 1 << 31;
/// The count of an elided word.
const ELIDED: u32 = THRESHOLD + 1;

/// Returns the number of bits that a word is shifted right by before it is compared with a pattern.
#[inline(always)]
pub const fn pattern_shift(write: bool) -> u32 {
    if write { COUNT_SHIFT - 1 } else { COUNT_SHIFT }
}

/// Pattern of an elided word that several threads read. A thread elides its read if the last write,
/// which is in the word's lowest bits, is over for it.
pub const SEVERAL_PATTERN: u32 = SEVERAL >> COUNT_SHIFT | ELIDED;

/// State of a word with its elision, packed. The runtime has one for every word of memory.
///
/// | bits | content |
/// |---|---|
/// | 0–11 | epoch of the last write before the state began, 0 if there is none |
/// | 12 | the owner elided accesses before it was counted anew |
/// | 13 | accesses of other threads were elided before the state began |
/// | 14 | the owner wrote in this epoch, and since the word is elided |
/// | 15–18 | number of accesses; at [`THRESHOLD`] + 1 the word is elided |
/// | 19–30 | epoch of the owner; 0 if several threads read the word |
/// | 31 | several threads read the word |
///
/// All bits are 0 in a fresh word, and 1 in a shared one.
///
/// The hooks of the runtime shift a word by [`pattern_shift`] and compare the rest with a pattern:
/// [`ElisionWord::read_pattern`] or [`ElisionWord::write_pattern`] of the thread, or
/// [`SEVERAL_PATTERN`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct ElisionWord(pub u32);

impl ElisionWord {
    /// Not accessed yet.
    pub const FRESH: ElisionWord = ElisionWord(0);
    /// Every access has a record.
    pub const SHARED: ElisionWord = ElisionWord(u32::MAX);

    /// Packs a state, the number of accesses and the gap flags.
    fn pack(state: WordState, count: u32, gaps: u32) -> ElisionWord {
        let bits = match state {
            WordState::Fresh => return ElisionWord::FRESH,
            WordState::Shared => return ElisionWord::SHARED,
            WordState::Owned { epoch, wrote, written } => {
                let wrote = if wrote { WROTE } else { 0 };
                u32::from(epoch.number()) << EPOCH_SHIFT | wrote | u32::from(written.number())
            }
            WordState::ReadBySeveral { written } => SEVERAL | u32::from(written.number()),
        };
        ElisionWord(bits | count << COUNT_SHIFT | gaps)
    }

    /// Returns the state of the word.
    pub fn state(self) -> WordState {
        let written = Epoch::from_number((self.0 & WRITTEN) as u16);
        match self {
            ElisionWord::FRESH => WordState::Fresh,
            ElisionWord::SHARED => WordState::Shared,
            _ if self.0 & SEVERAL != 0 => WordState::ReadBySeveral { written },
            _ => {
                let epoch = Epoch::from_number((self.0 >> EPOCH_SHIFT) as u16);
                WordState::Owned { epoch, wrote: self.0 & WROTE != 0, written }
            }
        }
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.0 >> COUNT_SHIFT & COUNT
    }

    fn gaps(self) -> u32 {
        self.0 & (GAP | OWN_GAP)
    }

    fn is_elided(self) -> bool {
        self.count() == ELIDED
    }

    /// Returns the gap flags of the word when it is transferred.
    fn gaps_when_transferred(self) -> u32 {
        if self.is_elided() || self.gaps() != 0 { GAP } else { 0 }
    }

    /// Returns the pattern of words that a thread in this epoch reads without a record.
    pub fn read_pattern(epoch: Epoch) -> u32 {
        u32::from(epoch.number()) << (EPOCH_SHIFT - COUNT_SHIFT) | ELIDED
    }

    /// Returns the pattern of words that a thread in this epoch writes without a record.
    pub fn write_pattern(epoch: Epoch) -> u32 {
        ElisionWord::read_pattern(epoch) << 1 | 1
    }

    /// Whether an access of a thread with this `read_pattern` needs no record. `known` has the
    /// epochs that are over for the thread ([`ByteSet::as_bytes`]).
    ///
    /// # Safety
    /// `known` is valid.
    #[inline(always)]
    pub unsafe fn elides(self, read_pattern: u32, write: bool, known: *const [u8; EPOCHS]) -> bool {
        let top = self.0 >> pattern_shift(write);
        if write {
            return top == read_pattern << 1 | 1;
        }
        // SAFETY: promised by the caller.
        let known = |epoch: u32| unsafe { (*known)[epoch as usize] != 0 };
        top == read_pattern || (top == SEVERAL_PATTERN && known(self.0 & WRITTEN))
    }

    /// Returns the word after an access that has a record and changes nothing but the number of
    /// accesses; none if the access is not of this kind.
    #[inline(always)]
    pub fn count_access(self, epoch: Epoch, write: bool) -> Option<ElisionWord> {
        let (epoch, wrote) = (u32::from(epoch.number()), if write { WROTE } else { 0 });
        if self == ElisionWord::FRESH && epoch != 0 {
            return Some(ElisionWord(epoch << EPOCH_SHIFT | 1 << COUNT_SHIFT | wrote));
        }
        let few = self.count() < THRESHOLD && self.0 >> EPOCH_SHIFT == epoch && epoch != 0;
        few.then(|| ElisionWord((self.0 + (1 << COUNT_SHIFT)) | wrote))
    }
}

/// A gap in the log that has to be logged before an access: earlier accesses were elided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Whether create and join, or the thread itself, order the elided accesses before the access.
    pub ordered: bool,
    /// The thread that made the elided accesses; none: any thread may have made them.
    pub holder: Option<u32>,
    /// Whether writes may be among the elided accesses.
    pub wrote: bool,
    /// Whether elided accesses may go on until now. If not, they lie before the last elision points
    /// of their threads.
    pub ongoing: bool,
    /// Whether the log does not have the last write, so that the content is a new initial value.
    pub renews: bool,
}

/// Context of an access.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Context {
    /// Whether words may be elided: the run is long.
    pub active: bool,
    /// Whether the thread has post-release budget.
    pub post_release: bool,
}

/// Effect of an access on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The word from now on.
    pub next: ElisionWord,
    /// Whether the access needs no record.
    pub elided: bool,
    /// Whether the access has a record among elided ones: an access that is ordered after those is
    /// ordered after this one too.
    pub among_elided: bool,
    /// The gap that has to be logged before the access.
    pub gap: Option<Gap>,
}

impl Outcome {
    fn recorded(next: ElisionWord) -> Outcome {
        Outcome { next, elided: false, among_elided: false, gap: None }
    }
}

/// The elision policy with its clock.
#[derive(Clone, Debug)]
pub struct Elider {
    /// The clock of the run. Creations and joins are told to it.
    pub clock: ForkJoinClock<ByteSet>,
    threshold: u32,
}

impl Default for Elider {
    fn default() -> Self {
        Elider::with_threshold(THRESHOLD)
    }
}

impl Elider {
    /// Returns a policy that elides words after so many accesses, at most [`THRESHOLD`].
    pub fn with_threshold(threshold: u32) -> Elider {
        let clock = ForkJoinClock::new(LAST_EPOCH, AtLimit::LoseEpoch);
        Elider { clock, threshold: threshold.min(THRESHOLD) }
    }

    /// A thread accesses a word.
    pub fn access(
        &mut self,
        word: ElisionWord,
        thread: u32,
        write: bool,
        context: Context,
    ) -> Outcome {
        let by = self.clock.accessor(thread);
        let before = word.state();
        let (next, meeting) = before.access(by, write, &self.clock);
        match (meeting, before) {
            (Meeting::AlreadyShared, _) => Outcome::recorded(ElisionWord::SHARED),
            (Meeting::SharedNow, _) => self.share(word),
            (_, WordState::ReadBySeveral { .. }) if !write => {
                let (count, elided) = self.count(word, context);
                let next = ElisionWord::pack(next, count, word.gaps());
                Outcome { elided: elided && !context.post_release, ..Outcome::recorded(next) }
            }
            (_, WordState::Owned { epoch, .. }) => {
                let holder = self.clock.thread_of(epoch);
                if holder == thread {
                    return self.access_own(word, next, by, write, context);
                }
                let next = ElisionWord::pack(next, 1, word.gaps_when_transferred());
                Outcome { gap: self.ordered_gap(word, holder), ..Outcome::recorded(next) }
            }
            _ => Outcome::recorded(ElisionWord::pack(next, 1, word.gaps_when_transferred())),
        }
    }

    /// A thread accesses a word that it owns; `next` is the state after the access.
    fn access_own(
        &self,
        word: ElisionWord,
        next: WordState,
        by: Accessor,
        write: bool,
        context: Context,
    ) -> Outcome {
        let before = word.state();
        if word.is_elided() && context.post_release {
            let next = ElisionWord::pack(before.restarted(by, write), 1, word.gaps() | OWN_GAP);
            return Outcome { gap: self.ordered_gap(word, by.thread), ..Outcome::recorded(next) };
        }
        let (count, elided) = self.count(word, context);
        let begins = count == ELIDED && !word.is_elided();
        let next = if begins { before.restarted(by, write) } else { next };
        let has_write_record = !begins
            && matches!(before, WordState::Owned { epoch, wrote: true, .. } if epoch == by.epoch);
        let elided = elided && (!write || has_write_record);
        let next = ElisionWord::pack(next, count, word.gaps());
        let among_elided = next.is_elided() && !elided;
        Outcome { elided, among_elided, ..Outcome::recorded(next) }
    }

    /// Returns the number of accesses to a word after one more, and whether that one is elided.
    fn count(&self, word: ElisionWord, context: Context) -> (u32, bool) {
        match word.count() {
            ELIDED => (ELIDED, true),
            n if n >= self.threshold && context.active && !context.post_release => (ELIDED, true),
            n => ((n + 1).min(THRESHOLD), false),
        }
    }

    /// Whether the thread that owns a word wrote it, in any of its epochs.
    fn owner_wrote(&self, word: ElisionWord) -> bool {
        let WordState::Owned { epoch, .. } = word.state() else { return false };
        let last_write = word.state().last_write();
        !last_write.is_none() && self.clock.thread_of(last_write) == self.clock.thread_of(epoch)
    }

    /// Returns the gap before an access that is ordered after all elided ones. There is none if
    /// these were only reads: the content is not new.
    fn ordered_gap(&self, word: ElisionWord, holder: u32) -> Option<Gap> {
        let renews = word.is_elided() && self.owner_wrote(word);
        let holder = Some(holder);
        renews.then_some(Gap { ordered: true, holder, wrote: true, ongoing: true, renews })
    }

    /// A word becomes shared: from now on every access has a record.
    pub fn share(&self, word: ElisionWord) -> Outcome {
        let (elided, gaps, state) = (word.is_elided(), word.gaps(), word.state());
        if state == WordState::Shared || !(elided || gaps != 0) {
            return Outcome::recorded(ElisionWord::SHARED);
        }
        let holder = match state {
            WordState::Owned { epoch, .. } if gaps & GAP == 0 => Some(self.clock.thread_of(epoch)),
            _ => None,
        };
        let several = matches!(state, WordState::ReadBySeveral { .. });
        let owner_wrote = self.owner_wrote(word);
        let gap = Gap {
            ordered: false,
            holder,
            // Accesses behind a gap flag may have been writes.
            wrote: gaps != 0 || owner_wrote,
            // One of several readers may have elided reads that the count does not show.
            ongoing: elided || several,
            renews: elided && owner_wrote,
        };
        Outcome { gap: Some(gap), ..Outcome::recorded(ElisionWord::SHARED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTIVE: Context = Context { active: true, post_release: false };

    /// Lets a thread access a word so many times. Returns the last outcome.
    fn access_often(
        elider: &mut Elider,
        word: &mut ElisionWord,
        thread: u32,
        write: bool,
        n: u32,
    ) -> Outcome {
        let mut last = Outcome::recorded(*word);
        for _ in 0..n {
            last = elider.access(*word, thread, write, ACTIVE);
            *word = last.next;
        }
        last
    }

    #[test]
    fn word_of_one_thread_is_elided_after_the_threshold() {
        let (mut elider, mut word) = (Elider::default(), ElisionWord::FRESH);
        assert!(!access_often(&mut elider, &mut word, 0, false, THRESHOLD).elided);
        assert!(access_often(&mut elider, &mut word, 0, false, 1).elided);
        // The first write has a record, and so has the first one after a creation.
        let first = access_often(&mut elider, &mut word, 0, true, 1);
        assert!(!first.elided && first.among_elided);
        assert!(access_often(&mut elider, &mut word, 0, true, 1).elided);
        elider.clock.create(0, 1);
        assert!(access_often(&mut elider, &mut word, 0, false, 1).elided);
        assert!(!access_often(&mut elider, &mut word, 0, true, 1).elided);
        // The comparison of the hooks.
        let pattern = ElisionWord::read_pattern(elider.clock.epoch(0));
        let known = elider.clock.known(0).as_bytes();
        // SAFETY: `known` is a reference.
        let elides = |write| unsafe { word.elides(pattern, write, known) };
        assert!(elides(false) && elides(true));
        // A short run has records of everything.
        let mut word = ElisionWord::FRESH;
        for _ in 0..40 {
            let outcome = elider.access(word, 0, true, Context::default());
            assert!(!outcome.elided);
            word = outcome.next;
        }
    }

    #[test]
    fn fast_count_agrees_with_the_policy() {
        let (mut elider, mut fast) = (Elider::default(), ElisionWord::FRESH);
        let (mut slow, epoch) = (ElisionWord::FRESH, elider.clock.epoch(0));
        for i in 0..THRESHOLD {
            let write = i % 3 == 1;
            fast = fast.count_access(epoch, write).expect("few accesses");
            access_often(&mut elider, &mut slow, 0, write, 1);
            assert_eq!(fast, slow);
        }
        assert_eq!(fast.count_access(epoch, false), None);
        assert_eq!(ElisionWord::SHARED.count_access(epoch, true), None);
        assert_eq!(ElisionWord::FRESH.count_access(Epoch::NONE, true), None);
    }

    #[test]
    fn unordered_access_has_a_gap_after_the_holder() {
        let (mut elider, mut word) = (Elider::default(), ElisionWord::FRESH);
        elider.clock.create(0, 1);
        access_often(&mut elider, &mut word, 1, true, THRESHOLD + 3);
        let outcome = elider.access(word, 0, false, ACTIVE);
        let gap = Gap { ordered: false, holder: Some(1), wrote: true, ongoing: true, renews: true };
        assert_eq!((outcome.next, outcome.gap), (ElisionWord::SHARED, Some(gap)));
        // After a join only the content is new. A third thread may have to come after both others.
        elider.clock.create(0, 2);
        elider.clock.join(0, 1);
        let joined = elider.access(word, 0, true, ACTIVE);
        let gap = Gap { ordered: true, ..gap };
        assert_eq!((joined.next.count(), joined.gap), (1, Some(gap)));
        let other = elider.access(joined.next, 2, false, ACTIVE).gap.expect("accesses were elided");
        assert_eq!((other.ordered, other.holder, other.ongoing), (false, None, false));
    }

    #[test]
    fn several_threads_elide_reads_of_an_earlier_write() {
        let (mut elider, mut word) = (Elider::default(), ElisionWord::FRESH);
        access_often(&mut elider, &mut word, 0, true, 1);
        (1..4).for_each(|thread| elider.clock.create(0, thread));
        access_often(&mut elider, &mut word, 1, false, 1);
        access_often(&mut elider, &mut word, 2, false, THRESHOLD + 1);
        assert!((1..4).all(|thread| elider.access(word, thread, false, ACTIVE).elided));
        let gap = elider.access(word, 3, true, ACTIVE).gap.expect("accesses were elided");
        assert_eq!((gap.holder, gap.wrote, gap.renews), (None, false, false));
        // A thread that is alone comes after all reads.
        (1..4).for_each(|thread| elider.clock.join(0, thread));
        let alone = elider.access(word, 0, true, ACTIVE);
        assert!(alone.gap.is_none() && alone.next != ElisionWord::SHARED);
    }

    #[test]
    fn thread_with_post_release_budget_elides_nothing() {
        let (mut elider, mut word) = (Elider::default(), ElisionWord::FRESH);
        access_often(&mut elider, &mut word, 0, true, THRESHOLD + 3);
        let outcome = elider.access(word, 0, false, Context { post_release: true, ..ACTIVE });
        assert!(!outcome.elided && outcome.gap.is_some_and(|gap| gap.ordered && gap.renews));
        assert_eq!(outcome.next.count(), 1);
        // The word keeps the flag that there was a gap.
        elider.clock.create(0, 1);
        let gap = elider.share(outcome.next).gap.expect("accesses were elided");
        assert_eq!((gap.holder, gap.ongoing, gap.renews), (Some(0), false, false));
    }

    #[test]
    fn threads_beyond_the_limit_share_everything() {
        let mut elider = Elider::default();
        (1..5000).for_each(|thread| elider.clock.create(0, thread));
        assert_eq!((elider.clock.epoch(0), elider.clock.epoch(4999)), (Epoch::NONE, Epoch::NONE));
        let outcome = elider.access(ElisionWord::FRESH, 4999, false, ACTIVE);
        assert_eq!(outcome.next, ElisionWord::SHARED);
    }
}
