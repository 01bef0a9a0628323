//! Meetings at barriers: a cheap proof that no thread waits for ever at one.
//!
//! If as many threads use a barrier as it has parties, and each leaves before it arrives again, the
//! k-th arrivals of all of them are generation k in every interleaving. A thread that waits in
//! generation k > 0 has left the generation before, so all the others have arrived there and are
//! free to leave. One of them then stays between that meeting and this one for ever; where no
//! thread has a stop in between, there is none.

use foretell_model::TraceModel;
use foretell_trace::{BarrierId, EventId, EventKind, ThreadId};
use rustc_hash::FxHashSet;

/// A thread's meetings at a barrier: the positions of its arrivals, and of its leaves.
#[derive(Clone, Debug)]
struct Party {
    thread: ThreadId,
    arrivals: Vec<u32>,
    leaves: Vec<u32>,
}

/// Barriers that the same threads use over and over.
#[derive(Debug, Default)]
pub(super) struct Meetings {
    barriers: Vec<Vec<Party>>,
}

impl Meetings {
    /// Finds the barriers that have as many users as parties, each of which leaves before it
    /// arrives again.
    pub(super) fn new(trace_model: &TraceModel<'_>) -> Self {
        let TraceModel { trace, chains, .. } = trace_model;
        let mut barriers: Vec<Vec<Party>> = vec![Vec::new(); trace.barrier_count()];
        let mut is_regular = vec![true; barriers.len()];
        if barriers.is_empty() {
            return Self::default();
        }
        for thread in (0..chains.thread_count()).map(ThreadId::from_index) {
            for (position, &e) in (0..).zip(chains.events(thread)) {
                foretell_limit::check();
                let (EventKind::Arrive { barrier } | EventKind::Leave { barrier }) =
                    trace.event(e).kind
                else {
                    continue;
                };
                let parties = &mut barriers[barrier.index()];
                if parties.last().is_none_or(|party| party.thread != thread) {
                    parties.push(Party { thread, arrivals: Vec::new(), leaves: Vec::new() });
                }
                let Some(party) = parties.last_mut() else { continue };
                if matches!(trace.event(e).kind, EventKind::Leave { .. }) {
                    party.leaves.push(position);
                } else {
                    is_regular[barrier.index()] &= party.arrivals.len() == party.leaves.len();
                    party.arrivals.push(position);
                }
            }
        }
        for ((index, parties), is_regular) in barriers.iter_mut().enumerate().zip(is_regular) {
            let expected = trace.parties(BarrierId(index as u32)).unwrap_or(1).max(1);
            if !is_regular || parties.len() != expected as usize {
                parties.clear();
            }
        }
        Self { barriers }
    }

    /// Returns the leaves at which no thread waits for ever; `stops` are those of each thread,
    /// ascending.
    pub(super) fn left(
        &self,
        trace_model: &TraceModel<'_>,
        stops: &[Vec<u32>],
    ) -> FxHashSet<EventId> {
        let chains = &trace_model.chains;
        let mut left = FxHashSet::default();
        for parties in &self.barriers {
            let generations = parties.iter().map(|party| party.leaves.len()).max().unwrap_or(0);
            let mut held_up = vec![false; generations];
            for Party { thread, arrivals, leaves } in parties {
                let stops = &stops[thread.index()];
                for (k, (leave, arrival)) in (1..).zip(leaves.iter().zip(arrivals.iter().skip(1))) {
                    foretell_limit::check();
                    let next = stops.get(stops.partition_point(|stop| stop <= leave));
                    if k < generations && next.is_some_and(|stop| stop < arrival) {
                        held_up[k] = true;
                    }
                }
            }
            for Party { thread, leaves, .. } in parties {
                let meetings = leaves.iter().zip(&held_up).skip(1);
                let passed = meetings.filter(|(_, held_up)| !**held_up);
                left.extend(passed.map(|(&leave, _)| chains.events(*thread)[leave as usize]));
            }
        }
        left
    }
}
