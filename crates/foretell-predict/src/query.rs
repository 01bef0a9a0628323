//! A query: a pattern to look for in some feasible interleaving.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use foretell_model::BlockId;
use foretell_trace::{EventId, VarId};

/// Asks for a feasible interleaving that has run some events, leaves others next, and reaches a
/// goal. Analyses make queries; engines answer them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// Events that have run.
    pub run: Vec<EventId>,
    /// Events that are next in their threads, which have started and are not cut.
    pub next: Vec<EventId>,
    /// Pairs of events of `run`: the first runs before the second.
    pub order: Vec<(EventId, EventId)>,
    /// Pairs of conflicting events of `run`, the earlier first, whose conflict must be real for the
    /// values at hand. Only the symbolic model has conflicts that are not.
    pub real: Vec<(EventId, EventId)>,
    /// The condition beyond positions and order.
    pub goal: Goal,
    /// Sets of next events of stuck states that do not count ([`Goal::Stuck`]).
    pub without: Vec<Vec<EventId>>,
}

impl Query {
    /// Whether it asks about the values of an access (symbolic model).
    pub(crate) fn asks_about(&self, e: EventId) -> bool {
        self.goal == Goal::Broken(e) || self.real.iter().any(|&(a, b)| a == e || b == e)
    }
}

/// The condition of a query beyond which events have run and in which order.
///
/// A goal is no kind of finding: races, atomicity violations and deadlocks all have
/// [`Goal::Reach`], and nondeterminism has two goals.
/// [`Candidate::kind`](crate::analyses::Candidate::kind) says the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Goal {
    /// Nothing.
    #[default]
    Reach,
    /// This read, which has run, is broken.
    Broken(EventId),
    /// Every event has run, none is broken, this write is not the last one of the variable and,
    /// where values count, the last one is not known to leave an equal value.
    Overwritten(EventId, VarId),
    /// A path of conflicts and program order leaves this block and comes back to it
    /// (serializability).
    Path(BlockId),
    /// A cycle of transactions goes through this outermost block.
    Cycle(BlockId),
    /// These two events, which have run, are not ordered by happens-before (section 3b).
    Unordered(EventId, EventId),
    /// No thread is cut, and every thread waits for ever or has ended. This event, which is next,
    /// is the first of those that wait for a notification, a semaphore or a barrier.
    Stuck(EventId),
}

impl Goal {
    /// Returns the reason of an engine that decides neither whether accesses are unordered nor
    /// whether threads are stuck.
    pub(crate) fn not_by(self, engine: &str) -> String {
        let what = match self {
            Goal::Stuck(_) => "stuck states",
            _ => "memory orders",
        };
        format!("not by this engine: {engine} knows nothing of {what}, --engine order does")
    }
}

/// Answer of an engine to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Yes, and this is how.
    Witness(Vec<EventId>),
    /// No feasible interleaving does.
    Impossible,
    /// The search was cut short, for this reason.
    Undecided(String),
}

/// When to give up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    /// Time at which the search ends.
    pub deadline: Option<Instant>,
    /// Flag that ends the search when it is set.
    pub stop: Option<&'a AtomicBool>,
}

impl Limit<'_> {
    /// The reason to stop now, if there is one.
    pub fn reached(&self) -> Option<&'static str> {
        let limit =
            foretell_limit::Limit { deadline: self.deadline, stop: self.stop, memory: None };
        limit.reached().map(foretell_limit::Reason::name)
    }
}
