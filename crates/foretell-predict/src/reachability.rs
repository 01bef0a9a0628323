//! Which accesses can lie on a path of conflicts and program order that leaves an atomic block and
//! comes back, judged by must-happen-before alone, and the paths and cycles of a given
//! interleaving.
//!
//! The first part goes on from where the trace-segmentation paper's static check ends: within the
//! segment of the block, an access that cannot be reached from the block, or from which the block
//! cannot be reached, is on no path in any interleaving. The second part reads the path of a
//! violation off its witness.

use std::collections::VecDeque;

use foretell_model::{BlockId, SectionId, Segment, TraceModel};
use foretell_trace::{
    EventId, ThreadId, Trace, VarId, conflict, is_visible_access, visible_variable,
    visible_variables,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Per thread, the positions from which on accesses can be reached from somewhere, and up to which
/// they can reach something.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    from: Vec<u32>,
    /// One past the last position.
    to: Vec<u32>,
    /// Sections that the block is inside of from its first access to its last: while they are open,
    /// no other thread gets into a section of the same lock, so such accesses are on no path.
    spans: Vec<SectionId>,
    /// The segment of the block: no path goes out of it. Cycles of transactions do.
    segment: Option<Segment>,
}

impl Reach {
    /// Finds the accesses between leaving `block` and coming back. With `transactions`, accesses of
    /// the block's own thread outside of it are steps as well (transactions); a transaction that is
    /// entered late can be left early, so thresholds then move to the transaction's limits.
    pub(crate) fn around(trace_model: &TraceModel<'_>, block: BlockId, transactions: bool) -> Self {
        let threads = trace_model.chains.thread_count();
        let segment = (!transactions).then(|| trace_model.segment(block));
        let accesses = match &segment {
            Some(segment) => segment.ends.clone(),
            None => accesses_of(trace_model, block),
        };
        let mut spans = Vec::new();
        if let (false, Some(&first), Some(&last)) =
            (transactions, accesses.first(), accesses.last())
        {
            let held_at_last = trace_model.locks.held_before(last);
            spans.extend(trace_model.locks.held_before(first));
            spans.retain(|s| held_at_last.contains(s));
        }
        let (from, to) = (vec![u32::MAX; threads], vec![0; threads]);
        let mut reach = Self { from, to, spans, segment };
        let own = (!transactions).then(|| trace_model.blocks.get(block).thread);
        reach.forward(trace_model, &accesses, own, transactions);
        reach.backward(trace_model, &accesses, own, transactions);
        reach
    }

    /// Whether nothing can be on a path.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.iter().zip(&self.to).all(|(from, to)| from >= to)
    }

    /// The positions of a thread with so many events that can be on a path, by the limits alone.
    pub(crate) fn range(&self, thread: ThreadId, events: usize) -> std::ops::Range<usize> {
        let to = (self.to[thread.index()] as usize).min(events);
        (self.from[thread.index()] as usize).min(to)..to
    }

    /// Whether an access can be on a path.
    pub(crate) fn contains(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        let thread = trace_model.trace.thread(e).index();
        let position = trace_model.chains.position(e);
        self.from[thread] <= position && position < self.to[thread] && self.possible(trace_model, e)
    }

    fn possible(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        self.segment.as_ref().is_none_or(|s| s.contains(trace_model, e))
            && !self.spans.iter().any(|&s| trace_model.locks.excludes(s, e))
    }

    /// Whether the step from one access to another is a conflict of accesses that can be on a path.
    fn step(&self, trace_model: &TraceModel<'_>, u: EventId, v: EventId) -> bool {
        conflict(trace_model.trace, u, v) && self.possible(trace_model, v)
    }

    fn forward(
        &mut self,
        trace_model: &TraceModel<'_>,
        start: &[EventId],
        without: Option<ThreadId>,
        transactions: bool,
    ) {
        let TraceModel { trace, chains, must_happen_before, reads_from, .. } = trace_model;
        let mut work: Vec<EventId> = start.to_vec();
        if transactions && let Some(&first) = start.first() {
            // Program order leads from the block to everything after it.
            let thread = trace.thread(first);
            let last = chains.position(start[start.len() - 1]);
            self.lower(trace_model, thread, last + 1, &mut work);
        }
        while let Some(u) = work.pop() {
            foretell_limit::check();
            if !self.may_start(trace_model, u, start) {
                continue;
            }
            let by_thread = visible_variables(trace, u)
                .flat_map(|x| reads_from.conflicting_by_thread(trace, u, x));
            for (thread, list) in by_thread {
                foretell_limit::check();
                if *thread == trace.thread(u) || Some(*thread) == without {
                    continue;
                }
                let needed = must_happen_before.needs(chains, trace, u, *thread);
                let possible = list.partition_point(|&v| chains.position(v) < needed);
                let end = self.segment.as_ref().map_or(u32::MAX, |s| s.lower[thread.index()]);
                let mut inside = list[possible..].iter().take_while(|&&v| chains.position(v) < end);
                let Some(&v) = inside.find(|&&v| self.step(trace_model, u, v)) else {
                    continue;
                };
                let first = if transactions { first_of_transaction(trace_model, v) } else { v };
                self.lower(trace_model, *thread, chains.position(first), &mut work);
            }
        }
    }

    /// Whether steps may start from an event: an access of the block, or one that can be on a path.
    fn may_start(&self, trace_model: &TraceModel<'_>, u: EventId, start: &[EventId]) -> bool {
        let inside = || start.binary_search(&u).is_ok();
        is_visible_access(trace_model.trace, u) && (self.possible(trace_model, u) || inside())
    }

    fn lower(&mut self, s: &TraceModel<'_>, thread: ThreadId, to: u32, work: &mut Vec<EventId>) {
        let from = &mut self.from[thread.index()];
        if to < *from {
            let events = s.chains.events(thread);
            let end = (*from as usize).min(events.len());
            work.extend(&events[(to as usize).min(end)..end]);
            *from = to;
        }
    }

    fn backward(
        &mut self,
        trace_model: &TraceModel<'_>,
        start: &[EventId],
        without: Option<ThreadId>,
        transactions: bool,
    ) {
        let TraceModel { trace, chains, must_happen_before, reads_from, .. } = trace_model;
        let mut work: Vec<EventId> = start.to_vec();
        if transactions && let Some(&first) = start.first() {
            let before = chains.position(first);
            self.raise(trace_model, trace.thread(first), before, &mut work);
        }
        while let Some(u) = work.pop() {
            foretell_limit::check();
            if !self.may_start(trace_model, u, start) {
                continue;
            }
            let own = trace.thread(u);
            let by_thread = visible_variables(trace, u)
                .flat_map(|x| reads_from.conflicting_by_thread(trace, u, x));
            for (thread, list) in by_thread {
                foretell_limit::check();
                if *thread == own || Some(*thread) == without {
                    continue;
                }
                let possible = list.partition_point(|&v| {
                    must_happen_before.needs(chains, trace, v, own) <= chains.position(u)
                });
                let begin = self.segment.as_ref().map_or(0, |s| s.upper[thread.index()]);
                let mut inside =
                    list[..possible].iter().rev().take_while(|&&v| chains.position(v) >= begin);
                let Some(&v) = inside.find(|&&v| self.step(trace_model, u, v)) else {
                    continue;
                };
                let last = if transactions { last_of_transaction(trace_model, v) } else { v };
                self.raise(trace_model, *thread, chains.position(last) + 1, &mut work);
            }
        }
    }

    fn raise(&mut self, s: &TraceModel<'_>, thread: ThreadId, to: u32, work: &mut Vec<EventId>) {
        let old = &mut self.to[thread.index()];
        if to > *old {
            work.extend(&s.chains.events(thread)[*old as usize..to as usize]);
            *old = to;
        }
    }
}

/// The accesses of a block that can take part in a finding.
pub(crate) fn accesses_of(trace_model: &TraceModel<'_>, block: BlockId) -> Vec<EventId> {
    let events = trace_model.blocks.events(&trace_model.chains, block);
    events.iter().copied().filter(|&e| is_visible_access(trace_model.trace, e)).collect()
}

/// The event that stands for the transaction of `e`: the begin of its outermost block, or itself.
pub(crate) fn transaction(trace_model: &TraceModel<'_>, e: EventId) -> EventId {
    trace_model.blocks.outermost(e).map_or(e, |b| trace_model.blocks.get(b).begin)
}

fn first_of_transaction(trace_model: &TraceModel<'_>, e: EventId) -> EventId {
    transaction(trace_model, e)
}

fn last_of_transaction(trace_model: &TraceModel<'_>, e: EventId) -> EventId {
    trace_model.blocks.outermost(e).map_or(e, |b| {
        let block = trace_model.blocks.get(b);
        trace_model.chains.events(block.thread)[block.last as usize]
    })
}

/// The path of a serializability violation of `block` in an interleaving: the earliest that
/// closes, with few steps.
pub(crate) fn path_in(
    trace_model: &TraceModel<'_>,
    schedule: &[EventId],
    block: BlockId,
) -> Option<Vec<EventId>> {
    let trace = trace_model.trace;
    let inside: FxHashSet<EventId> = accesses_of(trace_model, block).into_iter().collect();
    let own = trace_model.blocks.get(block).thread;
    let mut search = PathSearch::default();
    for &e in schedule {
        foretell_limit::check();
        if !is_visible_access(trace, e) {
            continue;
        }
        let thread = trace.thread(e);
        if inside.contains(&e) {
            if let Some((from, _)) = search.best(trace, e) {
                return Some(search.path(from, e));
            }
            search.reach(trace, e, 0);
        } else if thread != own {
            let by_conflict = search.best(trace, e);
            let by_order = search.last_of_thread.get(&thread).copied();
            let best = [by_conflict, by_order].into_iter().flatten().min_by_key(|(_, d)| *d);
            if let Some((from, distance)) = best {
                search.parent.insert(e, from);
                search.reach(trace, e, distance + 1);
                search.last_of_thread.insert(thread, (e, distance + 1));
            }
        }
    }
    None
}

/// The last access of a path out of a block and back that the observed run has.
pub(crate) fn observed_path(trace_model: &TraceModel<'_>, block: BlockId) -> Option<EventId> {
    let accesses = accesses_of(trace_model, block);
    let last = accesses.last()?.0.min(trace_model.feasible_prefix.checked_sub(1)?);
    let span: Vec<EventId> = (accesses[0].0..=last).map(EventId).collect();
    path_in(trace_model, &span, block)?.last().copied()
}

/// Accesses of other threads between two neighbouring accesses of a block to one variable that
/// conflict with both, as far as must-happen-before and locks tell; the first of each thread.
pub(crate) fn violations_nearby<'a>(
    trace_model: &'a TraceModel<'_>,
    block: BlockId,
) -> impl Iterator<Item = (EventId, EventId, EventId)> + 'a {
    let TraceModel { trace, chains, must_happen_before, reads_from, locks, .. } = trace_model;
    let mut last: FxHashMap<VarId, EventId> = FxHashMap::default();
    let neighbours = accesses_of(trace_model, block).into_iter().filter_map(move |c2| {
        let x = visible_variable(trace, c2)?;
        last.insert(x, c2).map(|c| (x, c, c2))
    });
    neighbours.flat_map(move |(x, c, c2)| {
        let lists = reads_from.conflicting_by_thread(trace, c, x).iter();
        lists.filter(move |(t, _)| *t != trace.thread(c)).filter_map(move |(thread, list)| {
            let from = must_happen_before.needs(chains, trace, c, *thread);
            let to = must_happen_before.first_after(chains, trace, c2, *thread);
            let start = list.partition_point(|&r| chains.position(r) < from);
            let &r = list.get(start)?;
            let spans = |s: &&SectionId| locks.held_before(c2).contains(s);
            let mut spanning = locks.held_before(c).iter().filter(spans);
            let possible = to.is_none_or(|to| chains.position(r) < to)
                && conflict(trace, r, c2)
                && !spanning.any(|&s| locks.excludes(s, r));
            possible.then_some((c, r, c2))
        })
    })
}

/// An access that was reached from the block.
struct Reached {
    thread: ThreadId,
    access: EventId,
    /// Number of steps.
    distance: u32,
    /// Number of accesses that were reached before it.
    turn: u32,
}

#[derive(Default)]
struct PathSearch {
    /// By variable, and whether it writes: for each thread the access that was reached with the
    /// fewest steps from the block, with their number; the first of several.
    reached: FxHashMap<(u32, bool), Vec<Reached>>,
    /// Number of accesses that were reached.
    count: u32,
    last_of_thread: FxHashMap<ThreadId, (EventId, u32)>,
    parent: FxHashMap<EventId, EventId>,
}

impl PathSearch {
    fn reach(&mut self, trace: &Trace, e: EventId, distance: u32) {
        let thread = trace.thread(e);
        for x in visible_variables(trace, e) {
            let list = self.reached.entry((x.0, trace.op(e).writes())).or_default();
            let new = Reached { thread, access: e, distance, turn: self.count };
            match list.iter_mut().find(|r| r.thread == thread) {
                Some(best) if distance < best.distance => *best = new,
                Some(_) => {}
                None => list.push(new),
            }
        }
        self.count += 1;
    }

    /// The access before `e` that conflicts with it and is the fewest steps from the block.
    fn best(&self, trace: &Trace, e: EventId) -> Option<(EventId, u32)> {
        let of = |x, writes| self.reached.get(&(x, writes)).map_or(&[][..], Vec::as_slice);
        let reached =
            visible_variables(trace, e).flat_map(|x| of(x.0, true).iter().chain(of(x.0, false)));
        let conflicting = reached.filter(|r| conflict(trace, r.access, e));
        let best = conflicting.min_by_key(|r| (r.distance, r.turn))?;
        Some((best.access, best.distance))
    }

    fn path(&self, last: EventId, t: EventId) -> Vec<EventId> {
        let mut path = vec![t, last];
        let mut e = last;
        while let Some(&parent) = self.parent.get(&e) {
            path.push(parent);
            e = parent;
        }
        path.reverse();
        path
    }
}

/// The two accesses of a conflict; `None` is program order.
type ConflictStep = Option<(EventId, EventId)>;

/// Graph of the transactions of an interleaving.
pub(crate) struct TransactionGraph {
    /// By transaction: the edges out of it.
    edges: FxHashMap<EventId, Vec<(EventId, ConflictStep)>>,
    /// By transaction: its first access.
    first: FxHashMap<EventId, EventId>,
}

impl TransactionGraph {
    /// Builds the graph of an interleaving. Of the conflicts on a variable only those are kept
    /// that have no other write in between: the rest follow through the transactions between them.
    pub(crate) fn new(trace_model: &TraceModel<'_>, schedule: &[EventId]) -> Self {
        let trace = trace_model.trace;
        let mut graph = Self { edges: FxHashMap::default(), first: FxHashMap::default() };
        let mut last_write: FxHashMap<u32, EventId> = FxHashMap::default();
        let mut reads: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
        let mut last_of_thread: FxHashMap<ThreadId, EventId> = FxHashMap::default();
        for &e in schedule {
            foretell_limit::check();
            if !is_visible_access(trace, e) {
                continue;
            }
            let own = transaction(trace_model, e);
            graph.first.entry(own).or_insert(e);
            let previous = last_of_thread.insert(trace.thread(e), own);
            if let Some(previous) = previous.filter(|&p| p != own) {
                graph.edges.entry(previous).or_default().push((own, None));
            }
            let mut from: Vec<EventId> = Vec::new();
            for x in visible_variables(trace, e) {
                from.extend(last_write.get(&x.0));
                if trace.op(e).writes() {
                    from.extend(reads.remove(&x.0).unwrap_or_default());
                    last_write.insert(x.0, e);
                } else {
                    reads.entry(x.0).or_default().push(e);
                }
            }
            for f in from {
                foretell_limit::check();
                if conflict(trace, f, e) {
                    let edges = graph.edges.entry(transaction(trace_model, f)).or_default();
                    edges.push((own, Some((f, e))));
                }
            }
        }
        graph
    }

    /// All transactions that can be reached from `start`, each with the edge it was first
    /// reached by.
    fn search(&self, start: EventId) -> FxHashMap<EventId, (EventId, ConflictStep)> {
        let mut parents = FxHashMap::default();
        let mut queue = VecDeque::from([start]);
        while let Some(t) = queue.pop_front() {
            foretell_limit::check();
            for &(to, by) in self.edges.get(&t).map_or(&[][..], Vec::as_slice) {
                parents.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    (t, by)
                });
            }
        }
        parents
    }

    /// The transactions that can be reached from `start` by at least one edge.
    pub(crate) fn reached(&self, start: EventId) -> FxHashSet<EventId> {
        self.search(start).into_keys().collect()
    }

    /// The accesses along a shortest cycle through `start`, if there is a cycle.
    pub(crate) fn cycle(
        &self,
        trace_model: &TraceModel<'_>,
        start: EventId,
    ) -> Option<Vec<EventId>> {
        let parents = self.search(start);
        let mut accesses = Vec::new();
        let mut t = start;
        loop {
            let &(from, by) = parents.get(&t)?;
            if let Some((f, e)) = by {
                accesses.push(e);
                accesses.push(f);
            }
            t = from;
            if t == start {
                break;
            }
        }
        // A cycle that enters and leaves the block by program order still names an access of it.
        let &own = self.first.get(&start)?;
        if !accesses.iter().any(|&e| transaction(trace_model, e) == start) {
            accesses.push(own);
        }
        accesses.reverse();
        accesses.dedup();
        Some(accesses)
    }
}
