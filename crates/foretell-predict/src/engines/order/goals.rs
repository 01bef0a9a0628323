//! Goals as clauses: a broken read, an overwritten last write, a path out of a block and back, a cycle of
//! transactions.
//!
//! Each goal gets a switch, a literal that is assumed for this query only and implies the goal's
//! clauses.
//!
//! *Paths* are reachability, not enumeration: `reached(u)` for every access that can lie on a path,
//! supported by a conflict with the block, by the previous access of its thread, or by a conflict with
//! another reached access that comes before it. Every support is earlier in the order, so nothing can
//! support itself. *Cycles* of transactions go back in time, so there something could: if what is
//! claimed to be reached is not, the set that supports itself must have support from outside
//! (a loop formula, as in answer set programming).

use foretell_model::{BlockId, Structure};
use foretell_order::Lit;
use foretell_trace::{EventId, Model, ThreadId};
use rustc_hash::FxHashMap;

use super::encode::{Encoding, TooLarge};
use super::linearize::Proposal;
use super::observes;
use super::simulate::Outcome;
use crate::conflict::{conflict, visible_variable};
use crate::query::Goal;
use crate::reachability::{Reach, TransactionGraph, accesses_of, transaction};

/// More pairs of conflicting accesses than this are not written down.
const MOST_PAIRS: usize = 3_000_000;

/// The goal of the current query.
pub(crate) enum Asked {
    Nothing,
    Broken(EventId),
    Cycle(Cycle),
}

/// The transactions that may be on a cycle, and what makes one reachable from another.
pub(crate) struct Cycle {
    start: EventId,
    reached: FxHashMap<EventId, Lit>,
    /// From (`None`: the block itself), to, and the literal of the step.
    steps: Vec<(Option<EventId>, EventId, Lit)>,
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

/// Writes down that a cycle of transactions goes through `block`.
fn cycle(encoding: &mut Encoding<'_>, block: BlockId) -> Result<Option<(Lit, Cycle)>, TooLarge> {
    let structure = encoding.structure;
    let trace = structure.trace;
    let start = structure.blocks.get(block).begin;
    let reach = Reach::around(structure, block, true);
    let outside = steps_by_variable(structure, &reach, |e| transaction(structure, e) == start);
    check_size(&outside)?;
    let mut accesses: Vec<EventId> = outside.values().flatten().copied().collect();
    accesses.sort_unstable();
    let mut cycle = Cycle { start, reached: FxHashMap::default(), steps: Vec::new() };
    let mut supports: FxHashMap<EventId, Vec<Lit>> = FxHashMap::default();
    let mut order = Vec::new();
    for &e in &accesses {
        let t = transaction(structure, e);
        cycle.reached.entry(t).or_insert_with(|| {
            order.push(t);
            let lit = encoding.solver.new_var();
            let ran = encoding.ran(e);
            encoding.solver.add_clause(&[!lit, ran]);
            lit
        });
    }
    let switch = encoding.solver.new_var();
    let mut goal = vec![!switch];
    program_order(encoding, &mut cycle, &order, &mut supports, &mut goal);
    let inside = accesses_of(structure, block);
    for &e in accesses.iter().chain(&inside) {
        let to = transaction(structure, e);
        let x = trace.variable(e).map_or(u32::MAX, |x| x.0);
        let others = outside.get(&x).map_or(&[][..], Vec::as_slice);
        for &f in others.iter().chain(&inside) {
            let from = transaction(structure, f);
            if let Some(step) = conflict_step(encoding, &cycle, from, f, e) {
                if to == start {
                    goal.push(step);
                } else {
                    supports.entry(to).or_default().push(step);
                    cycle.steps.push(((from != start).then_some(from), to, step));
                }
            }
        }
    }
    for &t in &order {
        let mut clause = vec![!cycle.reached[&t]];
        clause.extend(supports.remove(&t).unwrap_or_default());
        encoding.solver.add_clause(&clause);
    }
    if goal.len() == 1 {
        return Ok(None);
    }
    encoding.solver.add_clause(&goal);
    Ok(Some((switch, cycle)))
}

/// Steps from each transaction to the next one of its thread, the block itself among them.
fn program_order(
    encoding: &mut Encoding<'_>,
    cycle: &mut Cycle,
    order: &[EventId],
    supports: &mut FxHashMap<EventId, Vec<Lit>>,
    goal: &mut Vec<Lit>,
) {
    let trace = encoding.structure.trace;
    let mut all: Vec<EventId> = order.to_vec();
    all.push(cycle.start);
    all.sort_unstable();
    let mut previous: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    for &t in &all {
        let Some(before) = previous.insert(trace.thread(t), t) else { continue };
        let step = match cycle.reached.get(&before) {
            Some(&lit) => lit,
            None => encoding.solver.true_lit(),
        };
        if t == cycle.start {
            goal.push(step);
        } else {
            supports.entry(t).or_default().push(step);
            cycle.steps.push(((before != cycle.start).then_some(before), t, step));
        }
    }
}

/// The literal "`f` of a reached transaction runs before the conflicting `e`", if that can be.
fn conflict_step(
    encoding: &mut Encoding<'_>,
    cycle: &Cycle,
    from: EventId,
    f: EventId,
    e: EventId,
) -> Option<Lit> {
    let Structure { trace, chains, must, .. } = encoding.structure;
    if !conflict(trace, f, e) || must.ordered_before(chains, trace, e, f) {
        return None;
    }
    let step = encoding.solver.new_var();
    let (before, ran) = (encoding.less(f, e), encoding.ran(e));
    encoding.solver.add_clause(&[!step, before]);
    encoding.solver.add_clause(&[!step, ran]);
    if from != cycle.start {
        encoding.solver.add_clause(&[!step, cycle.reached[&from]]);
    }
    Some(step)
}

impl Cycle {
    /// Whether the proposal has a cycle through the block; if not, what was claimed to be reached
    /// without being so needs support from outside.
    fn closed(&self, encoding: &mut Encoding<'_>, schedule: &[EventId]) -> bool {
        let graph = TransactionGraph::new(encoding.structure, schedule);
        let really = graph.reached(self.start);
        if really.contains(&self.start) || mutated!(CyclesSupportThemselves) {
            return true;
        }
        let mut unfounded: Vec<EventId> = self
            .reached
            .iter()
            .filter(|(t, lit)| encoding.solver.value(**lit) && !really.contains(t))
            .map(|(t, _)| *t)
            .collect();
        unfounded.sort_unstable();
        let inside = |t: &EventId| unfounded.binary_search(t).is_ok();
        let support: Vec<Lit> = self
            .steps
            .iter()
            .filter(|(from, to, _)| inside(to) && !from.is_some_and(|f| inside(&f)))
            .map(|(_, _, lit)| *lit)
            .collect();
        for t in &unfounded {
            let mut clause = vec![!self.reached[t]];
            clause.extend(&support);
            encoding.solver.add_clause(&clause);
        }
        false
    }
}
