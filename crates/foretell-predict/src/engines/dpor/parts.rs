//! Which accesses may be on a path or a cycle, and what a goal needs to have run.

use foretell_model::{BlockId, TraceModel};
use foretell_trace::{EventId, visible_variable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::query::{Goal, Query};
use crate::reachability::{Reach, accesses_of, transaction};

/// The part of an access in a path or a cycle of transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// In the block that is asked about.
    pub(super) inside: bool,
    /// The first and the last part of its transaction.
    pub(super) first: bool,
    pub(super) last: bool,
}

/// The query, with what has run wherever its goal is reached: a path comes back at the second
/// access of the block at the earliest, a cycle needs the first one. `None` if there is no such
/// access.
pub(super) fn with_what_a_goal_runs(trace_model: &TraceModel<'_>, query: &Query) -> Option<Query> {
    let mut query = query.clone();
    match query.goal {
        Goal::Path(block) => query.run.push(*trace_model.segment(block).ends.get(1)?),
        Goal::Cycle(block) => query.run.push(*accesses_of(trace_model, block).first()?),
        _ => {}
    }
    Some(query)
}

/// The accesses that may be on a path or a cycle, with their part in it; outside the block at most
/// `most`.
pub(super) fn parts(
    trace_model: &TraceModel<'_>,
    goal: Goal,
    most: usize,
) -> FxHashMap<EventId, Part> {
    let (block, transactions) = match goal {
        Goal::Path(block) => (block, false),
        Goal::Cycle(block) => (block, true),
        _ => return FxHashMap::default(),
    };
    let inside: FxHashSet<EventId> = ends(trace_model, block, transactions).into_iter().collect();
    let mut outside = outside(trace_model, block, transactions, &inside);
    if outside.len() > most {
        let first = inside.iter().min().map_or(0, |e| e.0);
        let last = inside.iter().max().map_or(0, |e| e.0);
        let distance = |e: &EventId| first.saturating_sub(e.0).max(e.0.saturating_sub(last));
        outside.sort_by_key(distance);
        outside.truncate(most);
    }
    let mut events: Vec<EventId> = inside.iter().copied().chain(outside).collect();
    events.sort_unstable();
    let mut last_of: FxHashMap<EventId, EventId> = FxHashMap::default();
    let mut parts: FxHashMap<EventId, Part> = FxHashMap::default();
    for e in events {
        foretell_limit::check();
        let previous = last_of.insert(transaction(trace_model, e), e);
        let first = previous.is_none();
        if let Some(part) = previous.and_then(|p| parts.get_mut(&p)) {
            part.last = false;
        }
        parts.insert(e, Part { inside: inside.contains(&e), first, last: true });
    }
    parts
}

/// The accesses outside a block that may be on a path or a cycle.
fn outside(
    trace_model: &TraceModel<'_>,
    block: BlockId,
    transactions: bool,
    inside: &FxHashSet<EventId>,
) -> Vec<EventId> {
    let trace = trace_model.trace;
    let reach = Reach::around(trace_model, block, transactions);
    let own = trace_model.blocks.get(block).thread;
    let may_be = |e: &EventId| {
        !inside.contains(e)
            && visible_variable(trace, *e).is_some()
            && (transactions || trace.thread(*e) != own)
            && reach.contains(trace_model, *e)
    };
    trace.ids().filter(may_be).collect()
}

/// The accesses of the block that can be on a path or a cycle.
fn ends(trace_model: &TraceModel<'_>, block: BlockId, transactions: bool) -> Vec<EventId> {
    if transactions { accesses_of(trace_model, block) } else { trace_model.segment(block).ends }
}

/// The events that the cone has to contain for the goal.
pub(super) fn steps_of(
    trace_model: &TraceModel<'_>,
    goal: Goal,
    parts: &FxHashMap<EventId, Part>,
) -> Vec<EventId> {
    match goal {
        Goal::Broken(read) => {
            let x = trace_model.trace.variable(read);
            x.map_or_else(Vec::new, |x| trace_model.reads_from.writes(x).to_vec())
        }
        _ => {
            let mut steps: Vec<EventId> = parts.keys().copied().collect();
            steps.sort_unstable();
            steps
        }
    }
}
