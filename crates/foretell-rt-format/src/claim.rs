//! Who uses a word of memory, as the runtime knows it: accesses that need no record.
//!
//! Nearly all accesses of a long computation are to memory that one thread alone uses, or that several only read since it
//! was handed to them, and a few words get most of them. Once the run is long, a word that was used [`MANY`] times in
//! this way is *passed over*: further accesses of this kind leave no record. The first write of each phase ([`Lines`]) always
//! has one, so that the reader knows who wrote.
//!
//! What was passed over is a gap in the log, and whoever uses the word in another way must come after it, or schedules
//! would be found that the program does not have:
//! - create and join say so: then only the content is news ([`Forgets::ordered`]);
//! - nothing does: then the reader has to put it there, for all who use the word from now on.
//!
//! From then on the word is *shared*, and every access has its record. A word whose gap was closed remembers that there was
//! one.
//!
//! Bugs are where threads meet: after a thread has let others go on (an unlock, a post, …) it *watches* for a while, and what it
//! uses then is not passed over: its gap ends there, and accesses have records again, at first.
//!
//! A claim has, from the highest bit down: whether several read; the phase of the thread that used the word last; how
//! often it was used; whether that phase wrote (since it is passed over); whether another thread passed over something before,
//! or this one did; the phase that wrote it last, if it is another.

/// So many accesses have records before a word is passed over.
pub const MANY: u32 = 14;
/// Phases that are told apart.
pub const PHASES: usize = 1 << 12;

const COUNT_SHIFT: u32 = 15;
const PHASE_SHIFT: u32 = 19;
const WROTE: u32 = 1 << 14;
const GAP: u32 = 1 << 13;
const OWN_GAP: u32 = 1 << 12;
const SEVERAL: u32 = 1 << 31;
const PASSED: u32 = MANY + 1;
const PHASE: u32 = PHASES as u32 - 1;

/// How far a claim is shifted before [`Claim::own`] or [`Claim::own_written`] is looked for.
#[inline(always)]
pub const fn shift(write: bool) -> u32 {
    if write { COUNT_SHIFT - 1 } else { COUNT_SHIFT }
}

/// What is found then if all that know the last write, which is the lowest bits of the claim, read it without a record.
pub const ALL: u32 = SEVERAL >> COUNT_SHIFT | PASSED;

/// Who uses a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Claim(pub u32);

impl Claim {
    /// Nobody has used it.
    pub const FRESH: Claim = Claim(0);
    /// Every access has a record.
    pub const SHARED: Claim = Claim(u32::MAX);

    /// Of one thread, in a phase.
    fn one(phase: u32, count: u32, wrote: bool, written: u32) -> Claim {
        let wrote = if wrote { WROTE } else { 0 };
        Claim(phase << PHASE_SHIFT | count << COUNT_SHIFT | wrote | written)
    }

    /// Of all that read it.
    fn all(count: u32, written: u32) -> Claim {
        Claim(SEVERAL | count << COUNT_SHIFT | written)
    }

    /// With these gaps.
    fn with(self, gaps: u32) -> Claim {
        Claim(self.0 | gaps)
    }

    #[inline(always)]
    fn phase(self) -> u32 {
        self.0 >> PHASE_SHIFT & PHASE
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.0 >> COUNT_SHIFT & 15
    }

    #[inline(always)]
    fn wrote(self) -> bool {
        self.0 & WROTE != 0
    }

    /// What was passed over before.
    #[inline(always)]
    fn gaps(self) -> u32 {
        self.0 & (GAP | OWN_GAP)
    }

    #[inline(always)]
    fn several(self) -> bool {
        self.0 & SEVERAL != 0
    }

    /// The phase of the last write before the present claim; 0: nobody's.
    #[inline(always)]
    fn written(self) -> u32 {
        self.0 & PHASE
    }

    /// Whether it is passed over.
    #[inline(always)]
    fn passed(self) -> bool {
        self.count() == PASSED
    }

    /// The last write, by whomever.
    fn last_write(self) -> u32 {
        if self.wrote() { self.phase() } else { self.written() }
    }

    /// What [`Claim::passes`] asks for of a thread in this phase.
    pub fn own(phase: u32) -> u32 {
        phase << 4 | PASSED
    }

    /// The same for writes.
    pub fn own_written(phase: u32) -> u32 {
        Claim::own(phase) << 1 | 1
    }

    /// Whether a thread reads it without a record, or writes it. `known` of the phases are over for it.
    ///
    /// # Safety
    /// `known` is valid.
    #[inline(always)]
    pub unsafe fn passes(self, own: u32, write: bool, known: *const [u8; PHASES]) -> bool {
        let top = self.0 >> shift(write);
        if write {
            return top == own << 1 | 1;
        }
        // SAFETY: promised by the caller.
        top == own || (top == ALL && unsafe { (*known)[(self.0 & PHASE) as usize] != 0 })
    }

    /// The claim after another access that has a record and changes nothing but the number of accesses, if it is one.
    #[inline(always)]
    pub fn again(self, phase: u32, write: bool) -> Option<Claim> {
        if self == Claim::FRESH && phase != 0 {
            let wrote = if write { WROTE } else { 0 };
            return Some(Claim(phase << PHASE_SHIFT | 1 << COUNT_SHIFT | wrote));
        }
        let few = self.count() < MANY && self.0 >> PHASE_SHIFT == phase && phase != 0;
        few.then(|| Claim((self.0 + (1 << COUNT_SHIFT)) | if write { WROTE } else { 0 }))
    }
}

/// Something was passed over and has to be taken into account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forgets {
    /// Create and join, or the thread itself, order it before what comes now.
    pub ordered: bool,
    /// Whose accesses these were; none: those of any thread.
    pub holder: Option<u32>,
    /// Whether there may have been writes among them.
    pub wrote: bool,
    /// Whether they may go on until now: if not, they are behind what their threads have left behind since.
    pub now: bool,
    /// Whether the content is news: nobody knows what was written last.
    pub renews: bool,
}

/// What is known where a thread uses a word.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct When {
    /// Words may be passed over.
    pub active: bool,
    /// The thread watches.
    pub watches: bool,
}

/// What an access does to a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The claim from now on.
    pub next: Claim,
    /// The access needs no record.
    pub passes: bool,
    /// It has one, among others that have none: who comes after them comes after this one too. (So does one that needs
    /// none, and has one because of other words.)
    pub between: bool,
    /// To be said before it.
    pub forgets: Option<Forgets>,
}

impl Outcome {
    fn recorded(next: Claim) -> Outcome {
        Outcome { next, passes: false, between: false, forgets: None }
    }
}

/// What one thread knows.
#[derive(Clone, Debug)]
struct Line {
    phase: u32,
    /// Phases that are over for it, and its own; 0, nobody's, among them.
    known: Box<[u8; PHASES]>,
}

/// The threads, cut into phases where they create others: what is over for whom in every run, by create and join alone. The
/// reader has the same of its own, for more threads and with regard to blocks: it decides what belongs to the trace.
#[derive(Clone, Debug)]
pub struct Lines {
    /// So many accesses have records before a word is passed over.
    many: u32,
    lines: Vec<Option<Line>>,
    /// The thread of each phase; the first is nobody's.
    threads: Vec<u32>,
}

impl Default for Lines {
    fn default() -> Self {
        Lines::passing_after(MANY)
    }
}

impl Lines {
    /// A word is passed over after so many accesses, at most [`MANY`].
    pub fn passing_after(many: u32) -> Lines {
        Lines { many: many.min(MANY), lines: Vec::new(), threads: vec![u32::MAX] }
    }

    fn next_phase(&mut self, thread: u32) -> u32 {
        let next = self.threads.len();
        // The last number is that of shared words.
        if next + 1 >= PHASES {
            return 0;
        }
        self.threads.push(thread);
        next as u32
    }

    fn line(&mut self, thread: u32) -> &mut Line {
        let at = thread as usize;
        if self.lines.len() <= at {
            self.lines.resize_with(at + 1, || None);
        }
        if self.lines[at].is_none() {
            let phase = self.next_phase(thread);
            let mut known = Box::new([0; PHASES]);
            known[0] = 1;
            known[phase as usize] = 1;
            self.lines[at] = Some(Line { phase, known });
        }
        self.lines[at].get_or_insert_with(|| unreachable!())
    }

    /// The phase that a thread is in; 0 if it is not told apart from others.
    pub fn phase(&mut self, thread: u32) -> u32 {
        self.line(thread).phase
    }

    /// Which phases are over for a thread. Where it is does not change.
    pub fn known(&mut self, thread: u32) -> &[u8; PHASES] {
        &self.line(thread).known
    }

    /// Whether all that another thread has done is over for a thread.
    pub fn knows_all_of(&mut self, thread: u32, other: u32) -> bool {
        let phase = self.line(other).phase;
        phase != 0 && self.line(thread).known[phase as usize] != 0
    }

    fn alone(&mut self, thread: u32) -> bool {
        let phases = self.threads.len();
        phases + 1 < PHASES && self.line(thread).known[..phases].iter().all(|&known| known != 0)
    }

    /// A thread creates another.
    pub fn create(&mut self, parent: u32, child: u32) {
        let mut known = self.line(parent).known.clone();
        let next = self.next_phase(parent);
        let line = self.line(parent);
        if next == 0 {
            // The phase that it is in is not over.
            known[line.phase as usize] = 0;
            known[0] = 1;
        }
        line.phase = next;
        line.known[next as usize] = 1;
        self.learn(child, &known);
    }

    /// A thread has joined another.
    pub fn join(&mut self, thread: u32, ended: u32) {
        let known = self.line(ended).known.clone();
        self.learn(thread, &known);
    }

    fn learn(&mut self, thread: u32, known: &[u8; PHASES]) {
        self.line(thread).known.iter_mut().zip(known).for_each(|(mine, other)| *mine |= other);
    }

    /// A thread uses a word.
    pub fn touch(&mut self, claim: Claim, thread: u32, write: bool, when: When) -> Outcome {
        let phase = self.phase(thread);
        if claim == Claim::SHARED {
            return Outcome::recorded(claim);
        }
        if phase == 0 {
            return self.share(claim);
        }
        if claim == Claim::FRESH {
            return Outcome::recorded(Claim::one(phase, 1, write, 0));
        }
        if claim.several() {
            return self.touch_several(claim, thread, write, when);
        }
        let (before, last_write) = (claim.phase(), claim.last_write());
        let holder = self.threads[before as usize];
        if holder == thread {
            return self.touch_own(claim, thread, write, when);
        }
        let known = &self.line(thread).known;
        let ordered = known[if write { before } else { last_write } as usize] != 0;
        if !ordered {
            return self.share(claim);
        }
        let next = if write {
            Claim::one(phase, 1, true, 0)
        } else if claim.wrote() || claim.written() == before {
            Claim::one(phase, 1, false, last_write)
        } else {
            Claim::all(1, last_write)
        };
        let gap = claim.passed() || claim.gaps() != 0;
        let next = next.with(if gap { GAP } else { 0 });
        Outcome { forgets: self.news(claim, holder), ..Outcome::recorded(next) }
    }

    /// What is news to somebody who comes after all that was passed over. Without writes the content is none.
    fn news(&self, claim: Claim, holder: u32) -> Option<Forgets> {
        let news = claim.passed() && self.holder_wrote(claim);
        let holder = Some(holder);
        news.then_some(Forgets { ordered: true, holder, wrote: true, now: true, renews: true })
    }

    fn touch_several(&mut self, claim: Claim, thread: u32, write: bool, when: When) -> Outcome {
        if write {
            if !self.alone(thread) {
                return self.share(claim);
            }
            let gap = claim.passed() || claim.gaps() != 0;
            let next = Claim::one(self.phase(thread), 1, true, 0);
            return Outcome::recorded(next.with(if gap { GAP } else { 0 }));
        }
        if self.line(thread).known[claim.written() as usize] == 0 {
            return self.share(claim);
        }
        let (count, passes) = self.counted(claim.count(), when);
        let next = Claim::all(count, claim.written()).with(claim.gaps());
        Outcome { passes: passes && !when.watches, ..Outcome::recorded(next) }
    }

    /// A thread uses a word that is its own.
    fn touch_own(&mut self, claim: Claim, thread: u32, write: bool, when: When) -> Outcome {
        let phase = self.phase(thread);
        if claim.passed() && when.watches {
            let next = Claim::one(phase, 1, write, claim.last_write()).with(claim.gaps() | OWN_GAP);
            return Outcome { forgets: self.news(claim, thread), ..Outcome::recorded(next) };
        }
        let (count, passes) = self.counted(claim.count(), when);
        // What was written in another phase, or before the word was passed over, is not of this claim.
        let anew = claim.phase() != phase || (count == PASSED && !claim.passed());
        let wrote = claim.wrote() && !anew;
        let written = if anew { claim.last_write() } else { claim.written() };
        let next = Claim::one(phase, count, wrote || write, written).with(claim.gaps());
        let passes = passes && (!write || wrote);
        Outcome { passes, between: next.passed() && !passes, ..Outcome::recorded(next) }
    }

    /// How often a word was used, after another access, and whether that is passed over.
    fn counted(&self, count: u32, when: When) -> (u32, bool) {
        match count {
            PASSED => (PASSED, true),
            _ if count >= self.many && when.active && !when.watches => (PASSED, true),
            _ => ((count + 1).min(MANY), false),
        }
    }

    /// Whether the thread that has the claim wrote, in whatever phase.
    fn holder_wrote(&self, claim: Claim) -> bool {
        let thread = |phase: u32| self.threads[phase as usize];
        claim.wrote() || (claim.written() != 0 && thread(claim.written()) == thread(claim.phase()))
    }

    /// A word is used as no other memory is: from now on every access has a record.
    pub fn share(&mut self, claim: Claim) -> Outcome {
        let (passed, gaps, several) = (claim.passed(), claim.gaps(), claim.several());
        if claim == Claim::SHARED || !(passed || gaps != 0) {
            return Outcome::recorded(Claim::SHARED);
        }
        let one = gaps & GAP == 0 && !several;
        let holder = one.then(|| self.threads[claim.phase() as usize]);
        // What was passed over earlier may have been writes. One that several read was perhaps passed over by one of them alone.
        let wrote = gaps != 0 || self.holder_wrote(claim);
        let (now, renews) = (passed || several, passed && !several && self.holder_wrote(claim));
        let forgets = Some(Forgets { ordered: false, holder, wrote, now, renews });
        Outcome { forgets, ..Outcome::recorded(Claim::SHARED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: When = When { active: true, watches: false };

    /// Lets a thread use a word so many times; the last outcome.
    fn use_often(
        lines: &mut Lines,
        claim: &mut Claim,
        thread: u32,
        write: bool,
        n: u32,
    ) -> Outcome {
        let mut last = Outcome::recorded(*claim);
        for _ in 0..n {
            last = lines.touch(*claim, thread, write, NOW);
            *claim = last.next;
        }
        last
    }

    #[test]
    fn a_word_of_one_thread_is_passed_over_when_it_was_used_often() {
        let (mut lines, mut claim) = (Lines::default(), Claim::FRESH);
        assert!(!use_often(&mut lines, &mut claim, 0, false, MANY).passes);
        assert!(use_often(&mut lines, &mut claim, 0, false, 1).passes);
        // The first write has a record, and so has the first one after a thread was created.
        let first = use_often(&mut lines, &mut claim, 0, true, 1);
        assert!(!first.passes && first.between);
        assert!(use_often(&mut lines, &mut claim, 0, true, 1).passes);
        lines.create(0, 1);
        assert!(use_often(&mut lines, &mut claim, 0, false, 1).passes);
        assert!(!use_often(&mut lines, &mut claim, 0, true, 1).passes);
        // As the hooks see it.
        let (own, known) = (Claim::own(lines.phase(0)), lines.known(0));
        // SAFETY: it is what the lines have.
        let passes = |write| unsafe { claim.passes(own, write, known) };
        assert!(passes(false) && passes(true));
        // A short run has records of everything.
        let mut claim = Claim::FRESH;
        for _ in 0..40 {
            let outcome = lines.touch(claim, 0, true, When::default());
            assert!(!outcome.passes);
            claim = outcome.next;
        }
    }

    #[test]
    fn the_quick_way_counts_as_the_long_one_does() {
        let (mut lines, mut quick) = (Lines::default(), Claim::FRESH);
        let (mut long, phase) = (Claim::FRESH, lines.phase(0));
        for i in 0..MANY {
            let write = i % 3 == 1;
            quick = quick.again(phase, write).expect("few accesses");
            use_often(&mut lines, &mut long, 0, write, 1);
            assert_eq!(quick, long);
        }
        assert_eq!(quick.again(phase, false), None);
        assert_eq!((Claim::SHARED.again(phase, true), Claim::FRESH.again(0, true)), (None, None));
    }

    #[test]
    fn who_is_not_ordered_has_to_be_put_after_the_holder() {
        let (mut lines, mut claim) = (Lines::default(), Claim::FRESH);
        lines.create(0, 1);
        use_often(&mut lines, &mut claim, 1, true, MANY + 3);
        let outcome = lines.touch(claim, 0, false, NOW);
        let forgets =
            Forgets { ordered: false, holder: Some(1), wrote: true, now: true, renews: true };
        assert_eq!((outcome.next, outcome.forgets), (Claim::SHARED, Some(forgets)));
        // After a join only the content is news; another thread may have to come after more than one.
        lines.create(0, 2);
        lines.join(0, 1);
        let joined = lines.touch(claim, 0, true, NOW);
        let forgets = Forgets { ordered: true, ..forgets };
        assert_eq!((joined.next.count(), joined.forgets), (1, Some(forgets)));
        let other = lines.touch(joined.next, 2, false, NOW).forgets.expect("something is missing");
        assert_eq!((other.ordered, other.holder, other.now), (false, None, false));
    }

    #[test]
    fn many_read_what_was_written_before_all_of_them() {
        let (mut lines, mut claim) = (Lines::default(), Claim::FRESH);
        use_often(&mut lines, &mut claim, 0, true, 1);
        (1..4).for_each(|thread| lines.create(0, thread));
        use_often(&mut lines, &mut claim, 1, false, 1);
        use_often(&mut lines, &mut claim, 2, false, MANY + 1);
        assert!((1..4).all(|thread| lines.touch(claim, thread, false, NOW).passes));
        let forgets = lines.touch(claim, 3, true, NOW).forgets.expect("something is missing");
        assert_eq!((forgets.holder, forgets.wrote, forgets.renews), (None, false, false));
        // Whoever is alone comes after all.
        (1..4).for_each(|thread| lines.join(0, thread));
        let alone = lines.touch(claim, 0, true, NOW);
        assert!(alone.forgets.is_none() && alone.next != Claim::SHARED);
    }

    #[test]
    fn who_watches_passes_over_nothing() {
        let (mut lines, mut claim) = (Lines::default(), Claim::FRESH);
        use_often(&mut lines, &mut claim, 0, true, MANY + 3);
        let outcome = lines.touch(claim, 0, false, When { watches: true, ..NOW });
        assert!(!outcome.passes && outcome.forgets.is_some_and(|f| f.ordered && f.renews));
        assert_eq!(outcome.next.count(), 1);
        // What was passed over before that is not forgotten.
        lines.create(0, 1);
        let shared = lines.share(outcome.next).forgets.expect("something is missing");
        assert_eq!((shared.holder, shared.now, shared.renews), (Some(0), false, false));
    }

    #[test]
    fn threads_without_number_share_everything() {
        let mut lines = Lines::default();
        (1..5000).for_each(|thread| lines.create(0, thread));
        assert_eq!((lines.phase(0), lines.phase(4999)), (0, 0));
        assert_eq!(lines.touch(Claim::FRESH, 4999, false, NOW).next, Claim::SHARED);
    }
}
