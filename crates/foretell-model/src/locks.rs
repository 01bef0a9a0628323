//! Critical sections: the locks that each thread holds between two events.
//!
//! A section runs from the outermost acquire to the release that frees the lock. A wait ends the
//! section and the event that leaves the wait starts a new one. Reader-writer locks have shared
//! sections, which exclude only exclusive ones.
//!
//! The sections of a lock in one thread never overlap. A writer that takes the reader side too is
//! in its exclusive section until it gives the writer side back; if it keeps the reader side, that
//! event ends the exclusive section and starts a shared one (lock downgrading).
//!
//! A semaphore with one permit that every thread takes and gives back in turns is a lock as well:
//! a `down` has to wait exactly while another thread is between its `down` and its `post`. Such
//! semaphores have sections like locks, with numbers above those of the trace's locks.

use std::collections::hash_map::Entry;

use foretell_trace::{EventId, EventKind, LockId, SemId, ThreadId, Trace};
use rustc_hash::FxHashMap;

use crate::Chains;

/// Index of a section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectionId(pub u32);

/// One critical section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// The lock.
    pub lock: LockId,
    /// The thread.
    pub thread: ThreadId,
    /// The event that takes the lock, or the one that leaves a writer with the reader side only.
    pub enter: EventId,
    /// The event that frees it; `None` where it is still held at the end of the trace.
    pub exit: Option<EventId>,
    /// Whether this is a reader's section.
    pub shared: bool,
}

const NONE: u32 = u32::MAX;

/// All critical sections of a trace.
#[derive(Debug)]
pub struct Sections {
    sections: Vec<Section>,
    by_lock: Vec<Vec<SectionId>>,
    /// For each lock, each thread that takes it and its sections in order.
    by_lock_and_thread: Vec<Vec<(ThreadId, Vec<SectionId>)>>,
    /// For each lock, each column with a thread that takes it and its sections in order.
    by_lock_and_column: Vec<Vec<(usize, Vec<SectionId>)>>,
    /// Where a lock and a thread, and a lock and a column, are in these lists.
    thread_index: FxHashMap<(LockId, ThreadId), u32>,
    column_index: FxHashMap<(LockId, usize), u32>,
    /// For each event the section that it starts, or `NONE`.
    entered_at: Vec<u32>,
    /// For each event, the number of the set that its thread holds when it is the next event.
    held: Vec<u32>,
    /// By number of a set, where it begins in `held_sections`; it ends where the next one begins.
    held_sets: Vec<u32>,
    held_sections: Vec<SectionId>,
    /// The lock that each semaphore is, if it is one.
    of_semaphore: Vec<Option<LockId>>,
}

/// A lock that a thread holds: its section, and how often it holds each side.
#[derive(Clone, Copy)]
struct Open {
    section: SectionId,
    writer: u32,
    reader: u32,
}

/// Sections that one thread holds while the trace is swept.
#[derive(Clone, Default)]
struct Holding {
    open: Vec<Open>,
    /// Number of the current set.
    set: u32,
    /// Depth to restore after a wait.
    waiting_depth: u32,
}

/// Adds to the list of a key, which is made if there is none; `index` says where it is.
pub(crate) fn push_by_key<E, K, T>(
    lists: &mut Vec<(K, Vec<T>)>,
    index: Entry<'_, E, u32>,
    key: K,
    value: T,
) {
    let i = *index.or_insert_with(|| {
        lists.push((key, Vec::new()));
        lists.len() as u32 - 1
    });
    lists[i as usize].1.push(value);
}

impl Sections {
    /// Finds the sections of a legal trace.
    pub(crate) fn new(trace: &Trace, chains: &Chains) -> Self {
        let of_semaphore = semaphores_as_locks(trace);
        let lock_count = trace.lock_count() + of_semaphore.iter().flatten().count();
        let mut this = Self {
            sections: Vec::new(),
            by_lock: vec![Vec::new(); lock_count],
            by_lock_and_thread: vec![Vec::new(); lock_count],
            by_lock_and_column: vec![Vec::new(); lock_count],
            thread_index: FxHashMap::default(),
            column_index: FxHashMap::default(),
            entered_at: vec![NONE; trace.len()],
            held: Vec::with_capacity(trace.len()),
            held_sets: vec![0, 0],
            held_sections: Vec::new(),
            of_semaphore,
        };
        let mut holdings = vec![Holding::default(); chains.thread_count()];
        for e in trace.ids() {
            foretell_limit::check();
            let thread = trace.thread(e);
            let holding = &mut holdings[thread.index()];
            this.held.push(holding.set);
            if trace.op(e).is_access() {
                continue;
            }
            match trace.event(e).kind {
                EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                    this.enter(chains, holding, thread, lock, e, (1, 0))
                }
                EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                    this.enter(chains, holding, thread, lock, e, (0, 1))
                }
                EventKind::Release { lock } => this.exit(chains, holding, lock, e, (1, 0)),
                EventKind::ReleaseShared { lock } => this.exit(chains, holding, lock, e, (0, 1)),
                EventKind::Wait { lock, .. } => {
                    let open = holding.open.iter().find(|o| this.get(o.section).lock == lock);
                    holding.waiting_depth = open.map_or(1, |o| o.writer);
                    this.exit(chains, holding, lock, e, (holding.waiting_depth, 0));
                }
                EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } => {
                    let depth = holding.waiting_depth;
                    this.enter(chains, holding, thread, lock, e, (depth, 0));
                }
                EventKind::Down { sem } => {
                    if let Some(lock) = this.of_semaphore(sem) {
                        this.enter(chains, holding, thread, lock, e, (1, 0));
                    }
                }
                EventKind::Post { sem } => {
                    if let Some(lock) = this.of_semaphore(sem) {
                        this.exit(chains, holding, lock, e, (1, 0));
                    }
                }
                _ => {}
            }
        }
        this
    }

    fn enter(
        &mut self,
        chains: &Chains,
        holding: &mut Holding,
        thread: ThreadId,
        lock: LockId,
        enter: EventId,
        (writer, reader): (u32, u32),
    ) {
        if let Some(open) = holding.open.iter_mut().find(|o| self.get(o.section).lock == lock) {
            open.writer += writer;
            open.reader += reader;
            return;
        }
        let shared = writer == 0;
        let id = SectionId(self.sections.len() as u32);
        self.sections.push(Section { lock, thread, enter, exit: None, shared });
        self.by_lock[lock.index()].push(id);
        let lists = &mut self.by_lock_and_thread[lock.index()];
        push_by_key(lists, self.thread_index.entry((lock, thread)), thread, id);
        let column = chains.column(thread);
        let lists = &mut self.by_lock_and_column[lock.index()];
        push_by_key(lists, self.column_index.entry((lock, column)), column, id);
        self.entered_at[enter.index()] = id.0;
        holding.open.push(Open { section: id, writer, reader });
        self.new_set(holding);
    }

    /// Gives the writer side, or the reader side, back that many times.
    fn exit(
        &mut self,
        chains: &Chains,
        holding: &mut Holding,
        lock: LockId,
        exit: EventId,
        (writer, reader): (u32, u32),
    ) {
        let Some(i) = holding.open.iter().position(|o| self.get(o.section).lock == lock) else {
            return;
        };
        let open = &mut holding.open[i];
        open.writer = open.writer.saturating_sub(writer);
        open.reader = open.reader.saturating_sub(reader);
        let Open { section, writer, reader } = *open;
        let Section { thread, shared, .. } = *self.get(section);
        if writer > 0 || shared && reader > 0 {
            return;
        }
        self.sections[section.0 as usize].exit = Some(exit);
        holding.open.remove(i);
        if reader > 0 {
            self.enter(chains, holding, thread, lock, exit, (0, reader));
        } else {
            self.new_set(holding);
        }
    }

    fn new_set(&mut self, holding: &mut Holding) {
        if holding.open.is_empty() {
            holding.set = 0;
            return;
        }
        holding.set = self.held_sets.len() as u32 - 1;
        self.held_sections.extend(holding.open.iter().map(|o| o.section));
        self.held_sets.push(self.held_sections.len() as u32);
    }

    /// A section.
    #[inline]
    pub fn get(&self, s: SectionId) -> &Section {
        &self.sections[s.0 as usize]
    }

    /// All sections, in the order they were entered.
    pub fn all(&self) -> &[Section] {
        &self.sections
    }

    /// Number of locks, with the semaphores that are locks.
    pub fn lock_count(&self) -> usize {
        self.by_lock.len()
    }

    /// The lock that a semaphore is, if it is one: one permit, and every thread gives it back
    /// before it takes it again, and never gives back what it did not take.
    #[inline]
    pub fn of_semaphore(&self, s: SemId) -> Option<LockId> {
        self.of_semaphore[s.index()]
    }

    /// The sections of a lock, in the order they were entered.
    #[inline]
    pub fn of_lock(&self, l: LockId) -> &[SectionId] {
        &self.by_lock[l.index()]
    }

    /// The threads that take a lock, each with its sections in order.
    #[inline]
    pub fn of_lock_by_thread(&self, l: LockId) -> &[(ThreadId, Vec<SectionId>)] {
        &self.by_lock_and_thread[l.index()]
    }

    /// The columns of threads that take a lock, each with its sections in order.
    #[inline]
    pub(crate) fn of_lock_by_column(&self, l: LockId) -> &[(usize, Vec<SectionId>)] {
        &self.by_lock_and_column[l.index()]
    }

    /// The section that an event starts, if it starts one: a re-entrant acquire does not, and the
    /// release of a writer that keeps the reader side does.
    #[inline]
    pub fn entered_at(&self, e: EventId) -> Option<SectionId> {
        let section = self.entered_at[e.index()];
        (section != NONE).then_some(SectionId(section))
    }

    /// The sections of a lock that are open in the trace when the event with index `before` is
    /// about to run.
    pub fn open_at(&self, l: LockId, before: u32) -> Vec<SectionId> {
        let threads = self.of_lock_by_thread(l).iter();
        let last = threads.filter_map(|(_, list)| {
            let entered = list.partition_point(|&s| self.get(s).enter.0 < before);
            list[..entered].last().copied()
        });
        last.filter(|&s| self.get(s).exit.is_none_or(|exit| exit.0 >= before)).collect()
    }

    /// Whether the failed try `e` fails while section `s` is open.
    #[inline]
    pub fn makes_fail(&self, trace: &Trace, s: SectionId, e: EventId) -> bool {
        let Some((lock, readers_count)) = trace.event(e).kind.failed_try() else { return false };
        let section = self.get(s);
        section.lock == lock
            && section.thread != trace.thread(e)
            && (!section.shared || readers_count)
    }

    /// Whether `e` cannot run while section `s` is open, because its thread then holds the same
    /// lock.
    pub fn excludes(&self, s: SectionId, e: EventId) -> bool {
        let section = self.get(s);
        self.held_before(e).iter().any(|&other| {
            let other = self.get(other);
            other.lock == section.lock && !(other.shared && section.shared)
        })
    }

    /// The sections that the thread of `e` is inside when `e` is its next event.
    #[inline]
    pub fn held_before(&self, e: EventId) -> &[SectionId] {
        let set = self.held[e.index()] as usize;
        &self.held_sections[self.held_sets[set] as usize..self.held_sets[set + 1] as usize]
    }

    /// A number that is equal for events of a thread between which nothing is taken or freed.
    #[inline]
    pub fn held_set_index(&self, e: EventId) -> u32 {
        self.held[e.index()]
    }
}

/// The locks that semaphores are, numbered after those of the trace.
///
/// Downs and posts of a thread alternate, a down first, so between them the thread holds one permit
/// and otherwise none. The permits that are left are one less for each thread that holds one, in
/// every feasible interleaving: a `down` can run exactly when no thread does.
fn semaphores_as_locks(trace: &Trace) -> Vec<Option<LockId>> {
    if trace.semaphore_count() == 0 {
        return Vec::new();
    }
    let one = |s| trace.initial_count(SemId::from_index(s)) == 1;
    let mut is_lock: Vec<bool> = (0..trace.semaphore_count()).map(one).collect();
    let mut holds: FxHashMap<(ThreadId, SemId), bool> = FxHashMap::default();
    for e in trace.ids() {
        foretell_limit::check();
        let (sem, takes) = match trace.op(e) {
            op if op.is_access() => continue,
            _ => match trace.event(e).kind {
                EventKind::Down { sem } => (sem, true),
                EventKind::Post { sem } => (sem, false),
                _ => continue,
            },
        };
        let held = holds.insert((trace.thread(e), sem), takes).unwrap_or(false);
        is_lock[sem.index()] &= held != takes;
    }
    let mut next = trace.lock_count();
    let lock = |is_lock: bool| {
        is_lock.then(|| {
            next += 1;
            LockId::from_index(next - 1)
        })
    };
    is_lock.into_iter().map(lock).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    /// Sections as (enter, exit, shared).
    fn sections(trace: &Trace) -> (Sections, Vec<(u32, Option<u32>, bool)>) {
        let sections = Sections::new(trace, &Chains::new(trace));
        let plain = |s: &Section| (s.enter.0, s.exit.map(|e| e.0), s.shared);
        let list = sections.all().iter().map(plain).collect();
        (sections, list)
    }

    fn held(sections: &Sections, e: u32) -> Vec<u32> {
        sections.held_before(EventId(e)).iter().map(|s| s.0).collect()
    }

    #[test]
    fn reentrant_acquires_are_one_section() {
        let trace = trace(
            "T1|acq(l)
             T1|acq(l)
             T1|rel(l)
             T1|w(x)
             T1|rel(l)
             T1|w(x)",
        );
        let (sections, list) = sections(&trace);
        assert_eq!(list, [(0, Some(4), false)]);
        assert_eq!(sections.entered_at(EventId(0)), Some(SectionId(0)));
        assert_eq!(sections.entered_at(EventId(1)), None);
        assert_eq!(held(&sections, 0), []);
        assert_eq!(held(&sections, 3), [0]);
        assert_eq!(held(&sections, 4), [0], "what the next event finds, not what it leaves");
        assert_eq!(held(&sections, 5), []);
        assert_eq!(sections.held_set_index(EventId(1)), sections.held_set_index(EventId(4)));
        assert_ne!(sections.held_set_index(EventId(4)), sections.held_set_index(EventId(5)));
    }

    /// A writer that keeps the reader side goes on in a shared section; one that does not was in
    /// its exclusive section all the time.
    #[test]
    fn downgrading_starts_a_shared_section() {
        let trace = trace(
            "T1|acq(l)
             T1|racq(l)
             T1|rel(l)
             T1|w(x)
             T1|rrel(l)
             T1|acq(l)
             T1|racq(l)
             T1|rrel(l)
             T1|acq(l)
             T1|rel(l)
             T1|rel(l)",
        );
        let (sections, list) = sections(&trace);
        assert_eq!(list, [(0, Some(2), false), (2, Some(4), true), (5, Some(10), false)]);
        assert_eq!(held(&sections, 2), [0]);
        assert_eq!(held(&sections, 3), [1]);
        assert_eq!(held(&sections, 8), [2]);
        assert_eq!(sections.entered_at(EventId(1)), None, "the owner is not kept out");
        assert_eq!(sections.entered_at(EventId(2)), Some(SectionId(1)));
        assert_eq!(sections.open_at(LockId(0), 3), [SectionId(1)]);
    }

    /// A wait gives the writer side back, not the reader side.
    #[test]
    fn waiting_keeps_the_reader_side() {
        let trace = trace("T1|acq(l)\nT1|racq(l)\nT1|wait(c,l)");
        assert_eq!(sections(&trace).1, [(0, Some(2), false), (2, None, true)]);
    }

    /// A wait frees the lock whatever its depth, and leaving the wait restores the depth.
    #[test]
    fn waits_split_sections() {
        let trace = trace(
            "T1|acq(l)
             T1|acq(l)
             T1|wait(c,l)
             T2|notify(c)
             T1|woken(c,l)
             T1|rel(l)
             T1|w(x)
             T1|rel(l)",
        );
        let (sections, list) = sections(&trace);
        assert_eq!(list, [(0, Some(2), false), (4, Some(7), false)]);
        assert_eq!(held(&sections, 2), [0]);
        assert_eq!(held(&sections, 4), []);
        assert_eq!(held(&sections, 6), [1]);
    }

    #[test]
    fn nested_shared_and_open_sections() {
        let trace = trace(
            "T1|racq(l)
             T2|racq(l)
             T2|racq(l)
             T1|acq(m)
             T1|rrel(l)
             T2|rrel(l)
             T2|w(x)
             T2|rrel(l)
             T1|w(x)",
        );
        let (sections, list) = sections(&trace);
        assert_eq!(list, [(0, Some(4), true), (1, Some(7), true), (3, None, false)]);
        assert_eq!(held(&sections, 4), [0, 2]);
        assert_eq!(held(&sections, 6), [1], "shared holds nest");
        assert_eq!(held(&sections, 8), [2], "still held at the end");
        let lock = |name| trace.find_lock(name).expect("a lock");
        assert_eq!(sections.of_lock(lock("l")), [SectionId(0), SectionId(1)]);
        let by_thread = sections.of_lock_by_thread(lock("l"));
        assert_eq!(by_thread.len(), 2);
        assert_eq!(by_thread[1], (trace.thread(EventId(1)), vec![SectionId(1)]));
        assert_eq!(sections.of_lock_by_thread(lock("m")).len(), 1);
    }

    /// A semaphore with one permit that is given back before it is taken again is a lock; one with
    /// two permits, one that is given back by another thread and one that is taken twice are none.
    #[test]
    fn semaphores_that_are_locks_have_sections() {
        let text = |count: u32| {
            format!("#! sem s={count}\nT1|down(s)\nT1|w(x)\nT1|post(s)\nT2|down(s)\nT2|w(x)")
        };
        let one = trace(&text(1));
        let (found, list) = sections(&one);
        assert_eq!(list, [(0, Some(2), false), (3, None, false)]);
        assert_eq!((found.lock_count(), held(&found, 1), held(&found, 4)), (1, vec![0], vec![1]));
        for other in [
            text(2),
            "#! sem s=1\nT1|down(s)\nT2|post(s)\nT2|down(s)".to_owned(),
            "#! sem s=1\nT2|post(s)\nT1|down(s)\nT1|down(s)\nT1|post(s)\nT1|post(s)".to_owned(),
        ] {
            let (found, list) = sections(&trace(&other));
            assert_eq!((list.len(), found.lock_count()), (0, 0), "{other}");
        }
    }
}
