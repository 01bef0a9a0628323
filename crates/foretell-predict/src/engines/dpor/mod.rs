//! The explicit engine: dynamic partial-order reduction over the cone of a query (the
//! SMT-versus-DPOR paper, section 3), for every analysis.
//!
//! A query becomes a small program of what may run (`program`); a machine runs its steps by the
//! rules of semantics sections 1 and 2 (`state`), a read that sees something else ending its
//! thread; the search (`search`) goes through its interleavings, of those that differ only in the
//! order of independent steps (`dependence`) through one (`persistent`), and remembers the states
//! it has been in. What a path or a cycle needs to know of the way is part of the state (`goal`).
//! An interleaving may stop anywhere, so every state is looked at, not only those where nothing
//! goes on.
//!
//! Departures from the paper, with the traces that show why, are in docs/engines.md: the search
//! starts with the empty interleaving and not at the segment's upper frontier; persistent sets are
//! computed instead of discovered; states are remembered; and a read of the block is as free to
//! move as any other.
//!
//! The number of states can grow exponentially with the number of threads; a budget of nodes cuts a
//! search short, and the query is then undecided.

mod act;
mod dependence;
mod goal;
mod machine;
mod parts;
mod persistent;
mod program;
mod search;
mod state;
#[cfg(test)]
mod tests;

use std::time::Instant;

use foretell_model::TraceModel;
use foretell_trace::Model;

use self::machine::Machine;
use self::program::Program;
use self::search::{NODE_BUDGET, Search};
use crate::analyses::recorded_witness;
use crate::engine::{Effort, Engine};
use crate::query::{Goal, Limit, Query, Verdict};

/// Settings of the explicit engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DporOptions {
    /// Bound on the context switches of an interleaving that are not significant. With a bound a
    /// "no" is undecided, unless the bound cut nothing off.
    pub context_bound: Option<u32>,
    /// Limit on the states of one query.
    pub nodes: u64,
}

impl Default for DporOptions {
    fn default() -> Self {
        Self { context_bound: None, nodes: 500_000 }
    }
}

/// Decides queries about one trace by going through interleavings.
pub struct DporEngine<'s> {
    trace_model: &'s TraceModel<'s>,
    options: DporOptions,
    effort: Effort,
}

impl<'s> DporEngine<'s> {
    /// An engine for a trace. It learns nothing from one query for the next.
    pub fn new(trace_model: &'s TraceModel<'s>, options: DporOptions) -> Self {
        Self { trace_model, options, effort: Effort::default() }
    }
}

/// Where a path or a cycle is asked for: how many accesses around the block to look at, and the
/// states to spend on that. A depth-first search sees many interleavings that differ only near
/// their end before it changes anything near the beginning, and what is near the block has a much
/// smaller cone.
const CLOSE: [(usize, u64); 2] = [(8, 4_000), (24, 20_000)];

impl DporEngine<'_> {
    /// Searches; for a path or a cycle at first close to the block, where a witness is one but "no"
    /// says nothing.
    fn search(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        let started = Instant::now();
        let Some(whole) = Program::new(self.trace_model, query, usize::MAX) else {
            self.effort.encoding += started.elapsed();
            return Verdict::Impossible;
        };
        self.effort.encoding += started.elapsed();
        for (accesses, nodes) in CLOSE {
            if whole.outside <= accesses || nodes >= self.options.nodes {
                break;
            }
            let started = Instant::now();
            let close = Program::new(self.trace_model, query, accesses);
            self.effort.encoding += started.elapsed();
            if let Some(close) = close
                && let verdict @ Verdict::Witness(_) = self.pass(&close, nodes, limit)
            {
                return verdict;
            }
        }
        self.pass(&whole, self.options.nodes, limit)
    }

    fn pass(&mut self, program: &Program<'_>, nodes: u64, limit: &Limit<'_>) -> Verdict {
        let started = Instant::now();
        let machine = Machine::new(program);
        let mut search = Search::new(&machine, self.options.context_bound, nodes);
        let verdict = search.run(limit);
        self.effort.interleavings += search.explored.interleavings;
        self.effort.nodes += search.explored.nodes;
        self.effort.solving += started.elapsed();
        verdict
    }
}

impl Engine for DporEngine<'_> {
    fn name(&self) -> &'static str {
        "dpor"
    }

    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        if self.trace_model.model == Model::Symbolic {
            return Verdict::Undecided("dpor does not know the symbolic model".to_owned());
        }
        if let Goal::Unordered(a, b) = query.goal {
            let recorded = recorded_witness(self.trace_model, a, b);
            return recorded
                .map_or_else(|| Verdict::Undecided(query.goal.not_by("dpor")), Verdict::Witness);
        }
        if let Goal::Stuck(_) = query.goal {
            return Verdict::Undecided(query.goal.not_by("dpor"));
        }
        let verdict = self.search(query, limit);
        if let Verdict::Undecided(reason) = &verdict {
            self.effort.time_outs += u64::from(reason == "time limit");
            self.effort.memory_outs += u64::from(reason == NODE_BUDGET);
        }
        verdict
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}
