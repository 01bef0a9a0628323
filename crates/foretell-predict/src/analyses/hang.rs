//! Hangs: states in which every thread waits for ever or has ended, and at least one waits for a
//! notification, a semaphore or a barrier.
//!
//! Beyond the papers. A candidate is one such event, the *root*: a lost wake-up, a permit that does
//! not come, a party that is missing. Which events of the other threads are blocked with it is for
//! the engine to find: those that wait for a lock or for the end of a thread follow from the root.
//! A set of blocked events belongs to the first root in it, so that no set is found twice; one
//! place of the first root is one group.
//!
//! Roots that must-happen-before and counts show to go on in every state without a way on are
//! dropped before there are groups ([`Stops`](crate::stuck::Stops)).

use foretell_model::TraceModel;
use foretell_trace::EventId;

use super::Candidate;
use crate::query::{Goal, Query};
use crate::stuck::is_root;

/// The root is next, and no thread can ever go on.
pub(super) fn query(root: EventId, known: &[Vec<EventId>]) -> Query {
    let (next, without) = (vec![root], known.to_vec());
    Query { next, goal: Goal::Stuck(root), without, ..Query::default() }
}

/// Every event that waits for a notification, a semaphore or a barrier, in a trace that says which
/// threads have ended.
pub(super) fn candidates(trace_model: &TraceModel<'_>) -> Vec<Candidate> {
    let trace = trace_model.trace;
    let objects = trace.condition_count() + trace.semaphore_count() + trace.barrier_count();
    if !trace.knows_ended() || objects == 0 {
        return Vec::new();
    }
    let roots = trace.ids().filter(|&e| is_root(trace.op(e)));
    roots.map(|root| Candidate::Hang(root, Vec::new())).collect()
}
