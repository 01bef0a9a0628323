//! Program order: the events of each thread as a chain, with the forks and joins that tie the
//! chains together.

use foretell_trace::{EventId, EventKind, ThreadId, Trace};

/// Program order, forks and joins of a trace.
#[derive(Debug)]
pub struct Chains {
    events: Vec<Vec<EventId>>,
    /// Place of each event in its thread.
    positions: Vec<u32>,
    forks: Vec<Option<EventId>>,
    joins: Vec<Vec<EventId>>,
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
        };
        for e in trace.ids() {
            let chain = &mut chains.events[trace.thread(e).index()];
            chains.positions.push(chain.len() as u32);
            chain.push(e);
            match trace.op(e) {
                foretell_trace::Op::Fork | foretell_trace::Op::Join => {}
                _ => continue,
            }
            match trace.event(e).kind {
                EventKind::Fork { thread } => chains.forks[thread.index()] = Some(e),
                EventKind::Join { thread } => chains.joins[thread.index()].push(e),
                _ => {}
            }
        }
        chains
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
