//! Statistics of a trace: counts, dependences between its threads, and unusual features.
//!
//! *Coupling* is the measure of "Predicting Serializability Violations: SMT-Based Search vs.
//! DPOR-Based Search", section 5 (Fig. 11): the number of edges between threads for each event. An
//! edge is a read that sees another thread's write, a fork, a join, or a wake-up by a notify. Below
//! about 0.3 threads are loosely coupled, from about 0.6 strongly.
//!
//! A few linear passes; memory is some 40 bytes for each variable, and nothing for each event. The
//! trace must be legal. What cannot be seen: whether a lock was ever waited for, so "used by one
//! thread only" is all that is said about locks that might not be needed.

mod count;
mod kept_order;
mod unusual;

pub use kept_order::{FunctionCalls, KeptOrder, LibraryCalls};

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Model, Op, Trace};

/// Statistics of a trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    /// Threads.
    pub threads: usize,
    /// Events.
    pub events: usize,
    /// Events by operation, under the operation's word in trace text; only those that occur.
    pub events_by_kind: BTreeMap<&'static str, u64>,
    /// Variables that are accessed.
    pub variables: usize,
    /// Variables that more than one thread accesses.
    pub shared_variables: usize,
    /// Variables that one thread accesses.
    pub local_variables: usize,
    /// Locks.
    pub locks: usize,
    /// Condition variables.
    pub conditions: usize,
    /// Semaphores.
    pub semaphores: usize,
    /// Barriers.
    pub barriers: usize,
    /// Memory blocks; left out of a file where there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub memory_blocks: usize,
    /// Threads that had ended when the recording did, as far as it says so.
    #[serde(skip_serializing_if = "is_zero")]
    pub ended_threads: usize,
    /// Atomic blocks.
    pub blocks: Blocks,
    /// Pairs of accesses that conflict: in different threads, on one variable, at least one
    /// writes.
    pub conflicting_pairs: u64,
    /// Those of them in which both are atomic: they conflict and do not race.
    pub atomic_conflicting_pairs: u64,
    /// Writes that reads read from, by thread.
    pub couples: ReadsFromCounts,
    /// Edges between threads: reads from other threads, forks, joins, wake-ups.
    pub inter_thread_edges: u64,
    /// Edges between threads for each event.
    pub coupling: f64,
    /// Locks held at the end.
    pub locks_held: Vec<Held>,
    /// Threads in a wait at the end.
    pub waiting: Vec<Waiting>,
    /// Accesses of which all values are known, in percent of the accesses.
    pub values_known_percent: f64,
    /// The model that `auto` takes.
    #[serde(serialize_with = "model_name")]
    pub model: Model,
    /// End of the program, if the recorder has noted it.
    pub ended: Option<String>,
    /// Order that is kept because of code that is not recorded.
    pub order_kept: KeptOrder,
    /// Unusual features, in plain sentences.
    pub unusual: Vec<String>,
}

/// The atomic blocks of a trace.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Blocks {
    /// All of them.
    pub total: u64,
    /// Those that are in no other.
    pub outermost: u64,
    /// Nesting depth: 1 if none is in another, 0 if there are none.
    pub deepest: u64,
    /// Those still open at the end.
    pub open: u64,
}

/// Reads (and updates) by where their value comes from.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct ReadsFromCounts {
    /// A write of another thread.
    pub inter: u64,
    /// A write of the same thread.
    pub intra: u64,
    /// The initial value.
    pub initial: u64,
}

/// A lock that is held at the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Held {
    /// The lock.
    pub lock: String,
    /// The thread that holds it.
    pub thread: String,
    /// Whether on the reader side.
    pub shared: bool,
}

/// A thread that is in a wait at the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Waiting {
    /// The thread.
    pub thread: String,
    /// The condition variable.
    pub condition: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn model_name<S: Serializer>(model: &Model, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(model.name())
}

impl Stats {
    /// The statistics of a legal trace.
    pub fn of(trace: &Trace) -> Stats {
        let counts = count::Counts::of(trace);
        let mut stats = counts.stats(trace);
        stats.unusual = unusual::sentences(trace, &counts, &stats);
        stats
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |what: &str, value: String| writeln!(f, "{what:<22}{value}");
        line("events", self.events.to_string())?;
        for op in Op::ALL {
            if let Some(count) = self.events_by_kind.get(op.keyword()) {
                line(&format!("  {}", op.keyword()), count.to_string())?;
            }
        }
        line("threads", self.threads.to_string())?;
        let (shared, local) = (self.shared_variables, self.local_variables);
        line("variables", format!("{} ({shared} shared, {local} local)", self.variables))?;
        line("locks", self.locks.to_string())?;
        line("condition variables", self.conditions.to_string())?;
        line("semaphores", self.semaphores.to_string())?;
        line("barriers", self.barriers.to_string())?;
        let Blocks { total, outermost, deepest, open } = self.blocks;
        let detail = format!("{total} ({outermost} outermost, {deepest} deep, {open} open)");
        line("atomic blocks", detail)?;
        let atomic = self.atomic_conflicting_pairs;
        line("conflicting pairs", format!("{} ({atomic} atomic)", self.conflicting_pairs))?;
        let ReadsFromCounts { inter, intra, initial } = self.couples;
        let detail = format!("{inter} between threads, {intra} within one, {initial} initial");
        line("read couples", detail)?;
        let edges = self.inter_thread_edges;
        line("coupling", format!("{:.3} ({edges} edges between threads)", self.coupling))?;
        line("values known", format!("{:.1} %", self.values_known_percent))?;
        line("model", self.model.to_string())?;
        if let Some(ended) = &self.ended {
            line("ended", ended.clone())?;
        }
        if !self.order_kept.is_empty() {
            line("order kept", self.order_kept.to_string())?;
        }
        for held in &self.locks_held {
            let side = if held.shared { " (reader)" } else { "" };
            line("held at the end", format!("{} by {}{side}", held.lock, held.thread))?;
        }
        for waiting in &self.waiting {
            line("waiting at the end", format!("{} for {}", waiting.thread, waiting.condition))?;
        }
        if !self.unusual.is_empty() {
            writeln!(f, "unusual")?;
        }
        self.unusual.iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))
    }
}

#[cfg(test)]
mod tests;
