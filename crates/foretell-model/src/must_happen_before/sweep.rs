//! The sweep over a trace that computes must-happen-before.

use foretell_trace::{EventId, EventKind, LockId, Op, ThreadId, Trace, ValueId, VarId};

use super::counters::Counting;
use super::{MustHappenBefore, Row, max_into, partition_near};
use crate::reads_from::uses_hidden_state;
use crate::{Chains, ReadsFrom, Section, SectionId, Sections};

/// More possible writers than this, and a read is taken to need nothing of any of them.
const MOST_WRITERS_COMPARED: usize = 8;

/// Computes the order in one sweep.
pub(super) fn order(
    trace: &Trace,
    chains: &Chains,
    reads_from: &ReadsFrom,
    locks: &Sections,
) -> MustHappenBefore {
    let mut sweep = Sweep {
        trace,
        chains,
        reads_from,
        locks,
        writers_of_value: WritersOfValue::new(trace, reads_from),
        entered: (0..locks.lock_count())
            .map(|l| vec![0; locks.of_lock_by_column(LockId::from_index(l)).len()])
            .collect(),
        counting: Counting::new(trace, chains),
        order: MustHappenBefore::empty(chains.columns()),
    };
    for e in trace.ids() {
        foretell_limit::check();
        sweep.step(e);
    }
    sweep.order
}

/// The writes of each variable by value. There may be as many values as writes, so they are one
/// sorted list.
struct WritersOfValue {
    /// By variable: the first of its writes in the list.
    starts: Vec<u32>,
    /// Writes with their values, by variable, value and time.
    writes: Vec<(u32, EventId)>,
}

impl WritersOfValue {
    fn new(trace: &Trace, reads_from: &ReadsFrom) -> Self {
        let mut this = Self { starts: vec![0], writes: Vec::new() };
        for x in (0..trace.variable_count()).map(VarId::from_index) {
            let start = this.writes.len();
            for &w in reads_from.writes(x) {
                foretell_limit::check();
                this.writes.extend(trace.written_value(w).map(|value| (value.0, w)));
            }
            this.writes[start..].sort_unstable();
            this.starts.push(this.writes.len() as u32);
        }
        this
    }

    /// The first writes of a value, only as many as are ever looked at.
    fn get(&self, x: VarId, value: ValueId) -> impl Iterator<Item = EventId> + Clone + '_ {
        let (start, end) = (self.starts[x.index()], self.starts[x.index() + 1]);
        let of_variable = &self.writes[start as usize..end as usize];
        let first = of_variable.partition_point(|&(v, _)| v < value.0);
        let of_value = of_variable[first..].iter().take_while(move |(v, _)| *v == value.0);
        of_value.map(|&(_, w)| w).take(MOST_WRITERS_COMPARED + 1)
    }
}

struct Sweep<'a> {
    trace: &'a Trace,
    chains: &'a Chains,
    reads_from: &'a ReadsFrom,
    locks: &'a Sections,
    writers_of_value: WritersOfValue,
    /// For each lock and each column that takes it: how many of its sections were found to be
    /// entered the last time. It is about the same the next time.
    entered: Vec<Vec<usize>>,
    /// Semaphores, barriers and conditions, if there are any.
    counting: Option<Counting<'a>>,
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
                let row = self.after(e);
                self.order.timelines[child.index()].rows[..row.len()].copy_from_slice(&row);
            }
            EventKind::Join { thread: child } if child != thread => {
                let mut frontier = self.before(e);
                // Of a thread without events, the first row is what its fork has run.
                let count = chains.events(child).len() as u32;
                if self.order.include_row(&mut frontier, child, count) {
                    self.close_under_locks(e, &mut frontier);
                    self.record(thread, 2 * position + 1, &frontier);
                }
            }
            _ => self.enter(e),
        }
    }

    /// An event that may have to wait: for a lock, or for what a semaphore, barrier or condition
    /// counts.
    fn enter(&mut self, e: EventId) {
        let section = self.locks.entered_at(e);
        let counts = matches!(self.trace.op(e), Op::Down | Op::Leave | Op::Woken);
        if section.is_none() && !counts {
            return;
        }
        let mut row = self.before(e);
        loop {
            foretell_limit::check();
            let mut grew = section.is_some_and(|section| self.leave_others(section, &mut row));
            if let Some(counting) = self.counting.as_ref().filter(|_| counts) {
                grew |= counting.include(&self.order, e, &mut row);
            }
            if !grew {
                break;
            }
            self.close_under_locks(e, &mut row);
        }
        self.record(self.trace.thread(e), 2 * self.chains.position(e) + 1, &row);
    }

    /// The row with which `e` is the next event of its thread.
    fn before(&self, e: EventId) -> Row {
        let position = self.chains.position(e);
        self.order.whole_row(self.trace.thread(e), 2 * position, position)
    }

    /// The row with which the thread of `e` goes on after it.
    fn after(&self, e: EventId) -> Row {
        let count = self.chains.position(e) + 1;
        self.order.whole_row(self.trace.thread(e), 2 * count, count)
    }

    /// A use of hidden state runs only after the write before it.
    fn hidden_use(&mut self, e: EventId) {
        let (trace, chains) = (self.trace, self.chains);
        let thread = trace.thread(e);
        let Some(w) = self.reads_from.observed(e).filter(|&w| trace.thread(w) != thread) else {
            return;
        };
        let needs = self.run_needs(w);
        let mut frontier = self.before(e);
        if max_into(&mut frontier, &needs, self.chains.column(thread)) {
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
        let mut frontier = self.after(e);
        if !max_into(&mut frontier, &needs, self.chains.column(thread)) {
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
        let writer = trace.thread(w);
        if chains.column(writer) == chains.column(thread) {
            return true;
        }
        let run = chains.column_position(trace, w) + u32::from(trace.op(w).reads());
        self.order.row(thread, 2 * (position + 1))[chains.column(writer)] > run
    }

    /// Returns the needs that all possible writers of a read share, with the writer where it is the
    /// only one. A write that always comes before the last one of the read's own thread is none.
    fn writer_needs(&self, read: EventId) -> Option<Row> {
        let (trace, reads_from) = (self.trace, self.reads_from);
        let x = trace.variable(read)?;
        let observed = reads_from.observed(read)?;
        let own = reads_from.own_write(trace, read);
        if reads_from.preserves(trace, read, None)
            && !(reads_from.binds() && self.is_overwritten(read, x, own))
        {
            return None;
        }
        let mut needs = self.run_needs(observed);
        let Some(value) = trace.read_value(read) else { return Some(needs) };
        let others = self.writers_of_value.get(x, value);
        if others.clone().count() > MOST_WRITERS_COMPARED
            && others.clone().any(|w| reads_from.preserves(trace, read, Some(w)) && w != observed)
        {
            return None;
        }
        for w in others {
            if w == observed || !reads_from.preserves(trace, read, Some(w)) {
                continue;
            }
            if w > read {
                if trace.thread(w) == trace.thread(read) {
                    continue;
                }
                return None;
            }
            if own.is_some_and(|own| own != w && self.runs_before(w, own)) {
                continue;
            }
            for (mine, theirs) in needs.iter_mut().zip(self.run_needs(w)) {
                *mine = (*mine).min(theirs);
            }
        }
        Some(needs)
    }

    /// Whether a read never sees the initial value: its thread has written, or another one has in
    /// every interleaving in which the read is next.
    fn is_overwritten(&self, read: EventId, x: VarId, own: Option<EventId>) -> bool {
        let (trace, chains) = (self.trace, self.chains);
        let (thread, position) = (trace.thread(read), chains.position(read));
        own.is_some()
            || self.reads_from.writes_by_thread(x).iter().any(|(t, writes)| {
                let column = chains.column(*t);
                column != chains.column(thread)
                    && self.order.row(thread, 2 * position)[column]
                        > chains.column_position(trace, writes[0])
            })
    }

    /// Whether `a` has run whenever `b`, an event that the sweep has passed, runs.
    fn runs_before(&self, a: EventId, b: EventId) -> bool {
        self.order.ordered_before(self.chains, self.trace, a, b)
    }

    /// Returns the events that have run when a read sees the write `w`, `w` included.
    fn run_needs(&self, w: EventId) -> Row {
        if self.trace.op(w).reads() {
            // An update that is seen is not broken.
            return self.after(w);
        }
        let (thread, position) = (self.trace.thread(w), self.chains.position(w));
        self.order.whole_row(thread, 2 * position + 1, position + 1)
    }

    /// Whatever lock the thread of `e` holds now: other sections of it that were entered are left.
    fn close_under_locks(&mut self, e: EventId, frontier: &mut Row) {
        let held = self.locks.held_before(e);
        let mut grew = !held.is_empty();
        while grew {
            foretell_limit::check();
            grew = false;
            for &section in held {
                grew |= self.leave_others(section, frontier);
            }
        }
    }

    /// While `section` is open or being entered, every other section of its lock in the frontier
    /// that excludes it has been left.
    fn leave_others(&mut self, section: SectionId, frontier: &mut Row) -> bool {
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
    section: SectionId,
    frontier: &mut Row,
) -> bool {
    leave_others_near(chains, locks, order, section, frontier, &mut [])
}

/// [`leave_others`] with a guess of the number of sections that each thread of the lock has
/// entered.
fn leave_others_near(
    chains: &Chains,
    locks: &Sections,
    order: &MustHappenBefore,
    section: SectionId,
    frontier: &mut Row,
    guesses: &mut [usize],
) -> bool {
    let own = *locks.get(section);
    let own_column = chains.column(own.thread);
    let place = |s: &Section, e: EventId| chains.columns().position(s.thread, chains.position(e));
    let mut grew = false;
    for (i, (column, list)) in locks.of_lock_by_column(own.lock).iter().enumerate() {
        if *column == own_column {
            continue;
        }
        let count = frontier[*column];
        let has_entered = |s: &SectionId| {
            let section = locks.get(*s);
            place(section, section.enter) < count
        };
        let entered = match guesses.get_mut(i) {
            Some(guess) => {
                *guess = partition_near(list, *guess, has_entered);
                *guess
            }
            None => list.partition_point(has_entered),
        };
        let last = list[..entered].iter().rev().map(|&s| locks.get(s));
        // Sections of a column follow each other, so only the last one that excludes counts.
        let Some(other) = last.into_iter().find(|s| !(s.shared && own.shared)) else { continue };
        if let Some(exit) = other.exit
            && place(other, exit) >= count
        {
            grew |= order.include_row(frontier, other.thread, chains.position(exit) + 1);
        }
    }
    grew
}
