//! A witness without search: run what the query needs, as it was observed, and keep back what
//! would be in the way.
//!
//! Every interleaving that the query asks for contains the frontier of must-happen-before. In the
//! observed order that set breaks a rule only where a thread stops inside a section and somebody
//! else takes the lock later. Such a section is put behind all others of its lock; everything else
//! keeps the observed order as far as it can. This is the idea of synchronization-preserving races
//! (Mathur, Pavlogiannis and Viswanathan, POPL 2021) with the optimistic reversals of Shi, Mathur
//! and Pavlogiannis (ICSE 2024). It departs from both in that the order is not fixed in advance: a
//! simulation picks the first event of the trace that can go on ([`greedy`]).
//!
//! There are two attempts. The lean one runs no more than it must. The generous one leaves
//! contested sections, runs the writers that the reads saw and the owners that failed try-locks
//! ran into.
//!
//! Nothing is proved here: where both attempts get stuck, the solver decides, and what they find
//! passes the simulator like every proposal. A query with a goal is not attempted.
//!
//! What the solver decides is completed in the same way ([`Attempt::complete`]): it orders some
//! events, and the rest finds its place by itself. Where that gets stuck, the rules that are to
//! blame are what the solver has to learn.

mod greedy;
mod stuck;

use foretell_model::must::Frontier;
use foretell_model::{SectionId, Structure};
use foretell_trace::{EventId, EventKind, Op, ThreadId};

use self::greedy::{Greedy, Plan};
use super::linearize::Proposal;
use super::observes;
use super::simulate::{Demands, Simulator, Violation};
use crate::query::{Goal, Query};

/// How often a run that got stuck is tried again with a few events in another order.
const MOST_REVERSALS: usize = 64;

/// Attempts queries about one trace. Keeps its tables between them.
pub(crate) struct Attempt {
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

impl Attempt {
    pub(crate) fn new(structure: &Structure<'_>) -> Self {
        Self { greedy: Greedy::new(structure), open: Vec::new(), scanned: Vec::new() }
    }

    /// A feasible sequence that the query asks for, if one is easy to find. `frontier` is what
    /// every such sequence has run.
    pub(crate) fn find(
        &mut self,
        structure: &Structure<'_>,
        simulator: &mut Simulator,
        query: &Query,
        frontier: &Frontier,
    ) -> Option<Proposal> {
        if query.goal != Goal::Reach {
            return None;
        }
        let Structure { trace, chains, .. } = structure;
        let previous = query.next.iter().filter_map(|&e| chains.previous(trace, e));
        let relied: Vec<EventId> = previous.filter(|&e| observes(trace.op(e))).collect();
        let demands = Relied(&relied);
        let mut lean = frontier.clone();
        self.close(structure, query, &mut lean, false)?;
        if let found @ Some(_) = self.feasible(structure, simulator, query, &demands, lean.clone())
        {
            return found;
        }
        let mut generous = lean.clone();
        self.close(structure, query, &mut generous, true)?;
        if generous == lean {
            return None;
        }
        self.feasible(structure, simulator, query, &demands, generous)
    }

    /// Runs the first `counts` events of each thread, if the simulator has nothing against it.
    fn feasible(
        &mut self,
        structure: &Structure<'_>,
        simulator: &mut Simulator,
        query: &Query,
        demands: &Relied<'_>,
        counts: Frontier,
    ) -> Option<Proposal> {
        let mut order = query.order.clone();
        let found = self.complete(structure, &mut order, demands, counts).ok()?;
        let outcome = simulator.run(structure, &found, demands, &[]);
        outcome.violations.is_empty().then_some(found)
    }

    /// Runs the first `counts` events of each thread, those of `order` in that order. Where it gets
    /// stuck, the order is extended by what would have helped, a few times. If that is no use, the
    /// rules that are to blame.
    pub(crate) fn complete(
        &mut self,
        structure: &Structure<'_>,
        order: &mut Vec<(EventId, EventId)>,
        demands: &impl Demands,
        counts: Frontier,
    ) -> Result<Proposal, Vec<Violation>> {
        let mut violations = Vec::new();
        for _ in 0..MOST_REVERSALS {
            order.sort_unstable_by_key(|&(x, y)| (y, x));
            let prefix = self.prefix(structure, order, &counts);
            let plan = Plan { structure, order, demands, counts: &counts, prefix };
            let stuck = match self.greedy.run(&plan) {
                Ok(tail) => return Ok(Proposal { prefix, tail, counts }),
                Err(stuck) => stuck,
            };
            violations.extend(stuck.violations);
            if stuck.hopeless {
                break;
            }
            order.extend(stuck.reversals);
        }
        Err(violations)
    }

    /// How much of the trace can run as it was observed: up to the first event that is left out or
    /// has to wait for a later one.
    fn prefix(
        &mut self,
        structure: &Structure<'_>,
        order: &[(EventId, EventId)],
        counts: &[u32],
    ) -> u32 {
        let mut prefix = first_left_out(structure, counts).min(structure.explained);
        self.find_open(structure, counts);
        for &s in &self.open {
            let enter = structure.locks.get(s).enter.0;
            if enter < prefix && contested(structure, counts, s, Some(enter)) {
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
        structure: &Structure<'_>,
        query: &Query,
        frontier: &mut Frontier,
        generous: bool,
    ) -> Option<()> {
        let Structure { trace, chains, .. } = structure;
        if generous {
            let first = first_left_out(structure, frontier);
            let threads = (0..chains.thread_count()).map(ThreadId::from_index);
            self.scanned.clear();
            self.scanned
                .extend(threads.map(|t| chains.events(t).partition_point(|e| e.0 < first) as u32));
        }
        loop {
            if generous {
                self.include_sources(structure, frontier);
            }
            let grew = self.leave_sections(structure, query, frontier, generous)?;
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
        structure: &Structure<'_>,
        query: &Query,
        frontier: &mut Frontier,
        generous: bool,
    ) -> Option<bool> {
        let Structure { trace, chains, locks, must, .. } = structure;
        self.find_open(structure, frontier);
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
                let both_shared = locks.get(s).shared && locks.get(kept).shared;
                let in_the_way = if s == kept {
                    generous && !stays(s) && contested(structure, frontier, s, None)
                } else {
                    !both_shared
                };
                if !in_the_way {
                    continue;
                }
                let exit = locks.get(s).exit.filter(|_| !stays(s))?;
                must.include(frontier, trace.thread(exit), chains.position(exit) + 1);
                grew = true;
            }
        }
        Some(grew)
    }

    /// Finds the sections that a frontier is inside of.
    fn find_open(&mut self, structure: &Structure<'_>, counts: &[u32]) {
        let Structure { chains, locks, .. } = structure;
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
    fn include_sources(&mut self, structure: &Structure<'_>, frontier: &mut Frontier) {
        let Structure { trace, chains, must, couples, .. } = structure;
        let mut grew = true;
        while grew {
            grew = false;
            for t in 0..frontier.len() {
                while self.scanned[t] < frontier[t] {
                    let e = chains.events(ThreadId::from_index(t))[self.scanned[t] as usize];
                    self.scanned[t] += 1;
                    let source = match trace.op(e) {
                        op if op.reads() => couples.observed(e),
                        Op::TryFailed => {
                            owner_met(structure, e).map(|s| structure.locks.get(s).enter)
                        }
                        _ => None,
                    };
                    let Some(source) = source else { continue };
                    let (thread, position) = (trace.thread(source), chains.position(source));
                    if frontier[thread.index()] <= position {
                        if trace.op(source).reads() {
                            must.include(frontier, thread, position + 1);
                        } else {
                            must.include_run(frontier, thread, position);
                        }
                        grew = true;
                    }
                }
            }
        }
    }
}

/// The first event of the trace that is not among the first `counts` of its thread.
fn first_left_out(structure: &Structure<'_>, counts: &[u32]) -> u32 {
    let threads = (0..counts.len()).map(ThreadId::from_index);
    let left_out =
        threads.filter_map(|t| structure.chains.events(t).get(counts[t.index()] as usize));
    left_out.map(|e| e.0).min().unwrap_or(structure.trace.len() as u32)
}

/// Whether another thread enters a section of the same lock, perhaps only after the event with
/// index `after`.
fn contested(structure: &Structure<'_>, counts: &[u32], s: SectionId, after: Option<u32>) -> bool {
    let Structure { chains, locks, .. } = structure;
    let own = locks.get(s);
    locks.of_lock_by_thread(own.lock).iter().filter(|(t, _)| *t != own.thread).any(|(t, list)| {
        let count = counts[t.index()];
        let entered = list.partition_point(|&s| chains.position(locks.get(s).enter) < count);
        let last = list[..entered].last().map(|&s| locks.get(s).enter.0);
        last.is_some_and(|last| after.is_none_or(|after| after < last))
    })
}

/// The section that a failed try-lock ran into.
fn owner_met(structure: &Structure<'_>, e: EventId) -> Option<SectionId> {
    let Structure { trace, locks, .. } = structure;
    let EventKind::TryFailed { lock } = trace.event(e).kind else { return None };
    let owns = |s: &SectionId| {
        let section = locks.get(*s);
        !section.shared && section.thread != trace.thread(e)
    };
    locks.open_at(lock, e.0).into_iter().find(owns)
}
