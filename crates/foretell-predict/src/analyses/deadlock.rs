//! Deadlocks: threads that each wait to acquire a lock that the next one holds, or for the end of
//! the next one.
//!
//! A candidate is a circle of acquires and joins in different threads, each made while holding the
//! lock that the one before it asks for, or in the thread that the one before it joins: a cycle of
//! the lock graph with threads in it. Whether the threads can all get there at
//! the same time (forks and joins, data) is for the engine to say.
//!
//! A program takes the same locks in the same way over and over, so no acquire is looked at before
//! the circles of *requests* are known: acquires of one thread at one place, of one lock, under the
//! same locks; or joins of one thread. An acquire without a lock held matters only in a thread that
//! is joined. Requests that are on no cycle (Tarjan's strongly connected components) are dropped
//! first; then circles are searched for among the rest, without those that a gate lock held at two
//! of their requests, or must-happen-before, rules out. The acquires of a circle of requests are
//! named one circle at a time, in the order of the trace ([`Acquires`]), as long as somebody asks.

use foretell_model::TraceModel;
use foretell_trace::{EventId, LockId, Op, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Candidate;
use crate::filters::Filters;
use crate::query::Query;

/// All acquires are next.
pub(super) fn query(acquires: &[EventId]) -> Query {
    Query { next: acquires.to_vec(), ..Query::default() }
}

/// Every circle of acquires, each as an ascending set.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let circles = Circles::new(trace_model, &Filters::NONE);
    let sets = 0..circles.sets.len();
    let mut found: Vec<_> =
        sets.flat_map(|set| circles.acquires(trace_model, set, false)).collect();
    found.sort_unstable();
    found.into_iter().map(Candidate::Deadlock).collect()
}

/// The lock (and whether it is the reader side) or the end of a thread that a request waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wanted {
    Lock(LockId, bool),
    End(ThreadId),
}

/// Acquires of one thread at one place, of one lock, taken anew, while the same locks are held; or
/// joins of one thread.
struct Request {
    thread: ThreadId,
    wanted: Wanted,
    /// With whether it is the reader side.
    held: Vec<(LockId, bool)>,
    /// Ascending.
    acquires: Vec<EventId>,
}

impl Request {
    /// Whether this one cannot go on while the thread of `other` is at that request.
    fn waits_for(&self, other: &Request) -> bool {
        let waits = match self.wanted {
            Wanted::Lock(wanted, reader) => {
                other.held.iter().any(|&(lock, shared)| lock == wanted && !(shared && reader))
            }
            Wanted::End(thread) => other.thread == thread,
        };
        self.thread != other.thread && waits
    }

    /// Whether no lock that excludes is held at both, which are requests of different threads.
    fn has_no_gate(&self, other: &Request) -> bool {
        let excludes = |&(lock, shared): &(LockId, bool)| {
            other.held.iter().any(|&(l, s)| l == lock && !(s && shared))
        };
        self.thread != other.thread && !self.held.iter().any(excludes)
    }
}

/// The circles of requests of a trace.
pub(crate) struct Circles {
    requests: Vec<Request>,
    /// The requests of each circle, ascending. Two circles of the same requests are one.
    pub(crate) sets: Vec<Vec<u32>>,
}

impl Circles {
    /// Finds all circles of requests that gates and, with that filter, must-happen-before leave.
    pub(crate) fn new(trace_model: &TraceModel<'_>, filters: &Filters) -> Self {
        let requests = requests(trace_model);
        let mut by_held: FxHashMap<LockId, Vec<u32>> = FxHashMap::default();
        let mut by_thread: FxHashMap<ThreadId, Vec<u32>> = FxHashMap::default();
        for (i, request) in requests.iter().enumerate() {
            by_thread.entry(request.thread).or_default().push(i as u32);
            let mut locks: Vec<LockId> = request.held.iter().map(|&(lock, _)| lock).collect();
            locks.dedup();
            for lock in locks {
                by_held.entry(lock).or_default().push(i as u32);
            }
        }
        let order = filters.must_happen_before.then_some(trace_model);
        let mut graph = RequestGraph {
            requests: &requests,
            by_held,
            by_thread,
            order,
            open: FxHashMap::default(),
        };
        let components = graph.components();
        let mut search = Search { graph, components, found: FxHashSet::default() };
        for start in 0..requests.len() as u32 {
            search.extend(&mut vec![start]);
        }
        let mut sets: Vec<_> = search.found.into_iter().collect();
        sets.sort_unstable();
        Circles { requests, sets }
    }

    /// Number of sets of acquires that make up a circle of requests.
    pub(crate) fn size(&self, set: usize) -> u64 {
        let counts =
            self.sets[set].iter().map(|&r| self.requests[r as usize].acquires.len() as u64);
        counts.fold(1, u64::saturating_mul)
    }

    /// An acquire of each request of a circle.
    pub(crate) fn examples(&self, set: usize) -> impl Iterator<Item = EventId> + '_ {
        self.sets[set].iter().map(|&r| self.requests[r as usize].acquires[0])
    }

    /// The sets of acquires of a circle of requests, in order; with `ordered`, without those of
    /// which must-happen-before orders two.
    pub(crate) fn acquires<'a>(
        &'a self,
        trace_model: &'a TraceModel<'a>,
        set: usize,
        ordered: bool,
    ) -> Acquires<'a> {
        let requests =
            self.sets[set].iter().map(|&r| self.requests[r as usize].acquires.as_slice());
        let left = requests.collect();
        let order = ordered.then_some(trace_model);
        Acquires { order, chosen: Vec::new(), levels: vec![left] }
    }
}

/// The joins, and the acquires that take a lock anew while the thread holds others or is joined.
fn requests(trace_model: &TraceModel<'_>) -> Vec<Request> {
    let (trace, locks) = (trace_model.trace, &trace_model.locks);
    type Key = (ThreadId, Option<u32>, Wanted, Vec<(LockId, bool)>);
    let mut index: FxHashMap<Key, usize> = FxHashMap::default();
    let mut requests: Vec<Request> = Vec::new();
    let mut add = |e: EventId, wanted: Wanted| {
        foretell_limit::check();
        let sections = locks.held_before(e);
        let mut held: Vec<_> =
            sections.iter().map(|&s| locks.get(s)).map(|s| (s.lock, s.shared)).collect();
        held.sort_unstable();
        let thread = trace.thread(e);
        let place = trace.site(e).map(|site| trace.location_index(site));
        let i = *index.entry((thread, place, wanted, held.clone())).or_insert_with(|| {
            requests.push(Request { thread, wanted, held, acquires: Vec::new() });
            requests.len() - 1
        });
        requests[i].acquires.push(e);
    };
    for section in locks.all() {
        let e = section.enter;
        let matters = !locks.held_before(e).is_empty()
            || !trace_model.chains.joins(section.thread).is_empty();
        if matters && matches!(trace.op(e), Op::Acquire | Op::AcquireShared) {
            add(e, Wanted::Lock(section.lock, section.shared));
        }
    }
    for t in (0..trace.thread_count()).map(ThreadId::from_index) {
        // A thread without events has nothing to wait for.
        if !trace_model.chains.events(t).is_empty() {
            trace_model.chains.joins(t).iter().for_each(|&e| add(e, Wanted::End(t)));
        }
    }
    requests
}

/// The graph in which a request leads to those that it can wait for.
struct RequestGraph<'a> {
    requests: &'a [Request],
    by_held: FxHashMap<LockId, Vec<u32>>,
    by_thread: FxHashMap<ThreadId, Vec<u32>>,
    /// The trace, if must-happen-before counts.
    order: Option<&'a TraceModel<'a>>,
    /// Pairs of requests that were compared: whether both can be next at the same time.
    open: FxHashMap<(u32, u32), bool>,
}

impl RequestGraph<'_> {
    /// The requests that hold the lock, or are of the thread, that a request waits for, and perhaps
    /// more.
    fn holders(&self, request: u32) -> &[u32] {
        let holders = match self.requests[request as usize].wanted {
            Wanted::Lock(lock, _) => self.by_held.get(&lock),
            Wanted::End(thread) => self.by_thread.get(&thread),
        };
        holders.map_or(&[], Vec::as_slice)
    }

    /// Whether one request can wait for the other.
    fn leads_to(&mut self, from: u32, to: u32) -> bool {
        let waits = self.requests[from as usize].waits_for(&self.requests[to as usize]);
        waits && self.is_compatible(from, to)
    }

    /// Whether the threads can be at both requests at the same time, as far as locks and order
    /// tell.
    fn is_compatible(&mut self, a: u32, b: u32) -> bool {
        let (one, other) = (&self.requests[a as usize], &self.requests[b as usize]);
        if !one.has_no_gate(other) {
            return false;
        }
        let Some(trace_model) = self.order else { return true };
        *self.open.entry((a.min(b), a.max(b))).or_insert_with(|| {
            let (one, other) = (&one.acquires, &other.acquires);
            let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
            short.iter().any(|&e| !together(trace_model, e, long).is_empty())
        })
    }

    /// The strongly connected component of each request (Tarjan); `None` where it is alone in it.
    fn components(&mut self) -> Vec<Option<u32>> {
        const UNSEEN: u32 = u32::MAX;
        let n = self.requests.len();
        let (mut number, mut low) = (vec![UNSEEN; n], vec![0; n]);
        let mut component: Vec<Option<u32>> = vec![None; n];
        let mut is_open = vec![false; n];
        let (mut stack, mut next) = (Vec::new(), 0);
        // Requests on the way, each with the index of the holder to go to next.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for start in 0..n as u32 {
            if number[start as usize] != UNSEEN {
                continue;
            }
            path.push((start, 0));
            while let Some(&mut (r, ref mut i)) = path.last_mut() {
                foretell_limit::check();
                let u = r as usize;
                if *i == 0 {
                    (number[u], low[u], is_open[u]) = (next, next, true);
                    next += 1;
                    stack.push(r);
                }
                let holder = self.holders(r).get(*i).copied();
                *i += 1;
                if let Some(v) = holder {
                    let seen = number[v as usize];
                    if seen != UNSEEN && !is_open[v as usize] || !self.leads_to(r, v) {
                        continue;
                    }
                    if seen == UNSEEN {
                        path.push((v, 0));
                    } else {
                        low[u] = low[u].min(seen);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[u]);
                }
                if low[u] == number[u] {
                    let begin = stack.iter().rposition(|&v| v == r).unwrap_or(0);
                    let members = stack.split_off(begin);
                    let id = (members.len() > 1).then_some(number[u]);
                    for v in members {
                        is_open[v as usize] = false;
                        component[v as usize] = id;
                    }
                }
            }
        }
        component
    }
}

/// The acquires in a list, of one thread, that can be next while `e` is, as far as
/// must-happen-before tells. They are neighbours.
fn together<'l>(trace_model: &TraceModel<'_>, e: EventId, list: &'l [EventId]) -> &'l [EventId] {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let Some(&first) = list.first() else { return list };
    let column = chains.column(trace.thread(first));
    if column == chains.column(trace.thread(e)) {
        return &[];
    }
    let places = must_happen_before.next_together(chains, trace, e, column);
    let from = list.partition_point(|&f| chains.column_position(trace, f) < places.start);
    let to = list.partition_point(|&f| chains.column_position(trace, f) < places.end);
    &list[from..to.max(from)]
}

struct Search<'a> {
    graph: RequestGraph<'a>,
    components: Vec<Option<u32>>,
    found: FxHashSet<Vec<u32>>,
}

impl Search<'_> {
    /// Goes on from the last request of `path` to those that it can wait for. Circles are found
    /// from their first request on.
    fn extend(&mut self, path: &mut Vec<u32>) {
        let (first, last) = (path[0], path[path.len() - 1]);
        let component = self.components[last as usize];
        if component.is_none() {
            return;
        }
        let holders = self.graph.holders(last);
        let from = holders.partition_point(|&r| r < first);
        for i in from..holders.len() {
            foretell_limit::check();
            let next = self.graph.holders(last)[i];
            if self.components[next as usize] != component {
                continue;
            }
            if next == first {
                if self.graph.leads_to(last, next) {
                    let mut circle = path.clone();
                    circle.sort_unstable();
                    self.found.insert(circle);
                }
            } else if self.graph.leads_to(last, next)
                && path.iter().all(|&p| self.graph.is_compatible(p, next))
            {
                path.push(next);
                self.extend(path);
                path.pop();
            }
        }
    }
}

/// The sets of acquires of a circle of requests, each ascending, in lexicographic order.
pub(crate) struct Acquires<'a> {
    /// The trace, if must-happen-before counts.
    order: Option<&'a TraceModel<'a>>,
    /// Acquires that were chosen, ascending.
    chosen: Vec<EventId>,
    /// By number of acquires chosen, what is left of the requests without one: later acquires only.
    levels: Vec<Vec<&'a [EventId]>>,
}

impl Iterator for Acquires<'_> {
    type Item = Vec<EventId>;

    fn next(&mut self) -> Option<Vec<EventId>> {
        loop {
            foretell_limit::check();
            let left = self.levels.last_mut()?;
            let firsts = left.iter().map(|list| list.first().copied());
            // A request without a later acquire: nothing more on this level.
            let firsts: Option<Vec<EventId>> = firsts.collect();
            let earliest = firsts.and_then(|f| f.into_iter().enumerate().min_by_key(|&(_, e)| e));
            let Some((i, e)) = earliest else {
                self.levels.pop();
                self.chosen.pop();
                continue;
            };
            left[i] = &left[i][1..];
            let others = left.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, list)| *list);
            let others: Vec<&[EventId]> = match self.order {
                Some(trace_model) => others.map(|list| together(trace_model, e, list)).collect(),
                None => others.collect(),
            };
            self.chosen.push(e);
            if others.is_empty() {
                let found = self.chosen.clone();
                self.chosen.pop();
                return Some(found);
            }
            self.levels.push(others);
        }
    }
}
