//! Deadlocks: threads that each wait to acquire a lock that the next one holds.
//!
//! A candidate is a circle of acquires in different threads, each made while holding the lock that
//! the one before it asks for: a cycle of the lock graph. Whether the threads can all get there at
//! the same time (gate locks, forks and joins, data) is for the engine to say.

use foretell_model::TraceModel;
use foretell_trace::{EventId, LockId, Op};
use rustc_hash::FxHashMap;

use super::Candidate;
use crate::query::Query;

/// All acquires are next.
pub(super) fn query(acquires: &[EventId]) -> Query {
    Query { next: acquires.to_vec(), ..Query::default() }
}

/// An acquire made while something is held.
#[derive(Clone, Copy)]
struct Request {
    event: EventId,
    lock: LockId,
    shared: bool,
}

/// Every circle of acquires, each as an ascending set.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let requests = requests(trace_model);
    let mut by_held: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
    for (i, r) in requests.iter().enumerate() {
        for &s in trace_model.locks.held_before(r.event) {
            by_held.entry(trace_model.locks.get(s).lock).or_default().push(i);
        }
    }
    let mut search =
        Search { trace_model, requests: &requests, by_held: &by_held, found: Vec::new() };
    for start in 0..requests.len() {
        search.extend(&mut vec![start]);
    }
    search.found.sort_unstable();
    search.found.dedup();
    search.found.into_iter().map(Candidate::Deadlock).collect()
}

/// Acquires that take a lock anew while the thread holds others.
fn requests(trace_model: &TraceModel<'_>) -> Vec<Request> {
    let sections = trace_model.locks.all().iter();
    sections
        .filter(|s| matches!(trace_model.trace.op(s.enter), Op::Acquire | Op::AcquireShared))
        .filter(|s| !trace_model.locks.held_before(s.enter).is_empty())
        .map(|s| Request { event: s.enter, lock: s.lock, shared: s.shared })
        .collect()
}

struct Search<'a> {
    trace_model: &'a TraceModel<'a>,
    requests: &'a [Request],
    by_held: &'a FxHashMap<LockId, Vec<usize>>,
    found: Vec<Vec<EventId>>,
}

impl Search<'_> {
    /// Goes on from the last request of `path` to those made while holding what it asks for.
    /// Circles are found from their first request on.
    fn extend(&mut self, path: &mut Vec<usize>) {
        let last = path[path.len() - 1];
        let wanted = self.requests[last].lock;
        let holders = self.by_held.get(&wanted).map_or(&[][..], Vec::as_slice);
        let first = path[0];
        for &next in holders {
            if next < first || !self.blocks(last, next) {
                continue;
            }
            if next == first && path.len() > 1 {
                let mut events: Vec<_> = path.iter().map(|&i| self.requests[i].event).collect();
                events.sort_unstable();
                self.found.push(events);
            } else if path.iter().all(|&p| self.compatible(p, next)) {
                path.push(next);
                self.extend(path);
                path.pop();
            }
        }
    }

    /// Whether request `waiting` cannot go on while the thread of `holding` is at that request.
    fn blocks(&self, waiting: usize, holding: usize) -> bool {
        let (waiting, holding) = (self.requests[waiting], self.requests[holding]);
        let trace = self.trace_model.trace;
        trace.thread(waiting.event) != trace.thread(holding.event)
            && self.trace_model.locks.held_before(holding.event).iter().any(|&s| {
                let section = self.trace_model.locks.get(s);
                section.lock == waiting.lock && !(section.shared && waiting.shared)
            })
    }

    /// Two requests of different threads without a gate: no lock is held at both that excludes.
    fn compatible(&self, a: usize, b: usize) -> bool {
        let locks = &self.trace_model.locks;
        let (a, b) = (self.requests[a].event, self.requests[b].event);
        self.trace_model.trace.thread(a) != self.trace_model.trace.thread(b)
            && !locks.held_before(a).iter().any(|&s| {
                let s = locks.get(s);
                locks.held_before(b).iter().any(|&t| {
                    let t = locks.get(t);
                    s.lock == t.lock && !(s.shared && t.shared)
                })
            })
    }
}
