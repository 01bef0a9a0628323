//! Must-happen-before: what has run in every feasible interleaving before a given event runs.
//!
//! The vectors of the trace-segmentation paper (section II.B), with two departures. They are closed
//! under locks (semantics section 5): when a section of a lock is open and another section of it
//! has been entered, that one has been left. And they hold for interleavings that end anywhere, so
//! a read at the very end of its thread asks for nothing: only what comes after it does. A use of
//! hidden state asks for the write before it already to run: it would be broken without, and no
//! interleaving needs a broken one. So the uses of one state are a chain across all threads.
//!
//! A *frontier* says how many events of each thread have run. For an event there are two of them:
//! [`MustHappenBefore::before`], when the event is the next one of its thread, and
//! [`MustHappenBefore::to_run`], what the event itself needs to run (a join needs the thread it
//! joins, an acquire needs earlier sections to be over).
//!
//! This is a lower bound: semaphores, barriers and notifications put in what their counts prove
//! (`counters`), failed try-locks nothing, and a read with several possible writers only what all
//! of them need. Engines decide the rest.

mod counters;
mod sweep;
mod synchronization;

use std::ops::Range;

use foretell_trace::{EventId, ThreadId, Trace};

use crate::chains::Columns;
use crate::{Chains, ReadsFrom, Sections};

pub(crate) use sweep::leave_others;
pub use synchronization::HappensBefore;
pub(crate) use synchronization::may_leave_open;

/// Number of events of each thread that have run, by thread index.
pub type Frontier = Vec<u32>;

/// The must-happen-before order of a trace.
#[derive(Debug)]
pub struct MustHappenBefore {
    columns: Columns,
    timelines: Vec<Timeline>,
}

/// Number of events of each column of threads that have run.
pub(crate) type Row = Vec<u32>;

/// The frontiers of one thread, stored only where they change.
#[derive(Debug, Default)]
struct Timeline {
    /// Twice the position, plus one for "to run"; ascending.
    times: Vec<u32>,
    /// One row of counts, by column, for each time. The count of the thread's own column is left
    /// out of account.
    rows: Vec<u32>,
}

impl MustHappenBefore {
    /// Computes the order in one sweep over the trace.
    pub(crate) fn new(
        trace: &Trace,
        chains: &Chains,
        reads_from: &ReadsFrom,
        locks: &Sections,
    ) -> Self {
        sweep::order(trace, chains, reads_from, locks)
    }

    /// The order that knows of program order within columns alone.
    fn empty(columns: &Columns) -> Self {
        let timeline = |_| Timeline { times: vec![0], rows: vec![0; columns.count()] };
        let timelines = (0..columns.thread_count()).map(timeline).collect();
        Self { columns: columns.clone(), timelines }
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
        self.add(frontier, thread, 2 * count, count)
    }

    /// Adds what event number `position` of `thread` needs to run, itself included, whether or
    /// not the thread goes on after it.
    pub fn include_run(&self, frontier: &mut [u32], thread: ThreadId, position: u32) -> bool {
        self.add(frontier, thread, 2 * position + 1, position + 1)
    }

    /// Adds what has run by a time of a thread, and the first `own` events of it.
    fn add(&self, frontier: &mut [u32], thread: ThreadId, time: u32, own: u32) -> bool {
        let row = self.row(thread, time);
        let own_column = self.columns.of(thread);
        let own = self.columns.position(thread, own);
        let mut grew = false;
        for (t, mine) in frontier.iter_mut().enumerate() {
            let t = ThreadId::from_index(t);
            let column = self.columns.of(t);
            let count = if column == own_column { own } else { row[column] };
            let theirs = self.columns.events_of(t, count);
            if *mine < theirs {
                *mine = theirs;
                grew = true;
            }
        }
        grew
    }

    /// [`MustHappenBefore::include`] by column.
    pub(crate) fn include_row(&self, row: &mut [u32], thread: ThreadId, count: u32) -> bool {
        let column = self.columns.of(thread);
        let mut grew = max_into(row, self.row(thread, 2 * count), column);
        let own = self.columns.position(thread, count);
        if row[column] < own {
            row[column] = own;
            grew = true;
        }
        grew
    }

    /// [`MustHappenBefore::include_run`] by column.
    fn include_run_row(&self, row: &mut [u32], thread: ThreadId, position: u32) -> bool {
        let column = self.columns.of(thread);
        let mut grew = max_into(row, self.row(thread, 2 * position + 1), column);
        let own = self.columns.position(thread, position + 1);
        if row[column] < own {
            row[column] = own;
            grew = true;
        }
        grew
    }

    /// The frontier of a row.
    pub(crate) fn by_thread(&self, row: &[u32]) -> Frontier {
        let threads = (0..self.columns.thread_count()).map(ThreadId::from_index);
        threads.map(|t| self.columns.events_of(t, row[self.columns.of(t)])).collect()
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
        let (own, position) = (trace.thread(e), chains.position(e));
        let column = self.columns.of(thread);
        let count = if column == self.columns.of(own) {
            self.columns.position(own, position)
        } else {
            self.row(own, 2 * position + 1)[column]
        };
        self.columns.events_of(thread, count)
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
        let own = trace.thread(e);
        if own == thread {
            return Some(chains.position(e));
        }
        if self.columns.of(own) == self.columns.of(thread) {
            let is_later =
                self.columns.position(thread, 0) > self.column_position(chains, trace, e);
            return is_later.then_some(0);
        }
        self.first_time_after(chains, trace, e, thread).map(|time| time / 2)
    }

    /// Returns the places in another column of the events that can be next in their threads while
    /// `e` is next in its own, as far as this order knows.
    pub fn next_together(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        column: usize,
    ) -> Range<u32> {
        let from = self.row(trace.thread(e), 2 * chains.position(e))[column];
        let (own, position) =
            (self.columns.of(trace.thread(e)), self.column_position(chains, trace, e));
        // What has run only grows along the threads of a column.
        let threads = self.columns.threads(column);
        let last = |t: &ThreadId| {
            let rows = &self.timelines[t.index()].rows;
            rows[rows.len() - self.columns.count() + own]
        };
        let until = threads.partition_point(|t| last(t) <= position);
        let to = threads.get(until).and_then(|&t| {
            let time = self.first_time_after(chains, trace, e, t)?;
            Some(self.columns.position(t, time.div_ceil(2)))
        });
        from..to.unwrap_or(u32::MAX)
    }

    /// Returns the first time of a thread of another column by which `e` has run.
    fn first_time_after(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        thread: ThreadId,
    ) -> Option<u32> {
        let own = self.columns.of(trace.thread(e));
        let position = self.column_position(chains, trace, e);
        let timeline = &self.timelines[thread.index()];
        let columns = self.columns.count();
        let (mut low, mut high) = (0, timeline.times.len());
        while low < high {
            let middle = (low + high) / 2;
            if timeline.rows[middle * columns + own] > position {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        timeline.times.get(low).copied()
    }

    fn ordered(&self, chains: &Chains, trace: &Trace, a: EventId, b: EventId, time: u32) -> bool {
        let (s, t) = (trace.thread(a), trace.thread(b));
        let position = self.column_position(chains, trace, a);
        if self.columns.of(s) == self.columns.of(t) {
            return position < self.column_position(chains, trace, b);
        }
        self.row(t, time)[self.columns.of(s)] > position
    }

    fn column_position(&self, chains: &Chains, trace: &Trace, e: EventId) -> u32 {
        self.columns.position(trace.thread(e), chains.position(e))
    }

    fn frontier(&self, thread: ThreadId, time: u32, own: u32) -> Frontier {
        self.by_thread(&self.whole_row(thread, time, own))
    }

    /// A row with the thread's own column, of which the first `own` events of the thread have run.
    fn whole_row(&self, thread: ThreadId, time: u32, own: u32) -> Row {
        let mut row = self.row(thread, time).to_vec();
        row[self.columns.of(thread)] = self.columns.position(thread, own);
        row
    }

    /// The latest row of a thread that is not after `time`.
    fn row(&self, thread: ThreadId, time: u32) -> &[u32] {
        let timeline = &self.timelines[thread.index()];
        // While the trace is swept, it is mostly one of the last.
        let i = partition_near(&timeline.times, timeline.times.len(), |&t| t <= time) - 1;
        let columns = self.columns.count();
        &timeline.rows[i * columns..(i + 1) * columns]
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

/// Raises every count of `frontier` but that of column `skip` to that of `row`.
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

#[cfg(test)]
mod tests;
