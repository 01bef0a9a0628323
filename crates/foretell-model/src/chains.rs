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
    pub fn new(trace: &Trace) -> Self {
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

    /// How many threads there are.
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
