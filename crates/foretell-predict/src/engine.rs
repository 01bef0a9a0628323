//! The interface of engines: each decides queries, exactly, one after the other.

use std::time::Duration;

pub use crate::graph_counts::GraphCounts;
use crate::query::{Limit, Query, Verdict};
pub use crate::simplify::SliceCounts;

/// Decides queries about one trace. An engine may learn from one query for the next; its
/// verdicts must not depend on that.
pub trait Engine {
    /// The name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// Decides whether there is a feasible interleaving that the query asks for.
    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict;

    /// The engine that decided the last query, where this one leaves some to others.
    fn decided_by(&self) -> &'static str {
        self.name()
    }

    /// Returns the effort so far.
    fn effort(&self) -> Effort {
        Effort::default()
    }
}

/// Effort of deciding queries, in the columns of the papers' tables. Engines fill in those they
/// have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Constraints written down.
    pub constraints: u64,
    /// Time to write them down.
    pub encoding: Duration,
    /// Time in the solver.
    pub solving: Duration,
    /// Interleavings gone through.
    pub interleavings: u64,
    /// States looked at.
    pub nodes: u64,
    /// Queries that ran into the time limit (TO).
    pub time_outs: u64,
    /// Queries that ran into the limit on memory or on states (MO).
    pub memory_outs: u64,
    /// Witnesses and choice graphs.
    pub graphs: GraphCounts,
    /// Symbolic model: how much the values were simplified.
    pub slices: SliceCounts,
}

impl Effort {
    /// Adds another effort to this one.
    pub fn add(&mut self, other: &Effort) {
        self.constraints += other.constraints;
        self.encoding += other.encoding;
        self.solving += other.solving;
        self.interleavings += other.interleavings;
        self.nodes += other.nodes;
        self.time_outs += other.time_outs;
        self.memory_outs += other.memory_outs;
        self.graphs.add(&other.graphs);
        self.slices.add(&other.slices);
    }
}
