//! The order engine: SAT modulo strict order, with the rules of feasibility added as they are
//! broken.
//!
//! Each query starts from the frontier that every interleaving it asks for has reached
//! ([`MustHappenBefore`](foretell_model::MustHappenBefore)). Most witnesses are close to the
//! observed order and need no search (`greedy_witness`). Otherwise the rules that a proposal breaks
//! become clauses (`encode`), the solver proposes another order, and so on until a proposal is
//! feasible or the clauses contradict the query. Only finitely many clauses can be learnt and each
//! one rules out the proposal it was learnt from, so the answer is exact.
//!
//! The solver and everything learnt stay from query to query.
//!
//! Whatever is feasible with the recorded values is feasible in the symbolic model, where reads
//! keep the values that made guards true. So there a query is put to an engine for the value model
//! first, if there is one, and what that finds is looked at with its values.

/// Whether a rule is switched off, by the test which shows that the rule matters.
#[cfg(test)]
macro_rules! mutated {
    ($name:ident) => {
        $crate::engines::order::mutations::active(
            $crate::engines::order::mutations::Mutation::$name,
        )
    };
}
#[cfg(not(test))]
macro_rules! mutated {
    ($name:ident) => {
        false
    };
}

mod cycle;
mod encode;
mod goals;
mod greedy_witness;
mod linearize;
#[cfg(test)]
mod mutations;
mod simulate;
mod stuck_state;
mod symbolic;
mod too_large;
mod unordered;

use std::sync::Arc;

use foretell_model::{BlockId, Frontier, TraceModel};
use foretell_order::{Answer, Lit};
use foretell_trace::{EventId, Model, ThreadId};

use self::encode::Encoding;
use self::goals::GoalEncoding;
use self::greedy_witness::GreedyWitness;
use self::linearize::{Proposal, by_observed_order};
use self::simulate::Simulator;
pub(crate) use self::stuck_state::is_stuck;
use self::too_large::TooLarge;
pub(crate) use self::unordered::{earlier_first, is_ordered};
use crate::analyses::{Candidate, recorded_witness};
use crate::engine::{Effort, Engine};
use crate::query::{Goal, Limit, Query, Verdict};
use crate::reachability::{observed_path, violations_nearby};
use crate::simplify::{SliceCounts, Symbolic};
use crate::stuck::Stops;

/// Accesses between two of a block that are tried before a path is searched for.
const MOST_TRIPLES: usize = 16;

/// Events of a segment in which a path is searched for at once.
const SHORT_SEGMENT: u64 = 500;

/// Events that an encoding may know before the next query starts a new one.
const LARGEST_ENCODING: usize = 20_000;

/// A read that sees another write than in the trace, as the last event of its thread.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The read.
    pub read: EventId,
    /// Writes that break the read, of which it sees one (`None`: the initial value). Updates among
    /// them are intact.
    pub writers: &'a [Option<EventId>],
    /// Events whose view is preserved, even if they are the last of their threads.
    pub kept: &'a [EventId],
}

/// Decides queries about one trace with the order solver.
pub struct OrderEngine<'s> {
    trace_model: &'s TraceModel<'s>,
    /// `None` where everything is to be searched for.
    greedy_witness: Option<GreedyWitness>,
    /// `None` as long as nothing had to be searched for.
    encoding: Option<Encoding<'s>>,
    simulator: Simulator,
    /// The values of the symbolic model, and how much of them the queries so far had to do with.
    values: Option<Arc<Symbolic>>,
    slices: SliceCounts,
    /// In the symbolic model: an engine for the value model.
    value_engine: Option<Box<OrderEngine<'s>>>,
    /// Events at which threads may be stuck, once a query asked for them.
    stops: Option<Arc<Stops>>,
    /// The latest event that the last query which was searched for named.
    last_place: EventId,
    rounds: u64,
}

impl<'s> OrderEngine<'s> {
    /// An engine that knows nothing yet.
    pub fn new(trace_model: &'s TraceModel<'s>) -> Self {
        Self::with_values(trace_model, Symbolic::of_model(trace_model, true))
    }

    /// Returns an engine with shared `values` of the symbolic model.
    pub(crate) fn with_values(
        trace_model: &'s TraceModel<'s>,
        values: Option<Arc<Symbolic>>,
    ) -> Self {
        // The greedy search knows nothing of values.
        let greedy_witness =
            (trace_model.model != Model::Symbolic).then(|| GreedyWitness::new(trace_model));
        Self { greedy_witness, ..Self::search_with_values(trace_model, values) }
    }

    /// An engine that puts every query to the solver, however easy it is. The verdicts are the
    /// same.
    pub fn search_only(trace_model: &'s TraceModel<'s>) -> Self {
        Self::search_with_values(trace_model, Symbolic::of_model(trace_model, true))
    }

    /// Returns an engine with shared `values` of the symbolic model.
    pub(crate) fn search_with_values(
        trace_model: &'s TraceModel<'s>,
        values: Option<Arc<Symbolic>>,
    ) -> Self {
        Self {
            trace_model,
            greedy_witness: None,
            encoding: None,
            simulator: Simulator::new(trace_model),
            values,
            slices: SliceCounts::default(),
            value_engine: None,
            stops: None,
            last_place: EventId(0),
            rounds: 0,
        }
    }

    /// Adds an engine for the value model, which is asked first where this one is for the symbolic
    /// model. `value_model` is the same trace in that model. The verdicts do not change.
    #[must_use]
    pub fn with_value_engine(mut self, value_model: &'s TraceModel<'s>) -> Self {
        if self.trace_model.model == Model::Symbolic && value_model.model == Model::Value {
            self.value_engine = Some(Box::new(OrderEngine::new(value_model)));
        }
        self
    }

    /// Returns the number of proposals of the solver so far.
    pub fn rounds(&self) -> u64 {
        self.rounds + self.value_engine.as_ref().map_or(0, |engine| engine.rounds())
    }

    /// A witness in the value model that shows what the query asks for with its values.
    fn find_in_value_model(&mut self, query: &Query, limit: &Limit<'_>) -> Option<Vec<EventId>> {
        let value_engine = self.value_engine.as_mut()?;
        let Verdict::Witness(schedule) = value_engine.decide(query, limit) else { return None };
        let asked = |e: EventId| query.asks_about(e);
        let values = symbolic::evaluate(self.trace_model, schedule.iter().copied(), asked);
        let shown = symbolic::shown(self.trace_model, query, &values);
        (values.false_guards.is_empty() && shown).then_some(schedule)
    }

    /// A witness of a path out of a block and back that needs no search: an interleaving in which
    /// an access of another thread comes between two of the block, or the observed run. The
    /// encoding of a path has a clause for each pair of accesses that conflict, so this is for long
    /// ones; in a short segment the search finds shorter witnesses.
    fn find_path(&mut self, block: BlockId) -> Option<Vec<EventId>> {
        let trace_model = self.trace_model;
        self.greedy_witness.as_ref()?;
        if trace_model.segment(block).size() < SHORT_SEGMENT {
            return None;
        }
        for (c, r, c2) in violations_nearby(trace_model, block).take(MOST_TRIPLES) {
            foretell_limit::check();
            let query = Candidate::Atomicity(c, r, c2).query();
            let Some(frontier) = self.frontier(&query) else { continue };
            let greedy_witness = self.greedy_witness.as_mut()?;
            let found = greedy_witness.find(trace_model, &mut self.simulator, &query, &frontier);
            if let Some(found) = found {
                return Some(found.schedule());
            }
        }
        let end = observed_path(trace_model, block)?;
        Some((0..=end.0).map(EventId).collect())
    }

    /// A witness of two unordered accesses that needs no search: the recorded run, or an easy
    /// interleaving that runs the two in either order.
    fn find_unordered(
        &mut self,
        a: EventId,
        b: EventId,
        frontier: &Frontier,
    ) -> Option<Vec<EventId>> {
        let trace_model = self.trace_model;
        if let found @ Some(_) = recorded_witness(trace_model, a, b) {
            return found;
        }
        for order in [(a, b), (b, a)] {
            let query = Query { run: vec![a, b], order: vec![order], ..Query::default() };
            let greedy_witness = self.greedy_witness.as_mut()?;
            let found = greedy_witness.find(trace_model, &mut self.simulator, &query, frontier);
            let found = found.map(|found| found.schedule());
            if let Some(found) = found.filter(|found| !is_ordered(trace_model, found, a, b)) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the encoding of earlier queries, or a new one where the old one is a burden: too
    /// large, or about another part of the trace.
    fn encoding_for(&mut self, query: &Query) -> Encoding<'s> {
        let old = self.encoding.take();
        let known = old.as_ref().map_or(0, Encoding::size);
        let mut stale = known > LARGEST_ENCODING;
        if let Some(&place) = query.next.iter().chain(&query.run).max() {
            let distance = place.0.abs_diff(self.last_place.0) as usize;
            self.last_place = place;
            stale |= distance > 1_000 + 4 * known;
        }
        old.filter(|_| !stale)
            .unwrap_or_else(|| Encoding::new(self.trace_model, self.values.clone()))
    }

    /// Returns the events that have run in every interleaving of the query; `None` if there is
    /// none.
    fn frontier(&mut self, query: &Query) -> Option<Frontier> {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        if let Goal::Stuck(root) = query.goal {
            return self.stops().frontier(self.trace_model, root);
        }
        let mut frontier = self.trace_model.frontier_of_next(&query.next)?;
        if let Goal::Overwritten(..) = query.goal {
            for (t, count) in frontier.iter_mut().enumerate() {
                *count = chains.events(ThreadId::from_index(t)).len() as u32;
            }
        }
        for &e in &query.run {
            must_happen_before.include_run(&mut frontier, trace.thread(e), chains.position(e));
        }
        let still_next = |&e: &EventId| frontier[trace.thread(e).index()] <= chains.position(e);
        query.next.iter().all(still_next).then_some(frontier)
    }

    fn stops(&mut self) -> Arc<Stops> {
        let trace_model = self.trace_model;
        self.stops.get_or_insert_with(|| Arc::new(Stops::new(trace_model))).clone()
    }

    /// The query as literals to assume.
    fn assume(&self, encoding: &mut Encoding<'s>, query: &Query, frontier: &[u32]) -> Vec<Lit> {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let mut assumptions = Vec::new();
        for (t, &count) in frontier.iter().enumerate() {
            if count > 0 {
                let last = chains.events(ThreadId::from_index(t))[count as usize - 1];
                assumptions.push(encoding.ran(last));
            }
        }
        for &e in &query.next {
            assumptions.push(!encoding.ran(e));
            match chains.previous(trace, e) {
                Some(previous)
                    if trace.op(previous).observes() && !mutated!(PendingAfterBroken) =>
                {
                    assumptions.push(encoding.kept(previous));
                }
                Some(_) => {}
                None => {
                    if let Some(fork) = chains.fork(trace.thread(e)) {
                        assumptions.push(encoding.ran(fork));
                    }
                }
            }
        }
        for &(x, y) in &query.order {
            assumptions.push(encoding.less(x, y));
        }
        assumptions
    }

    /// Searches for an interleaving that has run at least the frontier.
    fn search(
        &mut self,
        encoding: &mut Encoding<'s>,
        query: &Query,
        sees: Option<&Sight<'_>>,
        frontier: &Frontier,
        limit: &Limit<'_>,
    ) -> Result<Verdict, TooLarge> {
        encoding.prefer_little();
        let mut assumptions = self.assume(encoding, query, frontier);
        let goal = match sees {
            Some(sight) => {
                for &e in sight.kept {
                    assumptions.push(encoding.kept(e));
                }
                Some(GoalEncoding::sees(encoding, sight.read, sight.writers, &mut assumptions))
            }
            None => match query.goal {
                Goal::Stuck(root) => {
                    let stops = self.stops();
                    let asked = &mut assumptions;
                    GoalEncoding::stuck(encoding, &stops, query, root, frontier, asked)?
                }
                goal => GoalEncoding::new(encoding, goal, &mut assumptions)?,
            },
        };
        let Some(mut goal) = goal else { return Ok(Verdict::Impossible) };
        if self.values.is_some() {
            encoding.ask_values(query, &mut assumptions)?;
        }
        let asked_so_far = assumptions.len();
        let solver_limit =
            foretell_order::Limit { deadline: limit.deadline, stop: limit.stop, conflicts: None };
        loop {
            if let Some(reason) = limit.reached() {
                return Ok(Verdict::Undecided(reason.to_owned()));
            }
            assumptions.truncate(asked_so_far);
            assumptions.extend(encoding.known_owners());
            assumptions.extend(encoding.known_writers());
            assumptions.extend(goal.preferred());
            match encoding.solver.solve(&assumptions, &solver_limit) {
                Answer::Sat => {}
                Answer::Unsat => {
                    let core = encoding.solver.core().to_vec();
                    let more_owners = encoding.more_owners();
                    let relaxed = goal.relax(&core);
                    if encoding.more_writers(&core)? || more_owners || relaxed {
                        continue;
                    }
                    return Ok(Verdict::Impossible);
                }
                Answer::Unknown => {
                    let reason = limit.reached().unwrap_or("the solver gave up");
                    return Ok(Verdict::Undecided(reason.to_owned()));
                }
            }
            self.rounds += 1;
            #[cfg(test)]
            if mutations::circling(self.rounds) {
                return Ok(Verdict::Undecided("a mutation leads in circles".to_owned()));
            }
            let Some(proposal) = self.propose(encoding, frontier)? else { continue };
            let watch = goal.watched(encoding);
            let outcome = self.simulator.run(self.trace_model, &proposal, encoding, &watch);
            let values = self.values.is_some().then(|| encoding.values(proposal.events(), query));
            let as_asked = values.as_ref().is_none_or(|v| {
                v.false_guards.is_empty() && symbolic::shown(self.trace_model, query, v)
            });
            if outcome.violations.is_empty()
                && as_asked
                && goal.reached(encoding, &proposal, &outcome)?
            {
                return Ok(Verdict::Witness(proposal.schedule()));
            }
            for violation in &outcome.violations {
                encoding.learn(violation)?;
            }
            if let Some(values) = values.filter(|_| !as_asked) {
                encoding.learn_values(&values)?;
            }
        }
    }
}

impl<'s> OrderEngine<'s> {
    /// Decides whether some feasible interleaving that the query asks for shows a read another
    /// write than the observed one. The goal of the query does not count.
    ///
    /// This is for the models `view` and `value`.
    pub fn decide_sight(&mut self, query: &Query, sight: &Sight<'_>, limit: &Limit<'_>) -> Verdict {
        if let Some(reason) = limit.reached() {
            return Verdict::Undecided(reason.to_owned());
        }
        let Some(frontier) = self.frontier(query) else { return Verdict::Impossible };
        let TraceModel { trace, chains, .. } = self.trace_model;
        let (thread, position) = (trace.thread(sight.read), chains.position(sight.read));
        if frontier[thread.index()] > position + 1 {
            return Verdict::Impossible;
        }
        let mut encoding = self.encoding_for(query);
        match self.search(&mut encoding, query, Some(sight), &frontier, limit) {
            Ok(verdict) => {
                self.encoding = Some(encoding);
                verdict
            }
            Err(too_large) => Verdict::Undecided(too_large.0),
        }
    }

    /// Returns the writes that may be the last one before `read` and break it (`None`: the initial
    /// value), by the program order and by must-happen-before alone.
    pub fn challengers(&self, read: EventId) -> Vec<Option<EventId>> {
        crate::engines::writers::writers(self.trace_model, read, false)
    }

    /// A sequence that agrees with the solver's model; `None` if something was learnt on the way to
    /// it, so that another model is better.
    fn propose(
        &mut self,
        encoding: &mut Encoding<'s>,
        frontier: &Frontier,
    ) -> Result<Option<Proposal>, TooLarge> {
        let (counts, order) = encoding.model(frontier);
        // Where a read may see several writes, a greedy run over the whole proposal costs more than
        // it settles.
        if self.trace_model.model == Model::View
            && let Some(greedy_witness) = &mut self.greedy_witness
        {
            match greedy_witness.complete(
                self.trace_model,
                &mut order.clone(),
                encoding,
                counts.clone(),
            ) {
                Ok(proposal) => return Ok(Some(proposal)),
                Err(violations) => {
                    let mut new = false;
                    for violation in &violations {
                        new |= encoding.learn(violation)?;
                    }
                    if new {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(by_observed_order(self.trace_model, counts, &order)))
    }
}

impl Engine for OrderEngine<'_> {
    fn name(&self) -> &'static str {
        "order"
    }

    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        if let Some(reason) = limit.reached() {
            return Verdict::Undecided(reason.to_owned());
        }
        let Some(frontier) = self.frontier(query) else { return Verdict::Impossible };
        if let Some(greedy_witness) = &mut self.greedy_witness
            && let Some(found) =
                greedy_witness.find(self.trace_model, &mut self.simulator, query, &frontier)
        {
            return Verdict::Witness(found.schedule());
        }
        if let Goal::Unordered(a, b) = query.goal
            && let Some(found) = self.find_unordered(a, b, &frontier)
        {
            return Verdict::Witness(found);
        }
        if let Goal::Path(block) = query.goal
            && let Some(found) = self.find_path(block)
        {
            return Verdict::Witness(found);
        }
        if let Some(values) = &self.values {
            self.slices.add(&values.counts());
        }
        if let Some(found) = self.find_in_value_model(query, limit) {
            return Verdict::Witness(found);
        }
        let mut encoding = self.encoding_for(query);
        match self.search(&mut encoding, query, None, &frontier, limit) {
            Ok(verdict) => {
                self.encoding = Some(encoding);
                verdict
            }
            // A half-written encoding is of no use to the next query.
            Err(too_large) => Verdict::Undecided(too_large.0),
        }
    }

    fn effort(&self) -> Effort {
        Effort { slices: self.slices, ..Effort::default() }
    }
}
