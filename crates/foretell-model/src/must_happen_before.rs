//! Must-happen-before: what has run in every feasible interleaving before a given event runs.
//!
//! The vectors of the trace-segmentation paper (section II.B), with two departures. They are closed
//! under locks (semantics section 5): when a section of a lock is open and another section of
//! it has been entered, that one has been left. And they hold for interleavings that end anywhere,
//! so a read at the very end of its thread asks for nothing: only what comes after it does. A use of
//! hidden state asks for the write before it already to run: it would be broken without, and no
//! interleaving needs a broken one. So the uses of one state are a chain across all threads.
//!
//! A *frontier* says how many events of each thread have run. For an event there are two of them:
//! [`MustHappenBefore::before`], when the event is the next one of its thread, and
//! [`MustHappenBefore::to_run`], what the event itself needs to run (a join needs the thread it
//! joins, an acquire needs earlier sections to be over).
//!
//! This is a lower bound: notifications, semaphores, barriers and failed try-locks put nothing in,
//! and a read with several possible writers only what all of them need. Engines decide the rest.

use std::ops::Range;

use foretell_trace::{EventId, EventKind, LockId, ThreadId, Trace};
use rustc_hash::FxHashMap;

use crate::reads_from::uses_hidden_state;
use crate::{Chains, ReadsFrom, Sections};

/// Number of events of each thread that have run, by thread index.
pub type Frontier = Vec<u32>;

/// The must-happen-before order of a trace.
#[derive(Debug)]
pub struct MustHappenBefore {
    threads: usize,
    timelines: Vec<Timeline>,
}

/// The frontiers of one thread, stored only where they change.
#[derive(Debug, Default)]
struct Timeline {
    /// Twice the position, plus one for "to run"; ascending.
    times: Vec<u32>,
    /// One row of `threads` counts for each time. The thread's own count is left out of account.
    rows: Vec<u32>,
}

/// More possible writers than this, and a read is taken to need nothing of any of them.
const MOST_WRITERS_COMPARED: usize = 8;

impl MustHappenBefore {
    /// Computes the order in one sweep over the trace.
    pub(crate) fn new(
        trace: &Trace,
        chains: &Chains,
        reads_from: &ReadsFrom,
        locks: &Sections,
    ) -> Self {
        let threads = chains.thread_count();
        let order = Self {
            threads,
            timelines: (0..threads)
                .map(|_| Timeline { times: vec![0], rows: vec![0; threads] })
                .collect(),
        };
        let mut sweep = Sweep {
            trace,
            chains,
            reads_from,
            locks,
            writers_of_value: writers_of_value(trace, reads_from),
            entered: (0..trace.lock_count())
                .map(|l| vec![0; locks.of_lock_by_thread(LockId::from_index(l)).len()])
                .collect(),
            order,
        };
        for e in trace.ids() {
            sweep.step(e);
        }
        sweep.order
    }

    /// Returns the events that have run when `e` is the next event of its thread (which has started
    /// and is not cut). The count of the event's own thread is the event's position.
    pub fn before(&self, chains: &Chains, trace: &Trace, e: EventId) -> Frontier {
        self.frontier(trace.thread(e), 2 * chains.position(e), chains.position(e))
    }

    /// Returns the events that have run when `e` runs, `e` left out.
    pub fn to_run(&self, chains: &Chains, trace: &Trace, e: EventId) -> Frontier {
        self.frontier(trace.thread(e), 2 * chains.position(e) + 1, chains.position(e))
    }

    /// Returns the events that have run when `e` has run and its thread goes on, `e` included.
    pub fn after(&self, chains: &Chains, trace: &Trace, e: EventId) -> Frontier {
        self.frontier(trace.thread(e), 2 * (chains.position(e) + 1), chains.position(e) + 1)
    }

    /// Adds what has run when the first `count` events of `thread` have run and the thread goes on.
    pub fn include(&self, frontier: &mut [u32], thread: ThreadId, count: u32) -> bool {
        let mut grew = max_into(frontier, self.row(thread, 2 * count), thread.index());
        if frontier[thread.index()] < count {
            frontier[thread.index()] = count;
            grew = true;
        }
        grew
    }

    /// Adds what event number `position` of `thread` needs to run, itself included, whether or
    /// not the thread goes on after it.
    pub fn include_run(&self, frontier: &mut [u32], thread: ThreadId, position: u32) -> bool {
        let mut grew = max_into(frontier, self.row(thread, 2 * position + 1), thread.index());
        if frontier[thread.index()] <= position {
            frontier[thread.index()] = position + 1;
            grew = true;
        }
        grew
    }

    /// Whether `a` has run in every feasible interleaving in which `b` is next in its thread.
    pub fn run_before_next(&self, chains: &Chains, trace: &Trace, a: EventId, b: EventId) -> bool {
        self.ordered(chains, trace, a, b, 2 * chains.position(b))
    }

    /// Whether `a` runs before `b` in every feasible interleaving that has `b`.
    pub fn ordered_before(&self, chains: &Chains, trace: &Trace, a: EventId, b: EventId) -> bool {
        self.ordered(chains, trace, a, b, 2 * chains.position(b) + 1)
    }

    /// Returns the number of events of `thread` that have run whenever `e` runs.
    pub fn needs(&self, chains: &Chains, trace: &Trace, e: EventId, thread: ThreadId) -> u32 {
        if trace.thread(e) == thread {
            return chains.position(e);
        }
        self.row(trace.thread(e), 2 * chains.position(e) + 1)[thread.index()]
    }

    /// The place in `thread` of its first event that never runs before `e` does: of `e` itself in
    /// its own thread. `None` if there is no such event, as far as this order knows.
    pub fn first_after(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        thread: ThreadId,
    ) -> Option<u32> {
        if trace.thread(e) == thread {
            return Some(chains.position(e));
        }
        self.first_time_after(chains, trace, e, thread).map(|time| time / 2)
    }

    /// Returns the positions in another thread of the events that can be next in it while `e` is
    /// next in its own, as far as this order knows.
    pub fn next_together(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        thread: ThreadId,
    ) -> Range<u32> {
        let from = self.row(trace.thread(e), 2 * chains.position(e))[thread.index()];
        let to = self.first_time_after(chains, trace, e, thread);
        from..to.map_or(u32::MAX, |time| time.div_ceil(2))
    }

    /// Returns the first time of another thread by which `e` has run.
    fn first_time_after(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        thread: ThreadId,
    ) -> Option<u32> {
        let (own, position) = (trace.thread(e), chains.position(e));
        let timeline = &self.timelines[thread.index()];
        let row = |i: usize| &timeline.rows[i * self.threads..(i + 1) * self.threads];
        let (mut low, mut high) = (0, timeline.times.len());
        while low < high {
            let middle = (low + high) / 2;
            if row(middle)[own.index()] > position {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        timeline.times.get(low).copied()
    }

    fn ordered(&self, chains: &Chains, trace: &Trace, a: EventId, b: EventId, time: u32) -> bool {
        let (s, t) = (trace.thread(a), trace.thread(b));
        if s == t {
            return chains.position(a) < chains.position(b);
        }
        self.row(t, time)[s.index()] > chains.position(a)
    }

    fn frontier(&self, thread: ThreadId, time: u32, own: u32) -> Frontier {
        let mut frontier = self.row(thread, time).to_vec();
        frontier[thread.index()] = own;
        frontier
    }

    /// The latest row of a thread that is not after `time`.
    fn row(&self, thread: ThreadId, time: u32) -> &[u32] {
        let timeline = &self.timelines[thread.index()];
        // While the trace is swept, it is mostly one of the last.
        let i = partition_near(&timeline.times, timeline.times.len(), |&t| t <= time) - 1;
        &timeline.rows[i * self.threads..(i + 1) * self.threads]
    }
}

/// `list.partition_point(before)`, fast if it is near `guess`.
fn partition_near<T>(list: &[T], guess: usize, before: impl Fn(&T) -> bool) -> usize {
    let guess = guess.min(list.len());
    let (mut low, mut high, mut step) = (guess, guess, 1);
    while low > 0 && !before(&list[low - 1]) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    step = 1;
    while high < list.len() && before(&list[high]) {
        low = high + 1;
        high = (high + step).min(list.len());
        step *= 2;
    }
    low + list[low..high].partition_point(before)
}

/// Raises every count of `frontier` but that of thread `skip` to that of `row`.
fn max_into(frontier: &mut [u32], row: &[u32], skip: usize) -> bool {
    let mut grew = false;
    for (i, (mine, &theirs)) in frontier.iter_mut().zip(row).enumerate() {
        if *mine < theirs && i != skip {
            *mine = theirs;
            grew = true;
        }
    }
    grew
}

/// The writes of each variable by value, only as many as are ever looked at.
type WritersOfValue = FxHashMap<(u32, u32), Vec<EventId>>;

fn writers_of_value(trace: &Trace, reads_from: &ReadsFrom) -> WritersOfValue {
    let mut map = WritersOfValue::default();
    for x in 0..trace.variable_count() {
        for &w in reads_from.writes(foretell_trace::VarId::from_index(x)) {
            if let Some(value) = trace.written_value(w) {
                let list = map.entry((x as u32, value.0)).or_default();
                if list.len() <= MOST_WRITERS_COMPARED {
                    list.push(w);
                }
            }
        }
    }
    map
}

struct Sweep<'a> {
    trace: &'a Trace,
    chains: &'a Chains,
    reads_from: &'a ReadsFrom,
    locks: &'a Sections,
    writers_of_value: WritersOfValue,
    /// For each lock and each thread that takes it: how many of its sections were found to be
    /// entered the last time. It is about the same the next time.
    entered: Vec<Vec<usize>>,
    order: MustHappenBefore,
}

impl Sweep<'_> {
    fn step(&mut self, e: EventId) {
        let (trace, chains) = (self.trace, self.chains);
        let op = trace.op(e);
        if op.is_access() {
            if op.reads() {
                if uses_hidden_state(trace, e) {
                    self.hidden_use(e);
                } else {
                    self.read(e);
                }
            }
            return;
        }
        let thread = trace.thread(e);
        let position = chains.position(e);
        match trace.event(e).kind {
            EventKind::Fork { thread: child } if child != thread => {
                let row = self.order.after(chains, trace, e);
                self.order.timelines[child.index()].rows[..row.len()].copy_from_slice(&row);
            }
            EventKind::Join { thread: child } if child != thread => {
                let mut frontier = self.order.before(chains, trace, e);
                // Of a thread without events, the first row is what its fork has run.
                let count = chains.events(child).len() as u32;
                if self.order.include(&mut frontier, child, count) {
                    self.close_under_locks(e, &mut frontier);
                    self.record(thread, 2 * position + 1, &frontier);
                }
            }
            _ => {
                if let Some(section) = self.locks.entered_at(e) {
                    let mut frontier = self.order.before(chains, trace, e);
                    while self.leave_others(section, &mut frontier) {
                        self.close_under_locks(e, &mut frontier);
                    }
                    self.record(thread, 2 * position + 1, &frontier);
                }
            }
        }
    }

    /// A use of hidden state runs only after the write before it.
    fn hidden_use(&mut self, e: EventId) {
        let (trace, chains) = (self.trace, self.chains);
        let thread = trace.thread(e);
        let Some(w) = self.reads_from.observed(e).filter(|&w| trace.thread(w) != thread) else {
            return;
        };
        let needs = self.run_needs(w);
        let mut frontier = self.order.before(chains, trace, e);
        if max_into(&mut frontier, &needs, thread.index()) {
            self.close_under_locks(e, &mut frontier);
            self.record(thread, 2 * chains.position(e) + 1, &frontier);
        }
    }

    /// The needs of a read count from the next event of its thread on.
    fn read(&mut self, e: EventId) {
        let thread = self.trace.thread(e);
        if self.has_seen(e) {
            return;
        }
        let Some(needs) = self.writer_needs(e) else { return };
        let mut frontier = self.order.after(self.chains, self.trace, e);
        if !max_into(&mut frontier, &needs, thread.index()) {
            return;
        }
        self.close_under_locks(e, &mut frontier);
        self.record(thread, 2 * (self.chains.position(e) + 1), &frontier);
    }

    /// Whether what the thread of a read has needed before has run the write that the read saw, and
    /// so all that it needs. Most reads find it so.
    fn has_seen(&self, read: EventId) -> bool {
        let (trace, chains) = (self.trace, self.chains);
        let (thread, position) = (trace.thread(read), chains.position(read));
        let Some(w) = self.reads_from.observed(read) else { return true };
        if trace.thread(w) == thread {
            return true;
        }
        // An update that is seen is not broken, which is more than that it has run.
        let run = chains.position(w) + u32::from(trace.op(w).reads());
        self.order.row(thread, 2 * (position + 1))[trace.thread(w).index()] > run
    }

    /// Returns the needs that all possible writers of a read share, with the writer where it is the
    /// only one.
    fn writer_needs(&self, read: EventId) -> Option<Frontier> {
        let (trace, reads_from) = (self.trace, self.reads_from);
        let x = trace.variable(read)?;
        let observed = reads_from.observed(read)?;
        if reads_from.preserves(trace, read, None) {
            return None;
        }
        let mut needs = self.run_needs(observed);
        let Some(value) = trace.read_value(read) else { return Some(needs) };
        let Some(others) = self.writers_of_value.get(&(x.0, value.0)) else { return Some(needs) };
        if others.len() > MOST_WRITERS_COMPARED
            && others.iter().any(|&w| reads_from.preserves(trace, read, Some(w)) && w != observed)
        {
            return None;
        }
        for &w in others {
            if w == observed || !reads_from.preserves(trace, read, Some(w)) {
                continue;
            }
            if w > read {
                if trace.thread(w) == trace.thread(read) {
                    continue;
                }
                return None;
            }
            for (mine, theirs) in needs.iter_mut().zip(self.run_needs(w)) {
                *mine = (*mine).min(theirs);
            }
        }
        Some(needs)
    }

    /// Returns the events that have run when a read sees the write `w`, `w` included.
    fn run_needs(&self, w: EventId) -> Frontier {
        if self.trace.op(w).reads() {
            // An update that is seen is not broken.
            return self.order.after(self.chains, self.trace, w);
        }
        let mut needs = self.order.to_run(self.chains, self.trace, w);
        needs[self.trace.thread(w).index()] += 1;
        needs
    }

    /// Whatever lock the thread of `e` holds now: other sections of it that were entered are left.
    fn close_under_locks(&mut self, e: EventId, frontier: &mut Frontier) {
        let held = self.locks.held_before(e);
        let mut grew = !held.is_empty();
        while grew {
            grew = false;
            for &section in held {
                grew |= self.leave_others(section, frontier);
            }
        }
    }

    /// While `section` is open or being entered, every other section of its lock in the frontier
    /// that excludes it has been left.
    fn leave_others(&mut self, section: crate::SectionId, frontier: &mut Frontier) -> bool {
        let hints = &mut self.entered[self.locks.get(section).lock.index()];
        leave_others_near(self.chains, self.locks, &self.order, section, frontier, hints)
    }

    fn record(&mut self, thread: ThreadId, time: u32, frontier: &[u32]) {
        let timeline = &mut self.order.timelines[thread.index()];
        if timeline.times.last() == Some(&time) {
            let start = timeline.rows.len() - frontier.len();
            timeline.rows[start..].copy_from_slice(frontier);
        } else {
            timeline.times.push(time);
            timeline.rows.extend_from_slice(frontier);
        }
    }
}

/// Extends a frontier in which `section` is held: every other section of its lock that was entered
/// and excludes it has been left, with all that this needs. Returns whether the frontier grew.
/// A section without an exit is left alone (the caller sees that it is still inside).
pub(crate) fn leave_others(
    chains: &Chains,
    locks: &Sections,
    order: &MustHappenBefore,
    section: crate::SectionId,
    frontier: &mut Frontier,
) -> bool {
    leave_others_near(chains, locks, order, section, frontier, &mut [])
}

/// [`leave_others`] with a guess of the number of sections that each thread of the lock has
/// entered.
fn leave_others_near(
    chains: &Chains,
    locks: &Sections,
    order: &MustHappenBefore,
    section: crate::SectionId,
    frontier: &mut Frontier,
    guesses: &mut [usize],
) -> bool {
    let own = *locks.get(section);
    let mut grew = false;
    for (i, (thread, list)) in locks.of_lock_by_thread(own.lock).iter().enumerate() {
        if *thread == own.thread {
            continue;
        }
        let count = frontier[thread.index()];
        let has_entered = |s: &crate::SectionId| chains.position(locks.get(*s).enter) < count;
        let entered = match guesses.get_mut(i) {
            Some(guess) => {
                *guess = partition_near(list, *guess, has_entered);
                *guess
            }
            None => list.partition_point(has_entered),
        };
        let last = list[..entered].iter().rev().map(|&s| locks.get(s));
        // Sections of one thread follow each other, so only the last one that excludes counts.
        let Some(other) = last.into_iter().find(|s| !(s.shared && own.shared)) else { continue };
        if let Some(exit) = other.exit {
            let after = chains.position(exit) + 1;
            if after > count {
                grew |= order.include(frontier, *thread, after);
            }
        }
    }
    grew
}

#[cfg(test)]
mod tests {
    use foretell_trace::Model;

    use super::*;
    use crate::TraceModel;
    use crate::testing::{ids, trace};

    #[test]
    fn any_guess_leads_to_the_partition_point() {
        let list: Vec<u32> = (0..20).collect();
        for length in 0..list.len() {
            for guess in 0..=length + 1 {
                for bound in 0..=length as u32 {
                    let found = partition_near(&list[..length], guess, |&x| x < bound);
                    assert_eq!(found, bound as usize, "{length} {guess}");
                }
            }
        }
    }

    /// All pairs of events of different threads that are ordered.
    fn ordered(trace: &Trace, model: Model) -> Vec<(u32, u32)> {
        let TraceModel { chains, must_happen_before, .. } = TraceModel::new(trace, model);
        let pairs = trace.ids().flat_map(|a| trace.ids().map(move |b| (a, b)));
        pairs
            .filter(|&(a, b)| trace.thread(a) != trace.thread(b))
            .filter(|&(a, b)| must_happen_before.ordered_before(&chains, trace, a, b))
            .map(|(a, b)| (a.0, b.0))
            .collect()
    }

    /// Nothing orders the read itself: it may run and be broken. What comes after it is ordered.
    #[test]
    fn events_after_a_read_follow_its_writer() {
        let trace = trace("T1|w(x)\nT2|r(x)\nT2|w(y)");
        assert_eq!(ordered(&trace, Model::View), [(0, 2)]);
    }

    #[test]
    fn several_writers_order_only_what_all_of_them_need() {
        let text = "T0|w(y=0)
             T0|fork(T1)
             T0|fork(T2)
             T1|w(x=1)
             T2|w(x=1)
             T3|r(x=1)
             T3|w(z=0)";
        let trace = trace(text);
        let behind_the_read = |model| {
            let ordered = ordered(&trace, model);
            ordered.into_iter().filter(|p| p.1 == 6).map(|p| p.0).collect::<Vec<_>>()
        };
        assert_eq!(behind_the_read(Model::View), [0, 1, 2, 4]);
        assert_eq!(behind_the_read(Model::Value), [0, 1]);
    }

    /// `first_after` is where `ordered_before` begins.
    #[test]
    fn first_events_after_an_event() {
        let trace = trace(
            "T0|w(x)
             T0|fork(T1)
             T1|acq(l)
             T1|w(y)
             T1|rel(l)
             T0|acq(l)
             T0|r(y)
             T0|w(z)
             T0|rel(l)
             T0|join(T1)",
        );
        let TraceModel { chains, must_happen_before, .. } = TraceModel::new(&trace, Model::View);
        for e in trace.ids() {
            for t in (0..trace.thread_count()).map(ThreadId::from_index) {
                let first = chains
                    .events(t)
                    .iter()
                    .find(|&&f| f == e || must_happen_before.ordered_before(&chains, &trace, e, f));
                let first = first.map(|&f| chains.position(f));
                assert_eq!(
                    must_happen_before.first_after(&chains, &trace, e, t),
                    first,
                    "{e:?} {t:?}"
                );
            }
        }
    }

    /// Each use of hidden state comes after the one before it, whatever the model.
    #[test]
    fn uses_of_hidden_state_are_a_chain() {
        let trace = trace(
            "#! opaque h
             T1|w(x)
             T1|au(h=0>0)
             T2|au(h=0>0)
             T3|au(h=0>0)
             T3|w(x)",
        );
        for model in [Model::View, Model::Value, Model::Symbolic] {
            let all = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4)];
            assert_eq!(ordered(&trace, model), all);
        }
    }

    /// A joined thread has no broken event: its last read has seen its writer.
    #[test]
    fn joined_reads_have_their_writers() {
        let trace = trace("T1|w(x)\nT2|r(x)\nT3|join(T2)\nT3|w(x)");
        assert_eq!(ordered(&trace, Model::View), [(0, 2), (0, 3), (1, 2), (1, 3)]);
        let silent = crate::testing::trace("T1|fork(T3)\nT2|join(T3)\nT2|w(x)");
        assert_eq!(ordered(&silent, Model::View), [(0, 1), (0, 2)]);
    }

    #[test]
    fn forks_and_joins_order() {
        let trace = trace("T0|w(x)\nT0|fork(T1)\nT1|w(x)\nT0|join(T1)\nT0|w(x)");
        assert_eq!(ordered(&trace, Model::View), [(0, 2), (1, 2), (2, 3), (2, 4)]);
    }

    /// T2's section has seen the write inside T1's section: so that one is over.
    #[test]
    fn order_is_closed_under_locks() {
        let trace = trace(
            "T1|acq(l)
             T1|w(x)
             T1|w(y)
             T1|rel(l)
             T2|acq(l)
             T2|r(x)
             T2|w(z)
             T2|rel(l)",
        );
        let ordered = ordered(&trace, Model::View);
        assert!(ordered.contains(&(3, 6)), "the section is over before the write of z");
        assert!(!ordered.iter().any(|&(_, b)| b <= 5), "T2 may come first");
        let trace_model = TraceModel::new(&trace, Model::View);
        let TraceModel { chains, must_happen_before, .. } = &trace_model;
        assert!(must_happen_before.run_before_next(chains, &trace, EventId(3), EventId(6)));
        assert_eq!(must_happen_before.before(chains, &trace, EventId(6)), [4, 2]);
        assert_eq!(must_happen_before.to_run(chains, &trace, EventId(4)), [0, 0]);
        assert_eq!(must_happen_before.after(chains, &trace, EventId(5)), [4, 2]);
        assert_eq!(
            must_happen_before.needs(chains, &trace, EventId(6), trace.thread(EventId(0))),
            4
        );
        assert_eq!(trace_model.frontier_of_next(&ids([2, 6])), None);
    }

    /// Both are inside their sections of one lock: there is no such state. Readers may be.
    #[test]
    fn frontier_inside_two_sections_cannot_be_reached() {
        let exclusive = trace("T1|acq(l)\nT1|w(x)\nT1|rel(l)\nT2|acq(l)\nT2|w(x)\nT2|rel(l)");
        let trace_model = TraceModel::new(&exclusive, Model::View);
        assert_eq!(trace_model.frontier_of_next(&ids([1, 4])), None);
        assert_eq!(trace_model.frontier_of_next(&ids([1, 3])), Some(vec![1, 0]));
        let shared = trace("T1|racq(l)\nT1|w(x)\nT1|rrel(l)\nT2|racq(l)\nT2|w(x)\nT2|rrel(l)");
        let trace_model = TraceModel::new(&shared, Model::View);
        assert_eq!(trace_model.frontier_of_next(&ids([1, 4])), Some(vec![1, 1]));
    }
}
