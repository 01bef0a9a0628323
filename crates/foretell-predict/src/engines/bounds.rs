//! The cone of a query: which events have run in every interleaving it asks for, and which ones a
//! shortest such interleaving may have run.
//!
//! The lower bound is must-happen-before. The upper bound is the least set that contains what the
//! query names and, with an event, whatever may be needed for it to run: the events before it,
//! every write its reads could have to see, the ends of the critical sections it starts, the forks,
//! joined threads, posts, notifications and arrivals. Leaving everything else out of a feasible
//! interleaving leaves a feasible one: locks are freed as before, a read has its writer and fewer
//! others, and where leaving something out could do harm (a waiter that a notification would have
//! gone to, an arrival that filled a generation) all events of the object are in.

use foretell_model::Frontier;
use foretell_model::{BlockId, TraceModel};
use foretell_trace::{CondId, EventId, EventKind, Model, ThreadId, visible_variable};

use crate::query::{Goal, Query};
use crate::reachability::accesses_of;

/// The least and the largest number of events of each thread that have run.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) least: Frontier,
    pub(crate) most: Frontier,
}

impl Bounds {
    /// Everything may run and nothing has to.
    pub(crate) fn whole(trace_model: &TraceModel<'_>) -> Self {
        let threads = trace_model.chains.thread_count();
        Self { least: vec![0; threads], most: lengths(trace_model) }
    }

    /// The bounds of a query; `None` if no interleaving can be what it asks for.
    pub(crate) fn of_query(trace_model: &TraceModel<'_>, query: &Query) -> Option<Self> {
        Self::of(trace_model, query, |cone| cone.goal(query.goal))
    }

    /// The bounds of a query whose goal is about these events.
    pub(crate) fn of_steps(
        trace_model: &TraceModel<'_>,
        query: &Query,
        steps: &[EventId],
    ) -> Option<Self> {
        Self::of(trace_model, query, |cone| cone.add_all(steps))
    }

    fn of(
        trace_model: &TraceModel<'_>,
        query: &Query,
        add_goal: impl FnOnce(&mut Cone<'_>),
    ) -> Option<Self> {
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let mut least = trace_model.frontier_of_next(&query.next)?;
        if let Goal::Overwritten(..) = query.goal {
            least = lengths(trace_model);
        }
        for &e in &query.run {
            must_happen_before.include_run(&mut least, trace.thread(e), chains.position(e));
        }
        let mut limit = lengths(trace_model);
        for &e in &query.next {
            let limit = &mut limit[trace.thread(e).index()];
            *limit = (*limit).min(chains.position(e));
        }
        if let Goal::Broken(read) = query.goal {
            let limit = &mut limit[trace.thread(read).index()];
            *limit = (*limit).min(chains.position(read) + 1);
        }
        lower_to_what_can_run(trace_model, &mut limit);
        if least.iter().zip(&limit).any(|(least, limit)| least > limit) {
            return None;
        }
        let threads = chains.thread_count();
        let mut cone = Cone {
            trace_model,
            most: vec![0; threads],
            limit,
            conditions: Vec::new(),
            work: vec![],
        };
        cone.conditions.resize(trace.condition_count(), false);
        for (t, &count) in least.iter().enumerate() {
            cone.raise(ThreadId::from_index(t), count);
        }
        add_goal(&mut cone);
        if trace_model.model == Model::Symbolic {
            // The values that these find decide whether their conflict is real.
            for e in query.real.iter().flat_map(|&(a, b)| [a, b]) {
                cone.writers(e);
            }
        }
        cone.close();
        Some(Self { least, most: cone.most })
    }

    /// Whether an event has run in every interleaving.
    pub(crate) fn always(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        trace_model.chains.position(e) < self.least[trace_model.trace.thread(e).index()]
    }

    /// Whether an event runs in none.
    pub(crate) fn never(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        trace_model.chains.position(e) >= self.most[trace_model.trace.thread(e).index()]
    }
}

fn lengths(trace_model: &TraceModel<'_>) -> Frontier {
    let threads = 0..trace_model.chains.thread_count();
    threads.map(|t| trace_model.chains.events(ThreadId::from_index(t)).len() as u32).collect()
}

/// Cuts each thread off where must-happen-before asks for something beyond a limit.
fn lower_to_what_can_run(trace_model: &TraceModel<'_>, limit: &mut Frontier) {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let fixed = limit.clone();
    for (t, most) in limit.iter_mut().enumerate() {
        let events = &chains.events(ThreadId::from_index(t))[..*most as usize];
        // The needs of events only grow along a thread.
        let can_run = events.partition_point(|&e| {
            let needs = must_happen_before.to_run(chains, trace, e);
            needs.iter().zip(&fixed).all(|(need, limit)| need <= limit)
        });
        *most = can_run as u32;
    }
}

struct Cone<'a> {
    trace_model: &'a TraceModel<'a>,
    most: Frontier,
    limit: Frontier,
    /// The conditions that are in already, by index.
    conditions: Vec<bool>,
    work: Vec<EventId>,
}

impl Cone<'_> {
    /// The first `count` events of a thread may run.
    fn raise(&mut self, thread: ThreadId, count: u32) {
        let t = thread.index();
        let count = count.min(self.limit[t]);
        if count > self.most[t] {
            let events = self.trace_model.chains.events(thread);
            self.work.extend(&events[self.most[t] as usize..count as usize]);
            self.most[t] = count;
        }
    }

    fn add(&mut self, e: EventId) {
        self.raise(self.trace_model.trace.thread(e), self.trace_model.chains.position(e) + 1);
    }

    fn add_all(&mut self, events: &[EventId]) {
        for &e in events {
            foretell_limit::check();
            self.add(e);
        }
    }

    fn goal(&mut self, goal: Goal) {
        let trace_model = self.trace_model;
        match goal {
            Goal::Reach | Goal::Overwritten(..) | Goal::Unordered(..) | Goal::Stuck(_) => {}
            Goal::Broken(read) => {
                if let Some(x) = trace_model.trace.variable(read) {
                    self.add_all(trace_model.reads_from.writes(x));
                }
            }
            Goal::Path(block) => {
                let inside = accesses_of(trace_model, block);
                self.add_all(&inside);
                self.add_all(&segment_steps(trace_model, block));
            }
            // A cycle may go back in time, so nothing is too far away.
            Goal::Cycle(_) => {
                for t in (0..self.most.len()).map(ThreadId::from_index) {
                    self.raise(t, u32::MAX);
                }
            }
        }
    }

    fn close(&mut self) {
        while let Some(e) = self.work.pop() {
            foretell_limit::check();
            self.needs(e);
        }
    }

    fn needs(&mut self, e: EventId) {
        let trace_model = self.trace_model;
        let TraceModel { trace, chains, locks, counters, .. } = trace_model;
        if chains.position(e) == 0
            && let Some(fork) = chains.fork(trace.thread(e))
        {
            self.add(fork);
        }
        if trace.op(e).reads() {
            self.writers(e);
        }
        if let Some(section) = locks.entered_at(e)
            && let Some(exit) = locks.get(section).exit
        {
            self.add(exit);
        }
        match trace.event(e).kind {
            EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock } => {
                for &s in locks.of_lock(lock) {
                    foretell_limit::check();
                    if locks.makes_fail(trace, s, e) {
                        self.add(locks.get(s).enter);
                    }
                }
            }
            EventKind::Join { thread } => {
                self.raise(thread, u32::MAX);
                self.add_all(chains.fork(thread).as_slice());
            }
            EventKind::Down { sem } => self.add_all(counters.posts(sem)),
            EventKind::Leave { barrier } => self.add_all(counters.arrivals(barrier)),
            EventKind::Woken { cond, .. } | EventKind::TimedOut { cond, .. } => {
                self.condition(cond);
            }
            _ => {}
        }
    }

    /// The writes that an access may have to see may run.
    fn writers(&mut self, e: EventId) {
        let trace_model = self.trace_model;
        let TraceModel { trace, chains, reads_from, must_happen_before, .. } = trace_model;
        if trace_model.uses_hidden_state(e) {
            self.add_all(reads_from.observed(e).as_slice());
            return;
        }
        if trace_model.model != Model::Symbolic {
            for writer in super::writers::writers(trace_model, e, true).into_iter().flatten() {
                foretell_limit::check();
                self.add(writer);
            }
            return;
        }
        // Any write will do, so the last one of each thread stands for those before it.
        let Some(x) = trace.variable(e) else { return };
        for (thread, writes) in reads_from.writes_by_thread(x) {
            let after =
                must_happen_before.first_after(chains, trace, e, *thread).unwrap_or(u32::MAX);
            let end = writes.partition_point(|&w| chains.position(w) < after);
            self.add_all(writes[..end].last().map_or(&[], std::slice::from_ref));
        }
    }

    /// Everything that happens on a condition may run.
    fn condition(&mut self, c: CondId) {
        if std::mem::replace(&mut self.conditions[c.index()], true) {
            return;
        }
        let waits = &self.trace_model.waits;
        self.add_all(waits.notifies(c));
        self.add_all(waits.notify_alls(c));
        for &w in waits.of_cond(c) {
            foretell_limit::check();
            self.add(waits.get(w).enter);
        }
    }
}

/// The accesses of other threads in the trace atomicity segment of a block: those that can come
/// after its first access and before its last.
pub(crate) fn segment_steps(trace_model: &TraceModel<'_>, block: BlockId) -> Vec<EventId> {
    let trace = trace_model.trace;
    let own = trace_model.blocks.get(block).thread;
    let segment = trace_model.segment(block);
    let step = |&e: &EventId| trace.thread(e) != own && visible_variable(trace, e).is_some();
    trace.ids().filter(|e| segment.contains(trace_model, *e)).filter(step).collect()
}
