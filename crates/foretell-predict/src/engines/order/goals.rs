//! Goals as clauses: a broken read, an overwritten last write, a path out of a block and back, a
//! cycle of transactions.
//!
//! Each goal gets a switch, a literal that is assumed for this query only and implies the goal's
//! clauses.
//!
//! *Paths* are reachability, not enumeration: `reached(u)` for every access that can lie on a path,
//! supported by a conflict with the block, by the previous access of its thread, or by a conflict
//! with another reached access that comes before it. Every support is earlier in the order, so
//! nothing can support itself. Cycles have a file of their own (`cycle`).

use foretell_model::{BlockId, TraceModel};
use foretell_order::Lit;
use foretell_trace::{
    EventId, Model, ThreadId, VarId, conflict, is_visible_access, visible_variables,
};
use rustc_hash::FxHashMap;

use super::cycle::{Cycle, cycle};
use super::encode::Encoding;
use super::linearize::Proposal;
use super::simulate::Outcome;
use super::stuck_state::StuckState;
use super::too_large::TooLarge;
use super::unordered::Unordered;
use crate::engines::writers::FinalWrites;
use crate::query::{Goal, Query};
use crate::reachability::{Reach, accesses_of};
use crate::stuck::Stops;

/// The goal of the current query.
pub(crate) enum GoalEncoding {
    Nothing,
    Broken(EventId),
    /// This read sees one of these writes, which break it.
    Sees(EventId, Vec<Option<EventId>>),
    Cycle(Cycle),
    Unordered(Unordered),
    Stuck(StuckState),
}

impl GoalEncoding {
    /// Writes the goal down and adds what is to be assumed; `None` if it cannot be reached.
    pub(crate) fn new(
        encoding: &mut Encoding<'_>,
        goal: Goal,
        assumptions: &mut Vec<Lit>,
    ) -> Result<Option<Self>, TooLarge> {
        match goal {
            Goal::Reach => Ok(Some(GoalEncoding::Nothing)),
            Goal::Broken(read) => {
                if let Some(next) =
                    encoding.trace_model.chains.next(encoding.trace_model.trace, read)
                {
                    assumptions.push(!encoding.ran(next));
                }
                assumptions.push(encoding.ran(read));
                if encoding.trace_model.model == Model::Symbolic {
                    // No view is broken there; what the read sees is a matter of values.
                    return Ok(Some(GoalEncoding::Nothing));
                }
                assumptions.push(encoding.broken(read));
                Ok(Some(GoalEncoding::Broken(read)))
            }
            Goal::Overwritten(write, x) => {
                assumptions.push(overwritten(encoding, write, x));
                let trace_model = encoding.trace_model;
                for t in 0..trace_model.chains.thread_count() {
                    let events = trace_model.chains.events(ThreadId::from_index(t));
                    let Some(&last) = events.last() else { continue };
                    if trace_model.trace.op(last).observes() && !mutated!(FinalReadsMayBreak) {
                        assumptions.push(encoding.kept(last));
                    }
                }
                Ok(Some(GoalEncoding::Nothing))
            }
            Goal::Path(block) => Ok(path(encoding, block).map(|switch| {
                assumptions.push(switch);
                GoalEncoding::Nothing
            })),
            Goal::Cycle(block) => Ok(cycle(encoding, block)?.map(|(switch, cycle)| {
                assumptions.push(switch);
                GoalEncoding::Cycle(cycle)
            })),
            Goal::Unordered(a, b) => {
                let unordered = Unordered::new(encoding, a, b);
                assumptions.extend([encoding.ran(a), encoding.ran(b), unordered.switch()]);
                Ok(Some(GoalEncoding::Unordered(unordered)))
            }
            // Needs the whole query: `GoalEncoding::stuck`.
            Goal::Stuck(_) => Ok(None),
        }
    }

    /// Writes down that the query's root is stuck with all other threads, and adds what is to be
    /// assumed; `None` if they cannot be.
    pub(crate) fn stuck(
        encoding: &mut Encoding<'_>,
        stops: &Stops,
        query: &Query,
        root: EventId,
        frontier: &[u32],
        assumptions: &mut Vec<Lit>,
    ) -> Result<Option<Self>, TooLarge> {
        let goal = StuckState::new(encoding, stops, query, root, frontier)?;
        assumptions.extend(goal.iter().map(StuckState::switch));
        Ok(goal.map(GoalEncoding::Stuck))
    }

    /// Writes down that `read`, the last event of its thread, sees one of `writers`, all of which
    /// break it, and adds what is to be assumed.
    pub(crate) fn sees(
        encoding: &mut Encoding<'_>,
        read: EventId,
        writers: &[Option<EventId>],
        assumptions: &mut Vec<Lit>,
    ) -> Self {
        let TraceModel { trace, chains, .. } = encoding.trace_model;
        if let Some(next) = chains.next(trace, read) {
            assumptions.push(!encoding.ran(next));
        }
        assumptions.push(encoding.ran(read));
        assumptions.push(encoding.sees_one_of(read, writers));
        GoalEncoding::Sees(read, writers.to_vec())
    }

    /// A literal that is assumed as long as that is possible.
    pub(crate) fn preferred(&self) -> Option<Lit> {
        match self {
            GoalEncoding::Stuck(goal) => goal.preferred(),
            _ => None,
        }
    }

    /// Gives the preference up if a search may have failed because of it; whether it did.
    pub(crate) fn relax(&mut self, core: &[Lit]) -> bool {
        match self {
            GoalEncoding::Stuck(goal) => goal.relax(core),
            _ => false,
        }
    }

    /// The reads whose view decides whether the goal is reached.
    pub(crate) fn watched(&self, encoding: &Encoding<'_>) -> Vec<EventId> {
        match self {
            GoalEncoding::Broken(read) => encoding.claimed_broken(*read),
            GoalEncoding::Sees(read, _) => vec![*read],
            _ => Vec::new(),
        }
    }

    /// Whether a feasible proposal reaches the goal; if not, the reason is learnt.
    pub(crate) fn reached(
        &mut self,
        encoding: &mut Encoding<'_>,
        proposal: &Proposal,
        outcome: &Outcome,
    ) -> Result<bool, TooLarge> {
        Ok(match self {
            GoalEncoding::Nothing => true,
            GoalEncoding::Broken(read) => {
                let broken = outcome.watched.iter().any(|(r, _, broken)| r == read && *broken);
                if !broken {
                    for (r, seen, _) in &outcome.watched {
                        foretell_limit::check();
                        encoding.challenged(*r, *seen);
                    }
                }
                broken
            }
            GoalEncoding::Sees(read, writers) => {
                let seen = outcome.watched.iter().find(|(r, ..)| r == read);
                let reached =
                    seen.is_some_and(|(_, seen, broken)| *broken && writers.contains(seen));
                if !reached && let Some((_, seen, _)) = seen {
                    encoding.challenged(*read, *seen);
                }
                reached
            }
            GoalEncoding::Cycle(cycle) => cycle.closed(encoding, &proposal.schedule()),
            GoalEncoding::Unordered(goal) => goal.reached(encoding, &proposal.schedule())?,
            GoalEncoding::Stuck(goal) => goal.reached(encoding, &proposal.schedule())?,
        })
    }
}

/// A literal that implies that another thread's last write of the variable comes after `write`,
/// and after all that leave an equal value.
fn overwritten(encoding: &mut Encoding<'_>, write: EventId, x: VarId) -> Lit {
    let FinalWrites { differing, equal } = FinalWrites::besides(encoding.trace_model, write, x);
    let switch = encoding.solver.new_var();
    let mut clause = vec![!switch];
    for last in differing {
        if equal.is_empty() || mutated!(EqualFinalValuesCount) {
            clause.push(encoding.less(write, last));
            continue;
        }
        let lit = encoding.solver.new_var();
        clause.push(lit);
        for &other in equal.iter().chain([&write]) {
            foretell_limit::check();
            let before = encoding.less(other, last);
            encoding.solver.add_clause(&[!lit, before]);
        }
    }
    encoding.solver.add_clause(&clause);
    switch
}

/// Accesses that may be on a path, by variable.
fn steps_by_variable(
    trace_model: &TraceModel<'_>,
    reach: &Reach,
    skip: impl Fn(EventId) -> bool,
) -> FxHashMap<u32, Vec<EventId>> {
    let mut steps: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
    for e in trace_model.trace.ids() {
        foretell_limit::check();
        let trace = trace_model.trace;
        if is_visible_access(trace, e) && !skip(e) && reach.contains(trace_model, e) {
            for x in visible_variables(trace, e) {
                steps.entry(x.0).or_default().push(e);
            }
        }
    }
    steps
}

/// Writes down that a path leaves `block` and comes back; the literal that says so.
fn path(encoding: &mut Encoding<'_>, block: BlockId) -> Option<Lit> {
    let trace_model = encoding.trace_model;
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let own = trace_model.blocks.get(block).thread;
    let inside = accesses_of(trace_model, block);
    let reach = Reach::around(trace_model, block, false);
    let steps = steps_by_variable(trace_model, &reach, |e| trace.thread(e) == own);
    let mut order: Vec<EventId> = steps.values().flatten().copied().collect();
    order.sort_unstable();
    // A `free` is an access of several variables.
    order.dedup();
    let reached: FxHashMap<EventId, Lit> =
        order.iter().map(|&e| (e, encoding.solver.new_var())).collect();
    let mut previous: FxHashMap<ThreadId, Lit> = FxHashMap::default();
    let switch = encoding.solver.new_var();
    let mut goal = vec![!switch];
    for &u in &order {
        foretell_limit::check();
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
        let mut others: Vec<EventId> =
            visible_variables(trace, u).flat_map(|x| &steps[&x.0]).copied().collect();
        if trace.variable(u).is_none() {
            others.sort_unstable();
            others.dedup();
        }
        for v in others {
            foretell_limit::check();
            if conflict(trace, v, u) && !must_happen_before.ordered_before(chains, trace, u, v) {
                let step = encoding.solver.new_var();
                let before = encoding.less(v, u);
                encoding.solver.add_clause(&[!step, reached[&v]]);
                encoding.solver.add_clause(&[!step, before]);
                support.push(step);
            }
        }
        encoding.solver.add_clause(&support);
        for &t in inside.iter().filter(|&&t| conflict(trace, u, t)) {
            if must_happen_before.ordered_before(chains, trace, t, u) {
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
        return None;
    }
    encoding.solver.add_clause(&goal);
    Some(switch)
}
