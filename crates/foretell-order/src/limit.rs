//! When to give up, and what was counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Limits on [`Solver::solve`](crate::Solver::solve), which answers `Unknown` beyond them.
///
/// ```
/// use foretell_order::Limit;
/// let limit = Limit { conflicts: Some(10_000), ..Limit::none() };
/// # let _ = limit;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit<'a> {
    /// Stop at this moment.
    pub deadline: Option<Instant>,
    /// Stop after this many conflicts of this call.
    pub conflicts: Option<u64>,
    /// Stop when this becomes true.
    pub stop: Option<&'a AtomicBool>,
}

impl Limit<'_> {
    /// No limit at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Is it time to stop, after `conflicts` conflicts?
    pub(crate) fn reached(&self, conflicts: u64) -> bool {
        self.conflicts.is_some_and(|most| conflicts >= most)
            || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Answer of [`Solver::solve`](crate::Solver::solve).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a model; it can be read from the solver.
    Sat,
    /// There is none; [`Solver::core`](crate::Solver::core) says which assumptions are to blame.
    Unsat,
    /// The limit was reached first.
    Unknown,
}

/// Counters since the solver was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of `solve`.
    pub solves: u64,
    /// Literals chosen by the search.
    pub decisions: u64,
    /// Conflicts, of clauses and of the theory.
    pub conflicts: u64,
    /// Conflicts that were a cycle of the order.
    pub theory_conflicts: u64,
    /// Literals taken from the trail and propagated through the clauses.
    pub propagations: u64,
    /// Literals the order implied.
    pub theory_propagations: u64,
    /// Implied literals whose path was asked for.
    pub explanations: u64,
    /// Edges inserted into the order (asserted atoms that it did not imply already).
    pub edges: u64,
    /// Rows of the closure these edges changed.
    pub rows: u64,
    /// Restarts of the search.
    pub restarts: u64,
    /// Clauses learnt.
    pub learnt: u64,
    /// Learnt clauses thrown away again.
    pub deleted: u64,
}
