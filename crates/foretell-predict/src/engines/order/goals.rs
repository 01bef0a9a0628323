//! Goals as clauses: a broken read, an overwritten last write, a path out of a block and back, a cycle of
//! transactions.
//!
//! Each goal gets a switch, a literal that is assumed for this query only and implies the goal's
//! clauses.
//!
//! *Paths* are reachability, not enumeration: `reached(u)` for every access that can lie on a path,
//! supported by a conflict with the block, by the previous access of its thread, or by a conflict with
//! another reached access that comes before it. Every support is earlier in the order, so nothing can
//! support itself. Cycles have a file of their own (`cycle`).

use foretell_model::{BlockId, Structure};
use foretell_order::Lit;
use foretell_trace::{EventId, Model, ThreadId, conflict, visible_variable};
use rustc_hash::FxHashMap;

use super::cycle::{Cycle, cycle};
use super::encode::{Encoding, TooLarge};
use super::linearize::Proposal;
use super::observes;
use super::simulate::Outcome;
use crate::query::Goal;
use crate::reachability::{Reach, accesses_of};

/// More pairs of conflicting accesses than this are not written down.
pub(super) const MOST_PAIRS: usize = 3_000_000;

/// The goal of the current query.
pub(crate) enum Asked {
    Nothing,
    Broken(EventId),
    Cycle(Cycle),
}

impl Asked {
    /// Writes the goal down and adds what is to be assumed; `None` if it cannot be reached.
    pub(crate) fn new(
        encoding: &mut Encoding<'_>,
        goal: Goal,
        assumptions: &mut Vec<Lit>,
    ) -> Result<Option<Self>, TooLarge> {
        match goal {
            Goal::Reach => Ok(Some(Asked::Nothing)),
            Goal::Broken(read) => {
                if let Some(next) = encoding.structure.chains.next(encoding.structure.trace, read) {
                    assumptions.push(!encoding.ran(next));
                }
                assumptions.push(encoding.ran(read));
                if encoding.structure.model == Model::Symbolic {
                    // No view is broken there; what the read sees is a matter of values.
                    return Ok(Some(Asked::Nothing));
                }
                assumptions.push(encoding.broken(read));
                Ok(Some(Asked::Broken(read)))
            }
            Goal::Overwritten(write) => {
                assumptions.push(overwritten(encoding, write));
                let structure = encoding.structure;
                for t in 0..structure.chains.thread_count() {
                    let events = structure.chains.events(ThreadId::from_index(t));
                    let Some(&last) = events.last() else { continue };
                    if observes(structure.trace.op(last)) && !mutated!(FinalReadsMayBreak) {
                        assumptions.push(encoding.kept(last));
                    }
                }
                Ok(Some(Asked::Nothing))
            }
            Goal::Path(block) => Ok(path(encoding, block)?.map(|switch| {
                assumptions.push(switch);
                Asked::Nothing
            })),
            Goal::Cycle(block) => Ok(cycle(encoding, block)?.map(|(switch, cycle)| {
                assumptions.push(switch);
                Asked::Cycle(cycle)
            })),
        }
    }

    /// The reads whose view decides whether the goal is reached.
    pub(crate) fn watched(&self, encoding: &Encoding<'_>) -> Vec<EventId> {
        match self {
            Asked::Broken(read) => encoding.claimed_broken(*read),
            _ => Vec::new(),
        }
    }

    /// Whether a feasible proposal reaches the goal; if not, the reason is learnt.
    pub(crate) fn reached(
        &mut self,
        encoding: &mut Encoding<'_>,
        proposal: &Proposal,
        outcome: &Outcome,
    ) -> bool {
        match self {
            Asked::Nothing => true,
            Asked::Broken(read) => {
                let broken = outcome.watched.iter().any(|(r, _, broken)| r == read && *broken);
                if !broken {
                    for (r, seen, _) in &outcome.watched {
                        encoding.challenged(*r, *seen);
                    }
                }
                broken
            }
            Asked::Cycle(cycle) => cycle.closed(encoding, &proposal.schedule()),
        }
    }
}

/// A literal that implies that another thread's last write of the variable comes after `write`.
fn overwritten(encoding: &mut Encoding<'_>, write: EventId) -> Lit {
    let structure = encoding.structure;
    let trace = structure.trace;
    let switch = encoding.solver.new_var();
    let mut clause = vec![!switch];
    if let Some(x) = trace.variable(write) {
        for (thread, list) in structure.couples.accesses_by_thread(x) {
            let last = list.iter().rev().find(|&&e| trace.op(e).writes());
            if let Some(&last) = last.filter(|_| *thread != trace.thread(write)) {
                clause.push(encoding.less(write, last));
            }
        }
    }
    encoding.solver.add_clause(&clause);
    switch
}

/// Accesses that may be on a path, by variable.
fn steps_by_variable(
    structure: &Structure<'_>,
    reach: &Reach,
    skip: impl Fn(EventId) -> bool,
) -> FxHashMap<u32, Vec<EventId>> {
    let mut steps: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
    for e in structure.trace.ids() {
        if let Some(x) = visible_variable(structure.trace, e)
            && !skip(e)
            && reach.contains(structure, e)
        {
            steps.entry(x.0).or_default().push(e);
        }
    }
    steps
}

fn check_size(steps: &FxHashMap<u32, Vec<EventId>>) -> Result<(), TooLarge> {
    let pairs: usize = steps.values().map(|list| list.len() * list.len() / 2).sum();
    if pairs > MOST_PAIRS {
        return Err(TooLarge(format!("about {pairs} conflicting pairs may be on a path")));
    }
    Ok(())
}

/// Writes down that a path leaves `block` and comes back; the literal that says so.
fn path(encoding: &mut Encoding<'_>, block: BlockId) -> Result<Option<Lit>, TooLarge> {
    let structure = encoding.structure;
    let Structure { trace, chains, must, .. } = structure;
    let own = structure.blocks.get(block).thread;
    let inside = accesses_of(structure, block);
    let reach = Reach::around(structure, block, false);
    let steps = steps_by_variable(structure, &reach, |e| trace.thread(e) == own);
    check_size(&steps)?;
    let mut order: Vec<EventId> = steps.values().flatten().copied().collect();
    order.sort_unstable();
    let reached: FxHashMap<EventId, Lit> =
        order.iter().map(|&e| (e, encoding.solver.new_var())).collect();
    let mut previous: FxHashMap<ThreadId, Lit> = FxHashMap::default();
    let switch = encoding.solver.new_var();
    let mut goal = vec![!switch];
    for &u in &order {
        let lit = reached[&u];
        let ran = encoding.ran(u);
        encoding.solver.add_clause(&[!lit, ran]);
        let mut support = vec![!lit];
        let before = previous.insert(trace.thread(u), lit);
        support.extend(before.filter(|_| !mutated!(PathsIgnoreThreads)));
        // If any conflicting access of the block comes before u, the first one does.
        if let Some(&s) = inside.iter().find(|&&s| conflict(trace, s, u)) {
            support.push(encoding.less(s, u));
        }
        let x = trace.variable(u).map_or(u32::MAX, |x| x.0);
        for &v in &steps[&x] {
            if conflict(trace, v, u) && !must.ordered_before(chains, trace, u, v) {
                let step = encoding.solver.new_var();
                let before = encoding.less(v, u);
                encoding.solver.add_clause(&[!step, reached[&v]]);
                encoding.solver.add_clause(&[!step, before]);
                support.push(step);
            }
        }
        encoding.solver.add_clause(&support);
        for &t in inside.iter().filter(|&&t| conflict(trace, u, t)) {
            if must.ordered_before(chains, trace, t, u) {
                continue;
            }
            let back = encoding.solver.new_var();
            let (before, ran) = (encoding.less(u, t), encoding.ran(t));
            encoding.solver.add_clause(&[!back, lit]);
            encoding.solver.add_clause(&[!back, before]);
            encoding.solver.add_clause(&[!back, ran]);
            goal.push(back);
        }
    }
    if goal.len() == 1 {
        return Ok(None);
    }
    encoding.solver.add_clause(&goal);
    Ok(Some(switch))
}
