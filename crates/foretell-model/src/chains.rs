//! Program order: the events of each thread as a chain, with the forks and joins that tie the
//! chains together.
//!
//! Threads that come one after the other share a *column*: a thread forks the next one after it has
//! joined the one before, or a thread that had joined it. The events of a column run in one order
//! in every feasible interleaving, like those of a thread. A program that forks and joins thousands
//! of threads, a few at a time, has a few columns, and must-happen-before counts by column. Clocks
//! that reuse the entries of joined threads are the same idea (accordion clocks, Christiaens and De
//! Bosschere, JVM 2001).

use foretell_trace::{EventId, EventKind, ThreadId, Trace};

/// Program order, forks and joins of a trace.
#[derive(Debug)]
pub struct Chains {
    events: Vec<Vec<EventId>>,
    /// Place of each event in its thread.
    positions: Vec<u32>,
    forks: Vec<Option<EventId>>,
    joins: Vec<Vec<EventId>>,
    columns: Columns,
}

/// The threads, put one after the other where joins and forks order them.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// By thread.
    places: Vec<Place>,
    /// The threads of each column, in order.
    threads: Vec<Vec<ThreadId>>,
}

/// Where the events of a thread are in its column.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    column: u32,
    /// Number of events of the column before those of the thread.
    offset: u32,
    /// Number of events of the thread.
    len: u32,
}

impl Columns {
    fn new(trace: &Trace, events: &[Vec<EventId>], ties: &[EventId]) -> Self {
        let threads = events.len();
        let mut columns: Vec<Option<usize>> = vec![None; threads];
        // By thread, the columns whose threads it knows to be over.
        let mut free: Vec<Vec<usize>> = vec![Vec::new(); threads];
        let mut count = 0;
        let mut new_column = || {
            count += 1;
            count - 1
        };
        let mut order = Vec::with_capacity(threads);
        let mut is_joined = vec![false; threads];
        for &e in ties {
            foretell_limit::check();
            let thread = trace.thread(e).index();
            match trace.event(e).kind {
                EventKind::Fork { thread: child } if child.index() != thread => {
                    let child = child.index();
                    if columns[child].is_none() {
                        let column = free[thread].pop().unwrap_or_else(&mut new_column);
                        columns[child] = Some(column);
                        order.push(child);
                    }
                }
                EventKind::Join { thread: child } if child.index() != thread => {
                    let child = child.index();
                    if std::mem::replace(&mut is_joined[child], true) {
                        continue;
                    }
                    if columns[child].is_none() {
                        columns[child] = Some(new_column());
                        order.push(child);
                    }
                    let over = std::mem::take(&mut free[child]);
                    free[thread].extend(over);
                    free[thread].extend(columns[child]);
                }
                _ => {}
            }
        }
        for (t, column) in columns.iter_mut().enumerate() {
            if column.is_none() {
                *column = Some(new_column());
                order.push(t);
            }
        }
        if count == threads {
            // No column is shared: let column and thread have one number.
            columns = (0..threads).map(Some).collect();
        }
        let mut this =
            Self { places: vec![Place::default(); threads], threads: vec![Vec::new(); count] };
        let mut lengths = vec![0; count];
        for t in order {
            let column = columns[t].unwrap_or(t);
            let len = events[t].len() as u32;
            this.places[t] = Place { column: column as u32, offset: lengths[column], len };
            this.threads[column].push(ThreadId::from_index(t));
            lengths[column] += len;
        }
        this
    }

    pub(crate) fn count(&self) -> usize {
        self.threads.len()
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.places.len()
    }

    /// The threads of a column, in order.
    pub(crate) fn threads(&self, column: usize) -> &[ThreadId] {
        &self.threads[column]
    }

    #[inline]
    pub(crate) fn of(&self, t: ThreadId) -> usize {
        self.places[t.index()].column as usize
    }

    /// The place in its column of the event of a thread at `position`.
    #[inline]
    pub(crate) fn position(&self, t: ThreadId, position: u32) -> u32 {
        self.places[t.index()].offset + position
    }

    /// How many of the first `count` events of its column are events of the thread.
    #[inline]
    pub(crate) fn events_of(&self, t: ThreadId, count: u32) -> u32 {
        let place = &self.places[t.index()];
        count.saturating_sub(place.offset).min(place.len)
    }
}

impl Chains {
    /// Splits a trace into its threads.
    pub(crate) fn new(trace: &Trace) -> Self {
        let threads = trace.thread_count();
        let mut chains = Self {
            events: vec![Vec::new(); threads],
            positions: Vec::with_capacity(trace.len()),
            forks: vec![None; threads],
            joins: vec![Vec::new(); threads],
            columns: Columns { places: Vec::new(), threads: Vec::new() },
        };
        let mut ties = Vec::new();
        for e in trace.ids() {
            foretell_limit::check();
            let chain = &mut chains.events[trace.thread(e).index()];
            chains.positions.push(chain.len() as u32);
            chain.push(e);
            match trace.op(e) {
                foretell_trace::Op::Fork | foretell_trace::Op::Join => {}
                _ => continue,
            }
            ties.push(e);
            match trace.event(e).kind {
                EventKind::Fork { thread } => chains.forks[thread.index()] = Some(e),
                EventKind::Join { thread } => chains.joins[thread.index()].push(e),
                _ => {}
            }
        }
        chains.columns = Columns::new(trace, &chains.events, &ties);
        chains
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The column of a thread: threads that joins and forks put one after the other share it.
    #[inline]
    pub fn column(&self, t: ThreadId) -> usize {
        self.columns.of(t)
    }

    /// The place of an event in the column of its thread, from 0.
    #[inline]
    pub fn column_position(&self, trace: &Trace, e: EventId) -> u32 {
        self.columns.position(trace.thread(e), self.position(e))
    }

    /// Returns the number of threads.
    pub fn thread_count(&self) -> usize {
        self.events.len()
    }

    /// The events of a thread, in order.
    #[inline]
    pub fn events(&self, t: ThreadId) -> &[EventId] {
        &self.events[t.index()]
    }

    /// The place of an event in its thread, from 0.
    #[inline]
    pub fn position(&self, e: EventId) -> u32 {
        self.positions[e.index()]
    }

    /// The event that follows `e` in its thread.
    #[inline]
    pub fn next(&self, trace: &Trace, e: EventId) -> Option<EventId> {
        self.events(trace.thread(e)).get(self.position(e) as usize + 1).copied()
    }

    /// The event before `e` in its thread.
    #[inline]
    pub fn previous(&self, trace: &Trace, e: EventId) -> Option<EventId> {
        let position = self.position(e) as usize;
        (position > 0).then(|| self.events(trace.thread(e))[position - 1])
    }

    /// The event that created a thread, if it is in the trace.
    #[inline]
    pub fn fork(&self, t: ThreadId) -> Option<EventId> {
        self.forks[t.index()]
    }

    /// The joins of a thread.
    pub fn joins(&self, t: ThreadId) -> &[EventId] {
        &self.joins[t.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ids, trace};

    #[test]
    fn threads_are_chains_with_forks_and_joins() {
        let trace = trace(
            "T0|fork(T1)
             T1|w(x)
             T0|w(x)
             T1|r(x)
             T0|join(T1)
             T2|join(T1)",
        );
        let chains = Chains::new(&trace);
        let thread = |name| trace.find_thread(name).expect("a thread");
        assert_eq!(chains.thread_count(), 3);
        assert_eq!(chains.events(thread("T0")), ids([0, 2, 4]));
        assert_eq!(chains.events(thread("T1")), ids([1, 3]));
        assert_eq!(chains.position(EventId(3)), 1);
        assert_eq!(chains.previous(&trace, EventId(3)), Some(EventId(1)));
        assert_eq!(chains.previous(&trace, EventId(1)), None);
        assert_eq!(chains.next(&trace, EventId(1)), Some(EventId(3)));
        assert_eq!(chains.next(&trace, EventId(3)), None);
        assert_eq!(chains.fork(thread("T1")), Some(EventId(0)));
        assert_eq!(chains.fork(thread("T0")), None);
        assert_eq!(chains.joins(thread("T1")), ids([4, 5]));
        assert!(chains.joins(thread("T2")).is_empty());
    }

    /// A thread is in the column of one that was joined before it was forked.
    #[test]
    fn threads_that_follow_each_other_share_a_column() {
        let trace = trace(
            "M|fork(A)
             M|fork(B)
             A|w(x)
             A|w(x)
             B|w(x)
             M|join(A)
             M|fork(C)
             C|fork(D)
             C|w(x)
             D|w(x)
             C|join(D)
             M|join(C)
             M|fork(E)
             E|w(x)
             M|fork(F)
             M|fork(G)
             F|w(x)
             G|w(x)",
        );
        let chains = Chains::new(&trace);
        let thread = |name| trace.find_thread(name).expect("a thread");
        let column = |name| chains.column(thread(name));
        assert_eq!(column("A"), column("C"));
        assert_eq!([column("E"), column("F")], [column("C"), column("D")]);
        let [m, a, b, d, g] = ["M", "A", "B", "D", "G"].map(column);
        let distinct: std::collections::BTreeSet<_> = [m, a, b, d, g].into_iter().collect();
        assert_eq!(distinct.len(), 5);
        assert_eq!(chains.column_position(&trace, EventId(3)), 1);
        assert_eq!(chains.column_position(&trace, EventId(8)), 3, "after A's two and the fork");
        assert_eq!(chains.columns().events_of(thread("C"), 3), 1);
        assert_eq!(chains.columns().events_of(thread("A"), 3), 2);
        assert_eq!(chains.columns().events_of(thread("E"), 3), 0);
    }

    /// A thread that is forked and never runs is a thread without events.
    #[test]
    fn thread_without_events() {
        let trace = trace("T0|fork(T1)");
        let chains = Chains::new(&trace);
        let t1 = trace.find_thread("T1").expect("a thread");
        assert!(chains.events(t1).is_empty());
        assert_eq!(chains.fork(t1), Some(EventId(0)));
    }
}
