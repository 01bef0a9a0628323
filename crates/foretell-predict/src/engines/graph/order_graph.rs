//! The witness order graph G' of the nondeterminism paper (section III.A), as it is sound for
//! interleavings that end anywhere.
//!
//! Nodes are events. The edges that every witness has (program order, forks and joins, read
//! couples, and what locks make of them) are those of must-happen-before, computed once for the
//! trace and kept as vector clocks; a graph only stores the edges that its witness adds. Each of
//! these knows everything that comes before its head, so that "is there a path" is a comparison of
//! two numbers.
//!
//! A graph also has a *frontier*: how many events of each thread have run in every interleaving
//! that shows the witness, and a *bound*: how many may have run at most (nothing runs after a
//! broken read in its thread; an absent writer does not run). An edge says that its tail runs
//! before its head wherever the head runs; all heads are in the frontier, so adding an edge adds
//! its tail to the frontier. A graph that wants more than the bound is as impossible as a cyclic
//! one.
//!
//! Induced edges: two sections of a lock have both been entered. If the first one's beginning comes
//! before the second one's end, or the second one is never left within the bound, then the first
//! one is left before the second one is entered.

use foretell_model::Frontier;
use foretell_model::{Section, SectionId, TraceModel};
use foretell_trace::{EventId, LockId, ThreadId};

/// There is a cycle, or the frontier is beyond the bound: no interleaving shows the witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cyclic;

/// Tables that all graphs of a trace share.
pub(crate) struct Base<'s> {
    pub(crate) trace_model: &'s TraceModel<'s>,
    /// Locks that several threads take.
    pub(crate) contended: Vec<LockId>,
    /// Sections that are never left, by thread.
    never_left: Vec<Vec<SectionId>>,
}

impl<'s> Base<'s> {
    pub(crate) fn new(trace_model: &'s TraceModel<'s>) -> Self {
        let locks = (0..trace_model.trace.lock_count()).map(LockId::from_index);
        let contended =
            locks.filter(|&l| trace_model.locks.of_lock_by_thread(l).len() > 1).collect();
        let mut never_left = vec![Vec::new(); trace_model.chains.thread_count()];
        for (i, section) in trace_model.locks.all().iter().enumerate() {
            foretell_limit::check();
            if section.exit.is_none() {
                never_left[section.thread.index()].push(SectionId(i as u32));
            }
        }
        Self { trace_model, contended, never_left }
    }
}

/// An edge that a witness adds.
#[derive(Clone)]
struct Edge {
    head: EventId,
    /// All that comes before the head because of this edge, the tail included.
    before: Frontier,
    /// In each thread the first place that comes after the head by must-happen-before (the head
    /// itself in its own).
    after: Vec<u32>,
}

/// A witness order graph, or a choice graph.
#[derive(Clone)]
pub(crate) struct OrderGraph<'b> {
    pub(crate) base: &'b Base<'b>,
    pub(crate) frontier: Frontier,
    bound: Frontier,
    edges: Vec<Edge>,
}

pub(crate) fn excludes(a: &Section, b: &Section) -> bool {
    !(a.shared && b.shared)
}

fn raise(frontier: &mut [u32], other: &[u32]) -> bool {
    let mut grew = false;
    for (mine, &theirs) in frontier.iter_mut().zip(other) {
        if *mine < theirs {
            *mine = theirs;
            grew = true;
        }
    }
    grew
}

impl<'b> OrderGraph<'b> {
    /// Nothing has run and everything may.
    pub(crate) fn new(base: &'b Base<'b>) -> Self {
        let threads = base.trace_model.chains.thread_count();
        let events = |t| base.trace_model.chains.events(ThreadId::from_index(t)).len() as u32;
        Self {
            base,
            frontier: vec![0; threads],
            bound: (0..threads).map(events).collect(),
            edges: Vec::new(),
        }
    }

    /// Everything runs.
    pub(crate) fn run_everything(&mut self) {
        self.frontier.clone_from(&self.bound);
    }

    fn place(&self, e: EventId) -> (usize, u32) {
        let TraceModel { trace, chains, .. } = self.base.trace_model;
        (trace.thread(e).index(), chains.position(e))
    }

    /// `e` runs.
    pub(crate) fn run(&mut self, e: EventId) -> Result<(), Cyclic> {
        let needed = self.down(e);
        raise(&mut self.frontier, &needed);
        self.within_bound()
    }

    /// Nothing of its thread runs after `e`.
    pub(crate) fn cut_after(&mut self, e: EventId) -> Result<(), Cyclic> {
        let (thread, position) = self.place(e);
        self.bound[thread] = self.bound[thread].min(position + 1);
        self.within_bound()
    }

    /// `e` does not run.
    pub(crate) fn leave_out(&mut self, e: EventId) -> Result<(), Cyclic> {
        let (thread, position) = self.place(e);
        self.bound[thread] = self.bound[thread].min(position);
        self.within_bound()
    }

    fn within_bound(&self) -> Result<(), Cyclic> {
        let within = self.frontier.iter().zip(&self.bound).all(|(f, b)| f <= b);
        if within { Ok(()) } else { Err(Cyclic) }
    }

    pub(crate) fn runs(&self, e: EventId) -> bool {
        let (thread, position) = self.place(e);
        position < self.frontier[thread]
    }

    /// All that comes before `e`, itself included.
    pub(crate) fn down(&self, e: EventId) -> Frontier {
        let TraceModel { trace, chains, must_happen_before, .. } = self.base.trace_model;
        let mut down = must_happen_before.to_run(chains, trace, e);
        down[trace.thread(e).index()] += 1;
        self.close(&mut down);
        down
    }

    /// Adds what the witness's edges put before the events of a set that is closed without them.
    fn close(&self, set: &mut Frontier) {
        for edge in &self.edges {
            foretell_limit::check();
            let (thread, position) = self.place(edge.head);
            if set[thread] > position {
                raise(set, &edge.before);
            }
        }
    }

    /// In each thread the first place that comes after `e` (itself in its own thread).
    pub(crate) fn up(&self, e: EventId) -> Vec<u32> {
        let mut up = self.first_after(e);
        let (thread, position) = self.place(e);
        for edge in self.edges.iter().filter(|edge| edge.before[thread] > position) {
            for (mine, &theirs) in up.iter_mut().zip(&edge.after) {
                *mine = (*mine).min(theirs);
            }
        }
        up
    }

    fn first_after(&self, e: EventId) -> Vec<u32> {
        let TraceModel { trace, chains, must_happen_before, .. } = self.base.trace_model;
        let threads = (0..chains.thread_count()).map(ThreadId::from_index);
        threads
            .map(|t| must_happen_before.first_after(chains, trace, e, t).unwrap_or(u32::MAX))
            .collect()
    }

    /// The heads and tails of the witness's edges: the first places after any head, and all that is
    /// before any of them.
    pub(crate) fn ends(&self) -> (Vec<u32>, Frontier) {
        let threads = self.frontier.len();
        let (mut up, mut down) = (vec![u32::MAX; threads], vec![0; threads]);
        for edge in &self.edges {
            raise(&mut down, &edge.before);
            for (mine, &theirs) in up.iter_mut().zip(&edge.after) {
                *mine = (*mine).min(theirs);
            }
        }
        (up, down)
    }

    /// Adds an edge; whether it was new.
    pub(crate) fn edge(&mut self, tail: EventId, head: EventId) -> Result<bool, Cyclic> {
        let (tail_thread, tail_position) = self.place(tail);
        if self.down(head)[tail_thread] > tail_position && tail != head {
            return Ok(false);
        }
        let before = self.down(tail);
        let (thread, position) = self.place(head);
        if before[thread] > position {
            return Err(Cyclic);
        }
        raise(&mut self.frontier, &before);
        self.within_bound()?;
        for edge in self.edges.iter_mut().filter(|edge| edge.before[thread] > position) {
            raise(&mut edge.before, &before);
        }
        let after = self.first_after(head);
        self.edges.push(Edge { head, before, after });
        Ok(true)
    }

    /// Adds induced edges until there are no more.
    pub(crate) fn saturate(&mut self) -> Result<(), Cyclic> {
        loop {
            let mut grew = self.leave_for_open_sections()?;
            for i in 0..self.edges.len() {
                foretell_limit::check();
                grew |= self.induced_by(i)?;
            }
            if !grew {
                return Ok(());
            }
        }
    }

    /// Whether a section cannot be left within the bound.
    pub(crate) fn stays_open(&self, section: &Section) -> bool {
        let bound = self.bound[section.thread.index()];
        section.exit.is_none_or(|exit| self.base.trace_model.chains.position(exit) >= bound)
    }

    /// Orders a section that is never left after all others of its lock.
    fn leave_for_open_sections(&mut self) -> Result<bool, Cyclic> {
        let trace_model = self.base.trace_model;
        let mut grew = false;
        for t in 0..self.frontier.len() {
            foretell_limit::check();
            let events = trace_model.chains.events(ThreadId::from_index(t));
            let open: &[SectionId] = match events.get(self.bound[t] as usize) {
                Some(&beyond) => trace_model.locks.held_before(beyond),
                None => &self.base.never_left[t],
            };
            for &section in open {
                let open = trace_model.locks.get(section);
                if trace_model.chains.position(open.enter) >= self.frontier[t] {
                    continue;
                }
                for (thread, list) in trace_model.locks.of_lock_by_thread(open.lock) {
                    foretell_limit::check();
                    if *thread != open.thread {
                        let entered = self.frontier[thread.index()];
                        grew |= self.leave_last(list, entered, open)?;
                    }
                }
            }
        }
        Ok(grew)
    }

    /// The last of a thread's sections among its first `entered` events that excludes `later` is
    /// left before `later` is entered.
    fn leave_last(
        &mut self,
        list: &[SectionId],
        entered: u32,
        later: &Section,
    ) -> Result<bool, Cyclic> {
        let TraceModel { chains, locks, .. } = self.base.trace_model;
        let end = list.partition_point(|&s| chains.position(locks.get(s).enter) < entered);
        let earlier = list[..end].iter().rev().map(|&s| locks.get(s));
        match earlier.into_iter().find(|s| excludes(s, later)) {
            Some(earlier) => self.order_sections(earlier, later),
            None => Ok(false),
        }
    }

    /// One section before another one.
    pub(crate) fn order_sections(
        &mut self,
        earlier: &Section,
        later: &Section,
    ) -> Result<bool, Cyclic> {
        match earlier.exit.filter(|_| !self.stays_open(earlier)) {
            Some(exit) => self.edge(exit, later.enter),
            None => Err(Cyclic),
        }
    }

    /// Sections that begin before an edge and sections that end after it.
    fn induced_by(&mut self, i: usize) -> Result<bool, Cyclic> {
        let TraceModel { chains, locks, .. } = self.base.trace_model;
        let after = self.up(self.edges[i].head);
        let mut grew = false;
        for l in 0..self.base.contended.len() {
            let threads = locks.of_lock_by_thread(self.base.contended[l]);
            for (late, list) in threads {
                foretell_limit::check();
                let (from, entered) = (after[late.index()], self.frontier[late.index()]);
                let left_before =
                    |s: &SectionId| locks.get(*s).exit.is_some_and(|x| chains.position(x) < from);
                let later = list[list.partition_point(left_before)..].iter().map(|&s| locks.get(s));
                let mut later = later.take_while(|s| chains.position(s.enter) < entered);
                // After a reader's section, the first writer's one counts as well.
                let first = later.next();
                let writer = first.filter(|s| s.shared).and_then(|_| later.find(|s| !s.shared));
                for later in [first, writer].into_iter().flatten() {
                    // Events that come before the section anyway are in order already.
                    let known = self.down(later.enter);
                    for (early, list) in threads {
                        foretell_limit::check();
                        let before = self.edges[i].before[early.index()];
                        if early != late && before > known[early.index()] {
                            grew |= self.leave_last(list, before, later)?;
                        }
                    }
                }
            }
        }
        Ok(grew)
    }
}
