//! The values that a formula has written down, by term and by access.

use std::rc::Rc;
use std::sync::Arc;

use foretell_model::TraceModel;
use foretell_trace::EventId;
use foretell_trace::expr::Sort;
use rustc_hash::FxHashMap;

use super::lit::Lit;
use crate::simplify::term::TermId;
use crate::simplify::{SliceCounts, Symbolic};

/// A value that depends on the interleaving: one alternative for each sort it may have. If none is
/// present, it is unknown.
#[derive(Clone, Default)]
pub(super) struct Symbol {
    pub(super) alternatives: Vec<Alternative>,
}

#[derive(Clone)]
pub(super) struct Alternative {
    pub(super) sort: Sort,
    /// A truth, as text.
    pub(super) present: String,
    pub(super) bits: String,
}

/// Values that are encoded.
pub(super) struct ValueTable {
    pub(super) symbolic: Arc<Symbolic>,
    pub(super) terms: FxHashMap<TermId, Rc<Symbol>>,
    /// For each access whose value was written down: the writes it may see and the literal that
    /// says it does.
    pub(super) sees: FxHashMap<EventId, Vec<(Option<EventId>, Lit)>>,
    /// Accesses that are not connected to what they see yet.
    pub(super) loose: Vec<EventId>,
    /// Entries of the current scope, to forget them.
    pub(super) new: Vec<New>,
    /// Guards that were written down.
    pub(super) guards: Vec<EventId>,
}

pub(super) enum New {
    Term(TermId),
    Load(EventId),
}

impl ValueTable {
    pub(super) fn new(symbolic: Arc<Symbolic>) -> Self {
        Self {
            symbolic,
            terms: FxHashMap::default(),
            sees: FxHashMap::default(),
            loose: Vec::new(),
            new: Vec::new(),
            guards: Vec::new(),
        }
    }

    /// From now on, what is written down is in a scope.
    pub(super) fn open_scope(&mut self) {
        self.new.clear();
    }

    /// Forgets what the scope has written down.
    pub(super) fn close_scope(&mut self) {
        self.loose.clear();
        for new in self.new.drain(..) {
            match new {
                New::Term(id) => drop(self.terms.remove(&id)),
                New::Load(e) => drop(self.sees.remove(&e)),
            }
        }
    }

    /// Returns the share of the trace's values that is written down.
    pub(super) fn counts(&self, trace_model: &TraceModel<'_>) -> SliceCounts {
        let mut accesses: Vec<EventId> = self.sees.keys().copied().collect();
        accesses.extend(self.sees.values().flatten().filter_map(|(w, _)| *w));
        accesses.sort_unstable();
        accesses.dedup();
        let written = |e: &EventId| self.symbolic.expression_nodes(trace_model, *e);
        SliceCounts {
            kept_events: (self.guards.len() + accesses.len()) as u64,
            kept_nodes: accesses.iter().chain(&self.guards).map(written).sum(),
            ..self.symbolic.counts()
        }
    }
}
