//! A witness without search: run what the query needs, as it was observed, and keep back what
//! would be in the way.
//!
//! Every interleaving that the query asks for contains the frontier of must-happen-before. In the
//! observed order that set breaks a rule only where a thread stops inside a section and another
//! thread takes the lock later. Such a section is put behind all others of its lock; everything
//! else keeps the observed order as far as it can. This is the idea of synchronization-preserving
//! races (Mathur, Pavlogiannis and Viswanathan, POPL 2021) with the optimistic reversals of Shi,
//! Mathur and Pavlogiannis (ICSE 2024). It departs from both in that the order is not fixed in
//! advance: a simulation picks the first event of the trace that can go on ([`greedy`]).
//!
//! There are two attempts. The lean one runs no more than it must. The generous one leaves
//! contested sections, runs the writers that the reads saw and the owners that failed try-locks
//! ran into.
//!
//! Nothing is proved here: where both attempts get stuck, the solver decides, and what they find
//! passes the simulator like every proposal. A query with a goal is not attempted.
//!
//! Proposals of the solver are completed in the same way ([`GreedyWitness::complete`]): it orders
//! some events, and the rest finds its place by itself. Where that gets stuck, the rules that are
//! to blame are what the solver has to learn.

mod greedy;
mod stuck;

use foretell_model::Frontier;
use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, ThreadId};

use self::greedy::{Greedy, Plan, owner_met};
use super::linearize::Proposal;
use super::simulate::{Demands, Simulator, Violation};
use crate::query::{Goal, Query};

/// Limit on repeating a run that got stuck with a few events in another order.
const MOST_REVERSALS: usize = 64;

/// Greedy search for witnesses about one trace. Its tables stay from query to query.
pub(crate) struct GreedyWitness {
    greedy: Greedy,
    /// The sections that a frontier is inside of.
    open: Vec<SectionId>,
    /// By thread: the events whose sources are in the frontier.
    scanned: Vec<u32>,
}

/// Events at the end of their threads whose view counts.
struct Relied<'a>(&'a [EventId]);

impl Demands for Relied<'_> {
    fn must_be_preserved(&self, e: EventId) -> bool {
        self.0.contains(&e)
    }
}

impl GreedyWitness {
    pub(crate) fn new(trace_model: &TraceModel<'_>) -> Self {
        Self { greedy: Greedy::new(trace_model), open: Vec::new(), scanned: Vec::new() }
    }

    /// A feasible sequence that the query asks for, if one is easy to find. `frontier` is what
    /// every such sequence has run.
    pub(crate) fn find(
        &mut self,
        trace_model: &TraceModel<'_>,
        simulator: &mut Simulator,
        query: &Query,
        frontier: &Frontier,
    ) -> Option<Proposal> {
        if query.goal != Goal::Reach {
            return None;
        }
        let TraceModel { trace, chains, .. } = trace_model;
        let previous = query.next.iter().filter_map(|&e| chains.previous(trace, e));
        let relied: Vec<EventId> = previous.filter(|&e| trace.op(e).observes()).collect();
        let demands = Relied(&relied);
        let mut lean = frontier.clone();
        self.close(trace_model, query, &mut lean, false)?;
        if let found @ Some(_) =
            self.feasible(trace_model, simulator, query, &demands, lean.clone())
        {
            return found;
        }
        let mut generous = lean.clone();
        self.close(trace_model, query, &mut generous, true)?;
        if generous == lean {
            return None;
        }
        self.feasible(trace_model, simulator, query, &demands, generous)
    }

    /// Runs the first `counts` events of each thread, if the simulator has nothing against it.
    fn feasible(
        &mut self,
        trace_model: &TraceModel<'_>,
        simulator: &mut Simulator,
        query: &Query,
        demands: &Relied<'_>,
        counts: Frontier,
    ) -> Option<Proposal> {
        let mut order = query.order.clone();
        let found = self.complete(trace_model, &mut order, demands, counts).ok()?;
        let outcome = simulator.run(trace_model, &found, demands, &[]);
        outcome.violations.is_empty().then_some(found)
    }

    /// Runs the first `counts` events of each thread, those of `order` in that order. Where it gets
    /// stuck, the order is extended by what would have helped, a few times. If that is no use, the
    /// rules that are to blame.
    pub(crate) fn complete(
        &mut self,
        trace_model: &TraceModel<'_>,
        order: &mut Vec<(EventId, EventId)>,
        demands: &impl Demands,
        counts: Frontier,
    ) -> Result<Proposal, Vec<Violation>> {
        let mut violations = Vec::new();
        for _ in 0..MOST_REVERSALS {
            foretell_limit::check();
            order.sort_unstable_by_key(|&(x, y)| (y, x));
            let prefix = self.prefix(trace_model, order, &counts);
            let plan = Plan { trace_model, order, demands, counts: &counts, prefix };
            if let Some(tail) = self.greedy.run(&plan) {
                return Ok(Proposal { prefix, tail, counts });
            }
            let stuck = self.greedy.stuck(&plan);
            violations.extend(stuck.violations);
            if stuck.hopeless {
                break;
            }
            order.extend(stuck.reversals);
        }
        Err(violations)
    }

    /// Returns the length of the prefix that can run as observed: up to the first event that is
    /// left out or has to wait for a later one.
    fn prefix(
        &mut self,
        trace_model: &TraceModel<'_>,
        order: &[(EventId, EventId)],
        counts: &[u32],
    ) -> u32 {
        let mut prefix = first_left_out(trace_model, counts).min(trace_model.feasible_prefix);
        self.find_open(trace_model, counts);
        for &s in &self.open {
            let enter = trace_model.locks.get(s).enter.0;
            if enter < prefix && contested(trace_model, counts, s, Some(enter)) {
                prefix = enter;
            }
        }
        let reversed = order.iter().filter(|(x, y)| y < x).map(|(_, y)| y.0);
        reversed.fold(prefix, u32::min)
    }

    /// Extends a frontier until no two threads are inside sections that exclude each other; `None`
    /// if that runs events which are to be next. A generous one has more, see above.
    fn close(
        &mut self,
        trace_model: &TraceModel<'_>,
        query: &Query,
        frontier: &mut Frontier,
        generous: bool,
    ) -> Option<()> {
        let TraceModel { trace, chains, .. } = trace_model;
        if generous {
            let first = first_left_out(trace_model, frontier);
            let threads = (0..chains.thread_count()).map(ThreadId::from_index);
            self.scanned.clear();
            self.scanned
                .extend(threads.map(|t| chains.events(t).partition_point(|e| e.0 < first) as u32));
        }
        loop {
            foretell_limit::check();
            if generous {
                self.include_sources(trace_model, frontier);
            }
            let grew = self.leave_sections(trace_model, query, frontier, generous)?;
            let passed = |e: &EventId| frontier[trace.thread(*e).index()] > chains.position(*e);
            if query.next.iter().any(passed) {
                return None;
            }
            if !grew {
                return Some(());
            }
        }
    }

    /// Leaves all but one section of each lock; whether the frontier grew.
    fn leave_sections(
        &mut self,
        trace_model: &TraceModel<'_>,
        query: &Query,
        frontier: &mut Frontier,
        generous: bool,
    ) -> Option<bool> {
        let TraceModel { trace, chains, locks, must_happen_before, .. } = trace_model;
        self.find_open(trace_model, frontier);
        self.open.sort_unstable_by_key(|&s| (locks.get(s).lock, s));
        let stays = |s: SectionId| {
            let section = locks.get(s);
            section.exit.is_none() || query.next.iter().any(|&e| trace.thread(e) == section.thread)
        };
        let mut grew = false;
        for group in self.open.chunk_by(|&a, &b| locks.get(a).lock == locks.get(b).lock) {
            // The last one, if there is a choice: that is the least change.
            let Some(&kept) = group.iter().max_by_key(|&&s| (stays(s), s)) else { continue };
            for &s in group {
                foretell_limit::check();
                let both_shared = locks.get(s).shared && locks.get(kept).shared;
                let in_the_way = if s == kept {
                    generous && !stays(s) && contested(trace_model, frontier, s, None)
                } else {
                    !both_shared
                };
                if !in_the_way {
                    continue;
                }
                let exit = locks.get(s).exit.filter(|_| !stays(s))?;
                must_happen_before.include(frontier, trace.thread(exit), chains.position(exit) + 1);
                grew = true;
            }
        }
        Some(grew)
    }

    /// Finds the sections that a frontier is inside of.
    fn find_open(&mut self, trace_model: &TraceModel<'_>, counts: &[u32]) {
        let TraceModel { chains, locks, .. } = trace_model;
        self.open.clear();
        for (t, &count) in counts.iter().enumerate() {
            let events = chains.events(ThreadId::from_index(t));
            match (events.get(count as usize), events.last()) {
                (Some(&next), _) => self.open.extend(locks.held_before(next)),
                (None, Some(&last)) => {
                    let held = locks.held_before(last).iter().copied();
                    self.open.extend(held.filter(|&s| locks.get(s).exit != Some(last)));
                    self.open.extend(locks.entered_at(last));
                }
                (None, None) => {}
            }
        }
    }

    /// Includes the writers that the reads of a frontier saw, and the owners that its failed
    /// try-locks ran into.
    fn include_sources(&mut self, trace_model: &TraceModel<'_>, frontier: &mut Frontier) {
        let TraceModel { trace, chains, must_happen_before, reads_from, .. } = trace_model;
        let mut grew = true;
        while grew {
            grew = false;
            for t in 0..frontier.len() {
                while self.scanned[t] < frontier[t] {
                    foretell_limit::check();
                    let e = chains.events(ThreadId::from_index(t))[self.scanned[t] as usize];
                    self.scanned[t] += 1;
                    let source = match trace.op(e) {
                        op if op.reads() => reads_from.observed(e),
                        op if op.is_failed_try() => {
                            owner_met(trace_model, e).map(|s| trace_model.locks.get(s).enter)
                        }
                        _ => None,
                    };
                    let Some(source) = source else { continue };
                    let (thread, position) = (trace.thread(source), chains.position(source));
                    if frontier[thread.index()] <= position {
                        if trace.op(source).reads() {
                            must_happen_before.include(frontier, thread, position + 1);
                        } else {
                            must_happen_before.include_run(frontier, thread, position);
                        }
                        grew = true;
                    }
                }
            }
        }
    }
}

/// The first event of the trace that is not among the first `counts` of its thread.
fn first_left_out(trace_model: &TraceModel<'_>, counts: &[u32]) -> u32 {
    let threads = (0..counts.len()).map(ThreadId::from_index);
    let left_out =
        threads.filter_map(|t| trace_model.chains.events(t).get(counts[t.index()] as usize));
    left_out.map(|e| e.0).min().unwrap_or(trace_model.trace.len() as u32)
}

/// Whether another thread enters a section of the same lock, perhaps only after the event with
/// index `after`.
fn contested(
    trace_model: &TraceModel<'_>,
    counts: &[u32],
    s: SectionId,
    after: Option<u32>,
) -> bool {
    let TraceModel { chains, locks, .. } = trace_model;
    let own = locks.get(s);
    locks.of_lock_by_thread(own.lock).iter().filter(|(t, _)| *t != own.thread).any(|(t, list)| {
        let count = counts[t.index()];
        let entered = list.partition_point(|&s| chains.position(locks.get(s).enter) < count);
        let last = list[..entered].last().map(|&s| locks.get(s).enter.0);
        last.is_some_and(|last| after.is_none_or(|after| after < last))
    })
}
