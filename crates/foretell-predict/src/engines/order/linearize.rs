//! From a partial order to a sequence that stays close to the observed one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_model::Structure;
use foretell_trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;

/// Orders the first `counts` events of each thread: program order and the given edges are kept,
/// and where several events are possible the first one of the trace goes on. `waiting_for` has the
/// number of edges that end at an event, `followers` the edges. Edges from events that are not
/// among the first `counts` would never be satisfied: there must be none.
pub(crate) fn by_observed_order(
    structure: &Structure<'_>,
    counts: &[u32],
    mut waiting_for: FxHashMap<EventId, u32>,
    followers: &FxHashMap<EventId, Vec<EventId>>,
) -> Vec<EventId> {
    let (trace, chains) = (structure.trace, &structure.chains);
    let total = counts.iter().map(|&c| c as usize).sum();
    let mut schedule = Vec::with_capacity(total);
    let mut done = vec![0u32; counts.len()];
    let mut ready: BinaryHeap<Reverse<EventId>> = BinaryHeap::new();
    let blocked = |waiting_for: &FxHashMap<EventId, u32>, e: EventId| {
        waiting_for.get(&e).is_some_and(|&n| n > 0)
    };
    for t in (0..counts.len()).filter(|&t| counts[t] > 0) {
        let first = chains.events(ThreadId::from_index(t))[0];
        if !blocked(&waiting_for, first) {
            ready.push(Reverse(first));
        }
    }
    while let Some(Reverse(mut e)) = ready.pop() {
        // A thread goes on without passing through the heap while it is first anyway.
        loop {
            schedule.push(e);
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
    debug_assert_eq!(schedule.len(), total, "the model's order has a cycle");
    schedule
}
