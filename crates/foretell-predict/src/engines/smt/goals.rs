//! Queries as constraints: what has run, what is next, and the goal.
//!
//! A path of a serializability violation is the SMT-versus-DPOR paper's `fromA` (its section 4.1)
//! within the trace atomicity segment, as implications: reached only if there is a reason. Reasons
//! of a path are earlier in the order, so none supports itself; those of a cycle of transactions
//! have ranks for that.

use foretell_model::{BlockId, TraceModel};
use foretell_trace::{EventId, Model, ThreadId, VarId, conflict, visible_variable};
use rustc_hash::FxHashMap;

use super::cut_short::CutShort;
use super::formula::Formula;
use super::lit::Lit;
use crate::engines::bounds::segment_steps;
use crate::engines::writers::{FinalWrites, writers};
use crate::query::{Goal, Query};
use crate::reachability::accesses_of;

/// More pairs of conflicting accesses than this are not written down.
const MOST_PAIRS: usize = 3_000_000;

/// The events whose view a query relies on whatever happens after them.
pub(super) fn relied_on(trace_model: &TraceModel<'_>, query: &Query) -> Vec<EventId> {
    let TraceModel { trace, chains, .. } = trace_model;
    let mut events: Vec<EventId> =
        query.next.iter().filter_map(|&e| chains.previous(trace, e)).collect();
    if let Goal::Overwritten(..) = query.goal {
        let threads = (0..chains.thread_count()).map(ThreadId::from_index);
        events.extend(threads.filter_map(|t| chains.events(t).last()));
    }
    // The symbolic model has no broken reads.
    let reads = trace_model.model != Model::Symbolic;
    events.retain(|&e| reads && trace.op(e).reads() || trace.op(e).is_failed_try());
    events
}

impl Formula<'_> {
    /// Writes a query down. `least` is what has run in every interleaving that it asks for.
    pub(super) fn query(&mut self, query: &Query, least: &[u32]) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let TraceModel { trace, chains, .. } = trace_model;
        for (t, &count) in least.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.fact(Lit::Ran(chains.events(ThreadId::from_index(t))[count as usize - 1]));
        }
        for &e in &query.run {
            self.fact(Lit::Ran(e));
        }
        for &e in &query.next {
            self.fact(Lit::NotRan(e));
            match chains.previous(trace, e) {
                Some(previous) => self.fact(Lit::Ran(previous)),
                None => chains.fork(trace.thread(e)).into_iter().for_each(|f| {
                    self.fact(Lit::Ran(f));
                }),
            }
        }
        for e in relied_on(trace_model, query) {
            self.fact(Lit::Kept(e));
        }
        for &(a, b) in &query.order {
            self.fact(Lit::Less(a, b));
        }
        match query.goal {
            Goal::Reach | Goal::Unordered(..) | Goal::Stuck(_) => {}
            Goal::Broken(_) if trace_model.model == Model::Symbolic => {}
            Goal::Broken(read) => {
                let mut broken = FxHashMap::default();
                let lit = self.broken(read, &mut broken);
                self.fact(lit);
            }
            Goal::Overwritten(write, x) => self.overwritten(write, x),
            Goal::Path(block) => self.path(block)?,
            Goal::Cycle(block) => self.cycle(block)?,
        }
        self.ask_values(query)
    }

    fn fact(&mut self, lit: Lit) {
        self.implies(&[], &[&[lit]]);
    }

    fn any_of(&mut self, antecedents: &[Lit], alternatives: &[Vec<Lit>]) {
        let alternatives: Vec<&[Lit]> = alternatives.iter().map(Vec::as_slice).collect();
        self.implies(antecedents, &alternatives);
    }

    /// A literal that implies that `read` is the last event of its thread and broken: it sees a
    /// write that does not preserve it, or an update that is itself broken.
    fn broken(&mut self, read: EventId, known: &mut FxHashMap<EventId, Lit>) -> Lit {
        if let Some(&lit) = known.get(&read) {
            return lit;
        }
        let trace_model = self.trace_model;
        let TraceModel { trace, chains, .. } = trace_model;
        let broken = Lit::Var(self.var());
        known.insert(read, broken);
        self.implies(&[broken], &[&[Lit::Ran(read)]]);
        if let Some(next) = chains.next(trace, read) {
            self.implies(&[broken], &[&[Lit::NotRan(next)]]);
        }
        let mut ways = Vec::new();
        for writer in writers(trace_model, read, false) {
            foretell_limit::check();
            let sees = Lit::Var(self.var());
            self.sees(sees, read, writer, false);
            ways.push(vec![sees]);
        }
        for w in writers(trace_model, read, true).into_iter().flatten() {
            foretell_limit::check();
            // A broken update is the last of its thread, so it is in another one.
            if trace.op(w).reads() && trace.thread(w) != trace.thread(read) {
                let sees = Lit::Var(self.var());
                self.sees(sees, read, Some(w), false);
                ways.push(vec![sees, self.broken(w, known)]);
            }
        }
        self.any_of(&[broken], &ways);
        broken
    }

    /// Another write of the variable comes after `write`, and after all that leave an equal value.
    fn overwritten(&mut self, write: EventId, x: VarId) {
        let FinalWrites { differing, equal } = FinalWrites::besides(self.trace_model, write, x);
        let way = |&last: &EventId| {
            equal.iter().chain([&write]).map(|&other| Lit::Less(other, last)).collect()
        };
        let ways: Vec<Vec<Lit>> = differing.iter().map(way).collect();
        self.any_of(&[], &ways);
    }

    /// A path leaves the block and comes back.
    fn path(&mut self, block: BlockId) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let inside = accesses_of(trace_model, block);
        let outside = segment_steps(trace_model, block);
        let by_variable = by_variable(trace_model, &outside)?;
        let reached: FxHashMap<EventId, Lit> =
            outside.iter().map(|&e| (e, Lit::Var(self.var()))).collect();
        let mut previous: FxHashMap<ThreadId, Lit> = FxHashMap::default();
        let mut back = Vec::new();
        for &u in &outside {
            foretell_limit::check();
            let lit = reached[&u];
            self.implies(&[lit], &[&[Lit::Ran(u)]]);
            let mut reasons: Vec<Vec<Lit>> = Vec::new();
            reasons.extend(previous.insert(trace.thread(u), lit).map(|p| vec![p]));
            for &s in inside.iter().filter(|&&s| conflict(trace, s, u)) {
                reasons.push(vec![Lit::Ran(s), Lit::Less(s, u)]);
            }
            for &v in with_variable(trace_model, &by_variable, u) {
                foretell_limit::check();
                if conflict(trace, v, u) && !must_happen_before.ordered_before(chains, trace, u, v)
                {
                    reasons.push(vec![reached[&v], Lit::Less(v, u)]);
                }
            }
            self.any_of(&[lit], &reasons);
            for &t in inside.iter().filter(|&&t| conflict(trace, u, t)) {
                back.push(vec![lit, Lit::Ran(t), Lit::Less(u, t)]);
            }
        }
        self.any_of(&[], &back);
        Ok(())
    }

    /// A cycle of transactions goes through the block.
    fn cycle(&mut self, block: BlockId) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let trace = trace_model.trace;
        let all: Vec<EventId> =
            trace.ids().filter(|&e| visible_variable(trace, e).is_some()).collect();
        let by_variable = by_variable(trace_model, &all)?;
        let start = trace_model.blocks.get(block).begin;
        let transaction = |e: EventId| {
            trace_model.blocks.outermost(e).map_or(e, |b| trace_model.blocks.get(b).begin)
        };
        // By transaction: the variable that says it is reached, and the reasons.
        let mut reached: FxHashMap<EventId, u32> = FxHashMap::default();
        let mut reasons: FxHashMap<EventId, Vec<Vec<Lit>>> = FxHashMap::default();
        let mut last: FxHashMap<ThreadId, EventId> = FxHashMap::default();
        let mut steps: Vec<(EventId, EventId, Vec<Lit>)> = Vec::new();
        for &e in &all {
            foretell_limit::check();
            let own = transaction(e);
            reached.entry(own).or_insert_with(|| {
                let v = self.var();
                self.rank(v);
                v
            });
            // Program order, to a transaction of which something has run.
            if let Some(before) = last.insert(trace.thread(e), own).filter(|&b| b != own) {
                steps.push((before, own, vec![Lit::Ran(e)]));
            }
            for &f in with_variable(trace_model, &by_variable, e) {
                foretell_limit::check();
                let from = transaction(f);
                if from != own && conflict(trace, f, e) {
                    steps.push((from, own, vec![Lit::Ran(f), Lit::Ran(e), Lit::Less(f, e)]));
                }
            }
        }
        let Some(&goal) = reached.get(&start) else {
            self.fact(Lit::False);
            return Ok(());
        };
        for (from, to, mut lits) in steps {
            if from != start {
                lits.push(Lit::Var(reached[&from]));
                lits.push(Lit::RankLess(reached[&from], reached[&to]));
            }
            reasons.entry(to).or_default().push(lits);
        }
        let mut transactions: Vec<(EventId, u32)> = reached.into_iter().collect();
        transactions.sort_unstable();
        for (t, v) in transactions {
            self.any_of(&[Lit::Var(v)], &reasons.remove(&t).unwrap_or_default());
        }
        self.fact(Lit::Var(goal));
        Ok(())
    }
}

type ByVariable = FxHashMap<u32, Vec<EventId>>;

fn by_variable(trace_model: &TraceModel<'_>, events: &[EventId]) -> Result<ByVariable, CutShort> {
    let mut map = ByVariable::default();
    for &e in events {
        if let Some(x) = trace_model.trace.variable(e) {
            map.entry(x.0).or_default().push(e);
        }
    }
    let pairs: usize = map.values().map(|list| list.len() * list.len() / 2).sum();
    if pairs > MOST_PAIRS {
        return Err(CutShort(format!("about {pairs} conflicting pairs may be on a path")));
    }
    Ok(map)
}

fn with_variable<'m>(
    trace_model: &TraceModel<'_>,
    map: &'m ByVariable,
    e: EventId,
) -> &'m [EventId] {
    let list = trace_model.trace.variable(e).and_then(|x| map.get(&x.0));
    list.map_or(&[], Vec::as_slice)
}
