//! The reference for tests: all feasible interleavings of a small trace, and every finding.
//!
//! Written from the semantics (sections 1, 2, 3 and 6) and from nothing else; it shares no code
//! with the engines or the checker, so that they can be tested against it. Clear before fast: it
//! builds the graph of all reachable states, which is milliseconds for traces of about twenty
//! events and grows exponentially with the number of threads.
//!
//! - [`findings`] gives everything that `--all` reports;
//! - [`races_of_both_forms`] gives the races, with those that memory orders leave open, and
//!   [`unordered_by_sequences`] the latter by looking at every sequence;
//! - [`races_and_deadlocks`] gives these two alone, for longer traces, and [`hangs`] the hangs;
//! - [`findings_by_sequences`] gives the same as [`findings`] by looking at every sequence on its
//!   own, the proof that the sharing of states loses nothing;
//! - [`maximal_interleavings`] lists the sequences themselves.

use std::collections::BTreeSet;

use foretell_trace::{EventId, Model, ThreadId, Trace, VarId};
use rustc_hash::FxHashSet;

mod blocks;
mod chains;
mod cycles;
mod eval;
mod graph;
mod hangs;
mod lifetimes;
mod rules;
mod sequences;
mod states;
mod unordered;

pub use sequences::{findings_by_sequences, maximal_interleavings, unordered_by_sequences};

use graph::Graph;
use rules::{Rules, State};

/// Every event-level finding of every analysis, as `--all` reports them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Findings {
    /// Racing pairs, the smaller event first.
    pub races: BTreeSet<[EventId; 2]>,
    /// Pairs that race only because memory orders leave them unordered, the smaller event first.
    /// Only [`races_of_both_forms`] looks for them.
    pub unordered_races: BTreeSet<[EventId; 2]>,
    /// Atomicity violations (c, r, c').
    pub atomicity: BTreeSet<[EventId; 3]>,
    /// The begin of each block, nested ones too, with a serializability violation.
    pub serializability: BTreeSet<EventId>,
    /// The begin of each outermost block on a transaction cycle.
    pub transactions: BTreeSet<EventId>,
    /// The reads and updates that can see something else.
    pub nondeterministic_reads: BTreeSet<EventId>,
    /// The variables that can end with another last write.
    pub final_values: BTreeSet<VarId>,
    /// The sets of acquires that can block each other in a circle, ascending.
    pub deadlocks: BTreeSet<Vec<EventId>>,
    /// The sets of next events of all blocked threads in states without a way on, ascending.
    pub hangs: BTreeSet<Vec<EventId>>,
    /// Lifetime violations: a `free` and a use of its block after it.
    pub lifetimes: BTreeSet<[EventId; 2]>,
}

/// All findings of a trace. Time and memory have no bound but the number of interleavings.
pub fn findings(trace: &Trace, model: Model) -> Findings {
    findings_within(trace, model, usize::MAX).unwrap_or_default()
}

/// All findings of a trace, or `None` if that takes more than `max_states` states.
pub fn findings_within(trace: &Trace, model: Model, max_states: usize) -> Option<Findings> {
    let rules = Rules::new(trace, model);
    let graph = Graph::explore(&rules, max_states)?;
    let mut findings = Findings::default();
    for state in &graph.states {
        states::observe(&rules, state, &mut findings);
    }
    findings.atomicity = chains::atomicity(&rules, &graph);
    findings.serializability = chains::serializability(&rules, &graph);
    findings.transactions = cycles::cycles(&rules, &graph, max_states)?;
    Some(findings)
}

/// The races of a trace alone, of both forms, or `None` if that takes more than `max_states`
/// states. The other fields are empty.
pub fn races_of_both_forms(trace: &Trace, model: Model, max_states: usize) -> Option<Findings> {
    let mut findings = races_and_deadlocks(trace, model, max_states)?;
    findings.deadlocks.clear();
    let unordered = unordered::unordered(&Rules::new(trace, model), max_states)?;
    findings.unordered_races = unordered.difference(&findings.races).copied().collect();
    Some(findings)
}

/// The hangs of a trace alone, or `None` if that takes more than `max_states` states.
pub fn hangs(trace: &Trace, model: Model, max_states: usize) -> Option<BTreeSet<Vec<EventId>>> {
    let rules = Rules::new(trace, model);
    let graph = Graph::explore(&rules, max_states)?;
    let mut found = BTreeSet::new();
    for state in &graph.states {
        let next: Vec<Option<EventId>> =
            (0..trace.thread_count()).map(|t| rules.next(state, ThreadId::from_index(t))).collect();
        hangs::hangs(&rules, state, &next, &mut found);
    }
    Some(found)
}

/// The races and deadlocks of a trace alone, or `None` if that takes more than `max_states`
/// states. The other fields are empty.
pub fn races_and_deadlocks(trace: &Trace, model: Model, max_states: usize) -> Option<Findings> {
    let rules = Rules::new(trace, model);
    let mut findings = Findings::default();
    let mut known: FxHashSet<State> = FxHashSet::default();
    let mut pending = vec![rules.start()];
    while let Some(state) = pending.pop() {
        let next: Vec<Option<EventId>> = (0..trace.thread_count())
            .map(|t| rules.next(&state, ThreadId::from_index(t)))
            .collect();
        states::races(&rules, &next, &mut findings.races);
        states::deadlocks(&rules, &state, &next, &mut findings.deadlocks);
        for (_, after) in rules.steps(&state) {
            if !known.contains(&after) {
                known.insert(after.clone());
                pending.push(after);
            }
        }
        if known.len() > max_states {
            return None;
        }
    }
    Some(findings)
}
