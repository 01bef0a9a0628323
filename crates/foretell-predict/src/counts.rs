//! Counts of an analysis: its candidates, their fate and the work of deciding them, in the columns
//! of the papers' tables.
//!
//! [`Counts`] depend on the trace and the options alone, so those of parts add up to exactly those
//! of the whole; [`Work`] has the times, which do not. A new column is a field here, a line in
//! `add`, and a line where it is printed.

use std::time::Duration;

use crate::engine::Effort;
use crate::filters::Dropped;
use crate::simplify::SliceCounts;

/// The candidates of an analysis, counted by their fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Candidates there are.
    pub candidates: u64,
    /// Looked at (the rest of a group is not, once it has its witness).
    pub examined: u64,
    /// Dropped for a common lock.
    pub locksets: u64,
    /// Dropped for crossed acquisition histories.
    pub histories: u64,
    /// Dropped by must-happen-before.
    pub must_happen_before: u64,
    /// Dropped by the static check of their segment.
    pub static_check: u64,
    /// Dropped because no path or cycle is possible.
    pub reachability: u64,
    /// Put to the engine.
    pub solved: u64,
    /// Proved impossible by the engine (NV).
    pub impossible: u64,
    /// Answered with a witness (V).
    pub predicted: u64,
    /// Queries that the time ended (TO).
    pub time_outs: u64,
    /// Queries that memory, the number of states or the size of the instance ended (MO).
    pub memory_outs: u64,
    /// Queries that were searched within a context bound only.
    pub bounded: u64,
    /// Groups without a witness in which something was cut short.
    pub undecided: u64,
    /// Groups that were not looked at, because the run was cut short.
    pub skipped: u64,
    /// Whether some candidates were not even listed, because the run was cut short.
    pub unlisted: bool,
    /// Groups of candidates. Races that locks and must-happen-before rule out are in none.
    pub groups: u64,
    /// Events in the segments of the blocks that were looked at, before they are shrunk.
    pub segment_events: u64,
}

impl Counts {
    /// Adds the counts of another part of the work.
    pub fn add(&mut self, other: &Counts) {
        self.candidates += other.candidates;
        self.examined += other.examined;
        self.locksets += other.locksets;
        self.histories += other.histories;
        self.must_happen_before += other.must_happen_before;
        self.static_check += other.static_check;
        self.reachability += other.reachability;
        self.solved += other.solved;
        self.impossible += other.impossible;
        self.predicted += other.predicted;
        self.time_outs += other.time_outs;
        self.memory_outs += other.memory_outs;
        self.bounded += other.bounded;
        self.undecided += other.undecided;
        self.skipped += other.skipped;
        self.unlisted |= other.unlisted;
        self.groups += other.groups;
        self.segment_events += other.segment_events;
    }

    /// Counts candidates that a filter dropped.
    pub(crate) fn drop(&mut self, dropped: Dropped, candidates: u64) {
        *match dropped {
            Dropped::Lockset => &mut self.locksets,
            Dropped::History => &mut self.histories,
            Dropped::Must => &mut self.must_happen_before,
            Dropped::Static => &mut self.static_check,
            Dropped::Reachability => &mut self.reachability,
        } += candidates;
    }

    /// A query that was cut short.
    pub(crate) fn cut_short(&mut self, reason: &str) {
        match reason {
            "time limit" | "interrupted" => self.time_outs += 1,
            "bounded" => self.bounded += 1,
            _ => self.memory_outs += 1,
        }
    }

    /// Whether every candidate was listed and looked at, as far as its group needed it.
    pub fn is_complete(&self) -> bool {
        self.skipped == 0 && !self.unlisted
    }

    /// Candidates left after the lock analyses, of those that were looked at (lsa).
    pub fn after_locks(&self) -> u64 {
        self.examined - self.locksets - self.histories
    }

    /// Candidates left after must-happen-before (mhb).
    pub fn after_must(&self) -> u64 {
        self.after_locks() - self.must_happen_before
    }

    /// Proved impossible without a search, beyond locks and must-happen-before (SP).
    pub fn static_proofs(&self) -> u64 {
        self.static_check + self.reachability
    }
}

/// Work of deciding the queries of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Time to write queries down.
    pub encoding: Duration,
    /// Time to solve them.
    pub solving: Duration,
    /// Constraints written down.
    pub constraints: u64,
    /// Interleavings gone through.
    pub interleavings: u64,
    /// States looked at.
    pub nodes: u64,
    /// Symbolic model: how much the values were simplified.
    pub slices: SliceCounts,
}

impl Work {
    /// Work of one query: the engine's efforts before and after it, and the time in between. What
    /// an engine does not call encoding is solving.
    pub(crate) fn between(before: &Effort, after: &Effort, elapsed: Duration) -> Self {
        let encoding = after.encoding.saturating_sub(before.encoding);
        Self {
            encoding,
            solving: elapsed.saturating_sub(encoding),
            constraints: after.constraints - before.constraints,
            interleavings: after.interleavings - before.interleavings,
            nodes: after.nodes - before.nodes,
            slices: after.slices.since(&before.slices),
        }
    }

    /// Adds the work of another part.
    pub fn add(&mut self, other: &Work) {
        self.encoding += other.encoding;
        self.solving += other.solving;
        self.constraints += other.constraints;
        self.interleavings += other.interleavings;
        self.nodes += other.nodes;
        self.slices.add(&other.slices);
    }
}
