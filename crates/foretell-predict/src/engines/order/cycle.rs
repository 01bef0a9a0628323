//! Cycles of transactions as clauses.
//!
//! `reached(t)` for every transaction that may be on a cycle, supported by steps from reached ones.
//! Cycles go back in time, so something could support itself: if what is claimed to be reached is
//! not, the set that supports itself must have support from outside (a loop formula, as in answer
//! set programming).
//!
//! Most conflicts of a long trace are ordered by must-happen-before, and so are the steps along
//! them: they are there whenever their last event is. An access outside of blocks all of whose
//! conflicts are of that kind is no transaction to be decided about; paths through it are summed
//! up. For each access the latest access of each thread is computed from which such steps and
//! program order lead to it (a vector clock over these steps, in one pass), and a transaction has
//! one step from each other thread for all these paths. Only conflicts that can go either way are
//! pairs to be written down.

use foretell_model::{BlockId, TraceModel};
use foretell_order::Lit;
use foretell_trace::{EventId, ThreadId, is_visible_access, visible_variables};
use rustc_hash::FxHashMap;

use super::encode::Encoding;
use super::too_large::TooLarge;
use crate::reachability::{Reach, TransactionGraph, accesses_of, transaction};

/// Entries of clocks that are kept at most.
const MOST_ENTRIES: usize = 400_000_000;

/// The transactions that may be on a cycle, and what makes one reachable from another.
pub(crate) struct Cycle {
    start: EventId,
    reached: FxHashMap<EventId, Lit>,
    /// From (`None`: the block itself), to, and the literal of the step.
    steps: Vec<(Option<EventId>, EventId, Lit)>,
}

/// The accesses of one thread to one variable that may be on a cycle, and the writes among them,
/// ascending.
#[derive(Default)]
struct Accesses {
    all: Vec<EventId>,
    writes: Vec<EventId>,
}

impl Accesses {
    /// Those that conflict with an access of another thread.
    fn against(&self, writes: bool) -> &[EventId] {
        if writes { &self.all } else { &self.writes }
    }
}

/// The accesses that may be on a cycle through a block.
struct Field<'s> {
    trace_model: &'s TraceModel<'s>,
    start: EventId,
    /// The accesses, the block's own among them, ascending.
    accesses: Vec<EventId>,
    by_variable: FxHashMap<u32, Vec<(ThreadId, Accesses)>>,
}

impl<'s> Field<'s> {
    fn around(trace_model: &'s TraceModel<'s>, block: BlockId) -> Self {
        let start = trace_model.blocks.get(block).begin;
        let reach = Reach::around(trace_model, block, true);
        let mut accesses = accesses_of(trace_model, block);
        for t in (0..trace_model.chains.thread_count()).map(ThreadId::from_index) {
            foretell_limit::check();
            let events = trace_model.chains.events(t);
            let range = reach.range(t, events.len());
            accesses.extend(events[range].iter().filter(|&&e| {
                is_visible_access(trace_model.trace, e)
                    && reach.contains(trace_model, e)
                    && transaction(trace_model, e) != start
            }));
        }
        accesses.sort_unstable();
        let mut field = Field { trace_model, start, accesses, by_variable: FxHashMap::default() };
        for &e in &field.accesses {
            foretell_limit::check();
            let thread = trace_model.trace.thread(e);
            for x in visible_variables(trace_model.trace, e) {
                let lists = field.by_variable.entry(x.0).or_default();
                let at = lists.iter().position(|(t, _)| *t == thread).unwrap_or(lists.len());
                if at == lists.len() {
                    lists.push((thread, Accesses::default()));
                }
                lists[at].1.all.push(e);
                if trace_model.trace.op(e).writes() {
                    lists[at].1.writes.push(e);
                }
            }
        }
        field
    }

    /// The accesses of other threads that conflict with `e`, by thread.
    fn conflicts(&self, e: EventId) -> impl Iterator<Item = (ThreadId, &[EventId])> {
        let trace = self.trace_model.trace;
        let (thread, writes) = (trace.thread(e), trace.op(e).writes());
        let lists = visible_variables(trace, e)
            .flat_map(|x| self.by_variable.get(&x.0).map_or(&[][..], Vec::as_slice));
        let others = lists.filter(move |(t, _)| *t != thread);
        others.map(move |(t, accesses)| (*t, accesses.against(writes)))
    }

    /// Those of them that can come before and after `e`.
    fn open_conflicts(&self, e: EventId) -> impl Iterator<Item = EventId> {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        self.conflicts(e).flat_map(move |(t, list)| {
            let before = must_happen_before.needs(chains, trace, e, t);
            let after = must_happen_before.first_after(chains, trace, e, t).unwrap_or(u32::MAX);
            let from = list.partition_point(|&f| chains.position(f) < before);
            let to = list.partition_point(|&f| chains.position(f) < after);
            list[from..to.max(from)].iter().copied()
        })
    }

    /// The accesses that have to be decided about: those in blocks, and those with a conflict that
    /// can go either way.
    fn open(&self) -> Vec<EventId> {
        let is_open = |&e: &EventId| {
            foretell_limit::check();
            transaction(self.trace_model, e) != e || self.open_conflicts(e).next().is_some()
        };
        self.accesses.iter().copied().filter(is_open).collect()
    }

    /// For each access of `open`, and each thread: up to which of its positions everything leads
    /// there by steps that cannot be turned round. A row for each.
    fn closed_steps(&self, open: &[EventId]) -> Result<Vec<Vec<u32>>, TooLarge> {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        let threads = chains.thread_count();
        if self.accesses.len().saturating_mul(threads) > MOST_ENTRIES {
            let accesses = self.accesses.len();
            return Err(TooLarge(format!("{accesses} accesses may be on a cycle")));
        }
        let mut clocks = vec![0u32; self.accesses.len() * threads];
        let mut last: Vec<Option<usize>> = vec![None; threads];
        let mut rows = Vec::with_capacity(open.len());
        let row_of = |e: EventId| self.accesses.partition_point(|&a| a < e);
        let mut clock = vec![0u32; threads];
        for (i, &e) in self.accesses.iter().enumerate() {
            foretell_limit::check();
            let own = trace.thread(e).index();
            clock.fill(0);
            if let Some(before) = last[own].replace(i) {
                clock.copy_from_slice(&clocks[before * threads..][..threads]);
            }
            for (t, list) in self.conflicts(e) {
                foretell_limit::check();
                let needed = must_happen_before.needs(chains, trace, e, t);
                let before = list.partition_point(|&f| chains.position(f) < needed);
                let Some(&f) = list[..before].last() else { continue };
                let from = &clocks[row_of(f) * threads..][..threads];
                clock.iter_mut().zip(from).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
            if open.get(rows.len()) == Some(&e) {
                rows.push(clock.clone());
            }
            clock[own] = chains.position(e) + 1;
            clocks[i * threads..][..threads].copy_from_slice(&clock);
        }
        Ok(rows)
    }
}

/// Writes down that a cycle of transactions goes through `block`.
pub(super) fn cycle(
    encoding: &mut Encoding<'_>,
    block: BlockId,
) -> Result<Option<(Lit, Cycle)>, TooLarge> {
    let trace_model = encoding.trace_model;
    let field = Field::around(trace_model, block);
    let open = field.open();
    let closed = field.closed_steps(&open)?;
    let start = field.start;
    let mut cycle = Cycle { start, reached: FxHashMap::default(), steps: Vec::new() };
    let mut order = Vec::new();
    for &e in &open {
        foretell_limit::check();
        let t = transaction(trace_model, e);
        if t == start {
            continue;
        }
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
    let mut supports: FxHashMap<EventId, Vec<Lit>> = FxHashMap::default();
    program_order(encoding, &mut cycle, &order, &mut supports, &mut goal);
    let sources = by_thread(trace_model, &open);
    for (&e, clock) in open.iter().zip(&closed) {
        let mut steps = Vec::new();
        for f in field.open_conflicts(e) {
            foretell_limit::check();
            let from = transaction(trace_model, f);
            steps.push((from, cycle.step(encoding, from, e, Some(f))));
        }
        for (t, events) in sources.iter().enumerate() {
            foretell_limit::check();
            let to = events.partition_point(|&f| trace_model.chains.position(f) < clock[t]);
            if t == trace_model.trace.thread(e).index() {
                continue;
            }
            if let Some(&f) = events[..to].last() {
                let from = transaction(trace_model, f);
                steps.push((from, cycle.step(encoding, from, e, None)));
            }
        }
        let to = transaction(trace_model, e);
        for (from, step) in steps {
            if to == start {
                goal.push(step);
            } else {
                supports.entry(to).or_default().push(step);
                cycle.steps.push(((from != start).then_some(from), to, step));
            }
        }
    }
    for &t in &order {
        foretell_limit::check();
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

fn by_thread(trace_model: &TraceModel<'_>, events: &[EventId]) -> Vec<Vec<EventId>> {
    let mut lists = vec![Vec::new(); trace_model.chains.thread_count()];
    for &e in events {
        lists[trace_model.trace.thread(e).index()].push(e);
    }
    lists
}

/// Steps from each transaction to the next one of its thread, the block itself among them.
fn program_order(
    encoding: &mut Encoding<'_>,
    cycle: &mut Cycle,
    order: &[EventId],
    supports: &mut FxHashMap<EventId, Vec<Lit>>,
    goal: &mut Vec<Lit>,
) {
    let trace = encoding.trace_model.trace;
    let mut all: Vec<EventId> = order.to_vec();
    all.push(cycle.start);
    all.sort_unstable();
    let mut previous: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    for &t in &all {
        foretell_limit::check();
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

impl Cycle {
    /// The literal "`e` has run, and before it `f` of a reached transaction"; without `f`,
    /// something of a reached transaction that always comes before it.
    fn step(
        &self,
        encoding: &mut Encoding<'_>,
        from: EventId,
        e: EventId,
        f: Option<EventId>,
    ) -> Lit {
        let step = encoding.solver.new_var();
        let ran = encoding.ran(e);
        encoding.solver.add_clause(&[!step, ran]);
        if let Some(f) = f {
            let before = encoding.less(f, e);
            encoding.solver.add_clause(&[!step, before]);
        }
        if from != self.start {
            encoding.solver.add_clause(&[!step, self.reached[&from]]);
        }
        step
    }

    /// Whether the proposal has a cycle through the block; if not, what was claimed to be reached
    /// without being so needs support from outside.
    pub(super) fn closed(&self, encoding: &mut Encoding<'_>, schedule: &[EventId]) -> bool {
        let graph = TransactionGraph::new(encoding.trace_model, schedule);
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
            foretell_limit::check();
            let mut clause = vec![!self.reached[t]];
            clause.extend(&support);
            encoding.solver.add_clause(&clause);
        }
        false
    }
}
