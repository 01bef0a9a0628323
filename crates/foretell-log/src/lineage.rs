//! What create and join alone say of the order of a run.
//!
//! The life of a thread is cut into *phases* where it creates another thread. A thread knows the phases that are over before
//! it does anything more, in every run: those that its creator knew or had behind it when it created the thread, and all of a thread that was
//! joined, with what that one knew. This is the vector clock of happens-before detectors, with fork and join as the only edges
//! and phases as the only ticks; it is asked for far more often than it changes, so it is a set. (The runtime knows the same, but
//! for blocks, of as many phases as a claim has bits for: [`foretell_rt_format::claim`].)
//!
//! A create or join inside an atomic block would order the first half of the block before another thread, or its second
//! half after it, and such a block is worth a finding. So what happens inside a lock scope or between markers counts only
//! when that is over: if one of two accesses knows of the other here, their whole blocks are ordered.

use foretell_rt_format::{Record, SyncKind};

/// A phase; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Phase(pub(crate) u16);

impl Phase {
    /// No phase at all.
    pub(crate) const NONE: Phase = Phase(0);
    /// The last one that is told apart. Threads that come later are all in [`Phase::OTHER`].
    const LAST: Phase = Phase(0x7ff0);
    /// A phase of a thread that is not told apart from others.
    pub(crate) const OTHER: Phase = Phase(0x7ff1);
}

/// A set of phases.
#[derive(Clone, Default, Debug)]
pub(crate) struct Phases(Vec<u64>);

impl Phases {
    #[inline(always)]
    pub(crate) fn contains(&self, phase: Phase) -> bool {
        let word = self.0.get(usize::from(phase.0 / 64)).copied().unwrap_or(0);
        word >> (phase.0 % 64) & 1 != 0
    }

    fn insert(&mut self, phase: Phase) {
        let at = usize::from(phase.0 / 64);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (phase.0 % 64);
    }

    fn remove(&mut self, phase: Phase) {
        if let Some(word) = self.0.get_mut(usize::from(phase.0 / 64)) {
            *word &= !(1 << (phase.0 % 64));
        }
    }

    fn extend(&mut self, other: &Phases) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// What a thread knows.
#[derive(Clone, Default, Debug)]
struct Line {
    phase: Phase,
    /// Its own phases among them.
    known: Phases,
    /// Lock scopes and markers that it is in.
    depth: u32,
    /// Threads that it has joined in there.
    joined: Vec<u32>,
}

/// The threads of a run.
pub(crate) struct Lineage {
    /// By thread; one that is not known yet is in no phase.
    lines: Vec<Line>,
    /// The thread of each phase.
    threads: Vec<u32>,
    /// If not, no thread knows of another.
    follows: bool,
}

impl Lineage {
    /// `follows`: create and join count.
    pub(crate) fn new(follows: bool) -> Lineage {
        Lineage { lines: Vec::new(), threads: vec![u32::MAX], follows }
    }

    fn line(&mut self, thread: u32) -> &mut Line {
        let at = thread as usize;
        if self.lines.len() <= at {
            self.lines.resize_with(at + 1, Line::default);
        }
        if self.lines[at].phase == Phase::NONE {
            let phase = self.next_phase(thread);
            let line = &mut self.lines[at];
            line.phase = phase;
            line.known.insert(phase);
        }
        &mut self.lines[at]
    }

    fn next_phase(&mut self, thread: u32) -> Phase {
        match u16::try_from(self.threads.len()) {
            Ok(next) if next <= Phase::LAST.0 => {
                self.threads.push(thread);
                Phase(next)
            }
            _ => Phase::OTHER,
        }
    }

    /// The phase that a thread is in.
    pub(crate) fn phase(&mut self, thread: u32) -> Phase {
        self.line(thread).phase
    }

    /// The phases that are over for a thread, or its own.
    pub(crate) fn known(&self, thread: u32) -> &Phases {
        static NONE: Phases = Phases(Vec::new());
        self.lines.get(thread as usize).map_or(&NONE, |line| &line.known)
    }

    /// Whose phase that is.
    pub(crate) fn thread(&self, phase: Phase) -> u32 {
        self.threads.get(usize::from(phase.0)).copied().unwrap_or(u32::MAX)
    }

    /// Whether everything that any thread has done is over for this one.
    pub(crate) fn alone(&self, thread: u32) -> bool {
        let all = self.threads.len() - 1;
        all < usize::from(Phase::LAST.0) && self.known(thread).len() == all
    }

    /// A record of a thread.
    pub(crate) fn take(&mut self, thread: u32, record: &Record<'_>) {
        if !self.follows {
            return;
        }
        match *record {
            Record::Create { thread: child, .. } => self.create(thread, child),
            Record::Join { thread: ended, .. } => {
                self.line(thread).joined.push(ended);
                self.settle(thread);
            }
            Record::MarkBegin { .. }
            | Record::Sync { kind: SyncKind::Lock | SyncKind::ReadLock, .. } => {
                self.line(thread).depth += 1;
            }
            Record::MarkEnd { .. }
            | Record::Sync { kind: SyncKind::Unlock | SyncKind::ReadUnlock, .. } => {
                let line = self.line(thread);
                line.depth = line.depth.saturating_sub(1);
                self.settle(thread);
            }
            _ => {}
        }
    }

    fn create(&mut self, parent: u32, child: u32) {
        let line = self.line(parent);
        let (mut known, phase, inside) = (line.known.clone(), line.phase, line.depth > 0);
        let next = if inside { Phase::OTHER } else { self.next_phase(parent) };
        if next == Phase::OTHER {
            // The parent stays in its phase, which is not over.
            known.remove(phase);
        } else {
            let line = self.line(parent);
            line.phase = next;
            line.known.insert(next);
        }
        let line = self.line(child);
        line.known.extend(&known);
    }

    /// What a thread has joined counts, unless it is in a block.
    fn settle(&mut self, thread: u32) {
        let line = self.line(thread);
        if line.depth > 0 {
            return;
        }
        for ended in std::mem::take(&mut line.joined) {
            let known = self.line(ended).known.clone();
            self.line(thread).known.extend(&known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(thread: u32) -> Record<'static> {
        Record::Create { thread, nth: 0, pc: 0, routine: 0 }
    }

    fn join(thread: u32) -> Record<'static> {
        Record::Join { thread, pc: 0 }
    }

    fn sync(kind: SyncKind) -> Record<'static> {
        Record::Sync { kind, pc: 0, object: 1, other: 0 }
    }

    #[test]
    fn a_thread_knows_what_was_before_its_creation_and_what_it_joined() {
        let mut l = Lineage::new(true);
        let before = l.phase(0);
        l.take(0, &create(1));
        let (between, first) = (l.phase(0), l.phase(1));
        l.take(0, &create(2));
        let second = l.phase(2);
        assert!(l.known(1).contains(before) && !l.known(1).contains(between));
        assert!(l.known(2).contains(between) && !l.known(2).contains(first));
        assert!(!l.known(0).contains(first) && !l.alone(0));
        l.take(0, &join(1));
        assert!(l.known(0).contains(first) && !l.known(2).contains(first) && !l.alone(0));
        l.take(0, &join(2));
        assert!(l.known(0).contains(second) && l.alone(0) && !l.alone(2));
        assert_eq!((l.thread(between), l.thread(second)), (0, 2));
        l.take(0, &create(3));
        assert!(l.known(3).contains(second) && !l.alone(3));
    }

    #[test]
    fn what_happens_in_a_block_counts_when_it_is_over() {
        let mut l = Lineage::new(true);
        let before = l.phase(0);
        l.take(0, &sync(SyncKind::Lock));
        l.take(0, &create(1));
        assert!(!l.known(1).contains(before) && l.phase(0) == before);
        l.take(0, &join(1));
        let child = l.phase(1);
        assert!(!l.known(0).contains(child));
        l.take(0, &sync(SyncKind::Unlock));
        assert!(l.known(0).contains(child));
    }

    #[test]
    fn threads_without_number_are_not_told_apart() {
        let mut l = Lineage::new(true);
        (1..40_000).for_each(|thread| l.take(0, &create(thread)));
        assert_eq!((l.phase(39_999), l.phase(39_998)), (Phase::OTHER, Phase::OTHER));
        assert!(!l.alone(0));
    }
}
