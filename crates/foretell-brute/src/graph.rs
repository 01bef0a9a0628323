//! The graph of all states that feasible sequences reach.
//!
//! Its paths from the first state are exactly the feasible sequences (a sequence with a notify that
//! can choose has a path for each choice). Every edge adds one event, so the states come in layers
//! by the number of events, and a pass over the states in the order of their numbers is a pass
//! along every sequence at once.

use std::collections::hash_map::Entry;

use foretell_trace::EventId;
use rustc_hash::FxHashMap;

use crate::rules::{Rules, State};

/// States and the steps between them, numbered layer by layer from the empty sequence, 0.
pub(crate) struct Graph {
    pub(crate) states: Vec<State>,
    /// By state: the events that can come next and where each leads.
    pub(crate) steps: Vec<Vec<(EventId, usize)>>,
}

impl Graph {
    /// Explores everything; `None` if there are more than `max_states` states.
    pub(crate) fn explore(rules: &Rules, max_states: usize) -> Option<Graph> {
        let start = rules.start();
        let mut numbers = FxHashMap::default();
        numbers.insert(start.clone(), 0);
        let mut graph = Graph { states: vec![start], steps: Vec::new() };
        while graph.steps.len() < graph.states.len() {
            let from = graph.steps.len();
            let mut out = Vec::new();
            for (event, state) in rules.steps(&graph.states[from]) {
                let next = graph.states.len();
                let to = match numbers.entry(state) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => {
                        if next >= max_states {
                            return None;
                        }
                        graph.states.push(new.key().clone());
                        *new.insert(next)
                    }
                };
                out.push((event, to));
            }
            graph.steps.push(out);
        }
        Some(graph)
    }
}
