//! From a partial order to a sequence that stays close to the observed one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_model::TraceModel;
use foretell_trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;

/// A sequence of events that begins as the trace does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proposal {
    /// The first events of the trace, this many, run first and in observed order.
    pub(crate) prefix: u32,
    /// The events after them.
    pub(crate) tail: Vec<EventId>,
    /// Number of events of each thread that run in all.
    pub(crate) counts: Vec<u32>,
}

impl Proposal {
    /// The whole sequence.
    pub(crate) fn schedule(&self) -> Vec<EventId> {
        self.events().collect()
    }

    /// Its events, one after the other.
    pub(crate) fn events(&self) -> impl Iterator<Item = EventId> + '_ {
        (0..self.prefix).map(EventId).chain(self.tail.iter().copied())
    }
}

/// Orders the first `counts` events of each thread: program order and the given one, which must be
/// about these events, are kept, and where several events are possible the first one of the trace
/// goes on.
///
/// Most of a long sequence is as in the trace: up to the first event that does not run or has to
/// wait for something it did not wait for, as far as the trace itself is feasible.
pub(crate) fn by_observed_order(
    trace_model: &TraceModel<'_>,
    counts: Vec<u32>,
    order: &[(EventId, EventId)],
) -> Proposal {
    let (trace, chains) = (trace_model.trace, &trace_model.chains);
    let mut waiting_for: FxHashMap<EventId, u32> = FxHashMap::default();
    let mut followers: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
    for &(first, second) in order {
        foretell_limit::check();
        *waiting_for.entry(second).or_default() += 1;
        followers.entry(first).or_default().push(second);
    }
    let threads = || (0..counts.len()).map(ThreadId::from_index);
    let left_out = threads().filter_map(|t| chains.events(t).get(counts[t.index()] as usize));
    // Edges along the observed order hold by themselves as long as it is followed.
    let reversed = followers
        .iter()
        .flat_map(|(first, list)| list.iter().filter(move |second| *second < first));
    let prefix = left_out.chain(reversed).map(|e| e.0).min();
    let prefix = prefix.unwrap_or(trace.len() as u32).min(trace_model.feasible_prefix);
    let mut done: Vec<u32> =
        threads().map(|t| chains.events(t).partition_point(|e| e.0 < prefix) as u32).collect();
    for (e, list) in &followers {
        for f in list.iter().filter(|_| e.0 < prefix) {
            foretell_limit::check();
            *waiting_for.entry(*f).or_insert(1) -= 1;
        }
    }
    let total = counts.iter().map(|&c| c as usize).sum::<usize>() - prefix as usize;
    let mut tail = Vec::with_capacity(total);
    let mut ready: BinaryHeap<Reverse<EventId>> = BinaryHeap::new();
    let blocked = |waiting_for: &FxHashMap<EventId, u32>, e: EventId| {
        waiting_for.get(&e).is_some_and(|&n| n > 0)
    };
    for t in threads().filter(|t| done[t.index()] < counts[t.index()]) {
        let first = chains.events(t)[done[t.index()] as usize];
        if !blocked(&waiting_for, first) {
            ready.push(Reverse(first));
        }
    }
    while let Some(Reverse(mut e)) = ready.pop() {
        // A thread goes on without passing through the heap while it is first anyway.
        loop {
            tail.push(e);
            let thread = trace.thread(e).index();
            done[thread] += 1;
            for &f in followers.get(&e).map_or(&[][..], Vec::as_slice) {
                let Some(n) = waiting_for.get_mut(&f) else { continue };
                *n -= 1;
                let (other, position) = (trace.thread(f).index(), chains.position(f));
                let is_next = other != thread && position == done[other];
                if *n == 0 && is_next && position < counts[other] {
                    ready.push(Reverse(f));
                }
            }
            if done[thread] >= counts[thread] {
                break;
            }
            let next = chains.events(ThreadId::from_index(thread))[done[thread] as usize];
            if blocked(&waiting_for, next) {
                break;
            }
            if ready.peek().is_some_and(|Reverse(first)| *first < next) {
                ready.push(Reverse(next));
                break;
            }
            e = next;
        }
    }
    debug_assert_eq!(tail.len(), total, "the model's order has a cycle");
    Proposal { prefix, tail, counts }
}
