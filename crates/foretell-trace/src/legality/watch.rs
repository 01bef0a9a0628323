//! Legality of an execution while its events are being recorded.
//!
//! The state machine of the check, without the look-ahead:
//! - a join that comes too early is noticed at the next event of the joined thread, a fork that
//!   comes too late at the fork;
//! - the waiter that a notify wakes is chosen when the notify comes, and changed later if the
//!   choice did not fit. One exchange of two threads is tried, no chain of them: a trace that it
//!   finds legal is legal, a trace that it refuses may still be legal.
//!
//! Limitation: values of accesses are not checked, since the caller knows the last write. Guards
//! and expressions are not evaluated.

use super::outlook::Outlook;
use super::state::State;
use crate::{Event, EventId, EventKind, MemoryOrder, ThreadId, Trace};

/// Watches over the events of a trace as they are made.
pub struct Watch {
    state: State<'static>,
    outlook: Outlook,
    threads: Vec<Thread>,
    legal: bool,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    joined: bool,
    /// It has started and is neither in a wait nor joined: whatever it accesses changes nothing.
    runs: bool,
}

impl Default for Watch {
    fn default() -> Self {
        let (state, outlook) = (State::empty(), Outlook::none());
        Watch { state, outlook, threads: Vec::new(), legal: true }
    }
}

impl Watch {
    /// Whether the events so far are certain to be legal, their values aside.
    pub fn is_legal(&self) -> bool {
        self.legal
    }

    /// Whether whatever a thread accesses next changes nothing here: there is no need to show it.
    #[inline]
    pub fn lets_run(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|t| t.runs)
    }

    /// Takes the next event. Everything it names must be in `names`.
    #[inline]
    pub fn push(&mut self, names: &Trace, id: EventId, thread: ThreadId, kind: EventKind) {
        if !(self.lets_run(thread) && kind.op().is_access()) && self.legal {
            let order = MemoryOrder::default();
            self.step(names, &Event { id, thread, kind, site: None, order });
        }
    }

    fn step(&mut self, names: &Trace, event: &Event) {
        self.state.grow(names);
        if self.threads.len() < names.thread_count() {
            self.threads.resize(names.thread_count(), Thread::default());
        }
        let t = event.thread;
        self.legal = !self.threads[t.index()].joined && self.is_enabled(event);
        let joined = self.threads[t.index()].joined;
        let runs = !joined && self.state.has_started(t) && self.state.wait_of(t).is_none();
        self.threads[t.index()].runs = runs;
    }

    fn is_enabled(&mut self, event: &Event) -> bool {
        let t = event.thread;
        match event.kind {
            EventKind::Join { thread } => {
                self.threads[thread.index()] = Thread { joined: true, runs: false };
                thread != t && self.state.start(t)
            }
            kind if kind.op().is_access() => self.state.start(t),
            EventKind::Woken { .. } | EventKind::TimedOut { .. } => {
                self.state.settle(t, matches!(event.kind, EventKind::Woken { .. }));
                self.state.step(event, &self.outlook).is_ok()
            }
            _ => self.state.step(event, &self.outlook).is_ok(),
        }
    }
}
