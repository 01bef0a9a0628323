//! A trace's values in static single assignment form, simplified before a query is encoded
//! (symbolic model).
//!
//! The symbolic-atomicity paper turns a trace into concurrent static single assignment form (its
//! section 4.1) after slicing it. Here each guard and each written value becomes a term over
//! *loads*: what an access finds in its variable. Then
//!
//! - a load that can see one write only, by must-happen-before, is what that write writes;
//! - constants are folded, sums and truths simplified (`term`);
//! - a guard that comes out true is gone;
//! - variables whose integers stay small get fewer bits (`ranges`);
//! - what no guard depends on any more is left out (trace-based slicing): an engine that starts
//!   from the guards, and from what a query asks about, never meets it. Registers that nothing uses
//!   go with it.
//!
//! Every simplification keeps a term's value in every feasible interleaving, and keeps unknown what
//! is unknown: `(* 0 %u)` is unknown where `%u` is, so it is only zero where `%u` surely has a
//! value. Whether it has is found with the sorts of all values first, by a pass over the
//! unsimplified terms until nothing changes.
//!
//! Departures from the paper: it slices for one property; the slice here is that of all guards,
//! because each of them may matter as soon as its event runs. Engines that know which events a
//! query needs leave out the other guards.

mod build;
mod kinds;
mod ranges;
mod recorded;
pub(crate) mod term;
#[cfg(test)]
mod tests;
mod trace_terms;
mod visible;

use std::sync::Arc;

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, ExprId, Model};
use rustc_hash::FxHashMap;

use self::build::{Builder, expression_parts};
use self::kinds::Kinds;
pub(crate) use self::recorded::{initial, known};
use self::term::{Term, TermId, TermKind, Terms};
use self::trace_terms::TraceTerms;
use self::visible::Writes;

/// Share of a trace's values that is left for the engine, summed over its queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SliceCounts {
    /// Guards and accesses of the trace.
    pub events: u64,
    /// Guards that are not settled, and accesses whose values they depend on.
    pub kept_events: u64,
    /// Nodes of the expressions of guards and writes.
    pub nodes: u64,
    /// Nodes of what is left of them.
    pub kept_nodes: u64,
}

impl SliceCounts {
    /// Adds the counts of other queries.
    pub fn add(&mut self, other: &SliceCounts) {
        self.events += other.events;
        self.kept_events += other.kept_events;
        self.nodes += other.nodes;
        self.kept_nodes += other.kept_nodes;
    }

    /// Returns the counts since `before`.
    pub(crate) fn since(&self, before: &SliceCounts) -> SliceCounts {
        SliceCounts {
            events: self.events - before.events,
            kept_events: self.kept_events - before.kept_events,
            nodes: self.nodes - before.nodes,
            kept_nodes: self.kept_nodes - before.kept_nodes,
        }
    }
}

/// The values of a trace as terms.
#[derive(Debug)]
pub(crate) struct Symbolic {
    pub(crate) terms: Terms,
    writes: Writes,
    /// Whether anything was simplified.
    simplified: bool,
    /// The guards that are not always true, in the order of the trace.
    guards: Vec<(EventId, TermId)>,
    /// By event: what an access finds, and what it leaves.
    before: Vec<TermId>,
    after: Vec<TermId>,
    /// By variable: how many bits its integers need.
    widths: Vec<u8>,
    /// Whether an access without a recorded value sees the write that it saw in the trace.
    observed: FxHashMap<EventId, TermId>,
    counts: SliceCounts,
}

impl Symbolic {
    /// The values of a trace, if the model is the symbolic one.
    pub(crate) fn of_model(trace_model: &TraceModel<'_>, simplify: bool) -> Option<Arc<Self>> {
        (trace_model.model == Model::Symbolic).then(|| Arc::new(Self::new(trace_model, simplify)))
    }

    fn new(trace_model: &TraceModel<'_>, simplify: bool) -> Self {
        let writes = Writes::new(trace_model);
        let mut raw = Builder::new(trace_model, &writes, None).build();
        let kinds = Kinds::find(trace_model, &writes, &raw);
        let built = if simplify {
            Builder::new(trace_model, &writes, Some(&kinds)).build()
        } else {
            // A term that is not sure may have a value all the same: engines then decide it.
            let unsure = |k: &TermKind| TermKind { sorts: k.sorts.clone(), sure: false };
            raw.terms.set_kinds(kinds.terms.iter().map(unsure).collect());
            raw
        };
        let TraceTerms { terms, mut guards, before, after, observed } = built;
        let truth = |id: TermId| matches!(terms.get(id), Term::Truth(true));
        guards.retain(|&(_, id)| !truth(id));
        let widths = match simplify {
            true => ranges::widths(trace_model, &terms, &after),
            false => vec![64; trace_model.trace.variable_count()],
        };
        let mut this = Self {
            widths,
            terms,
            writes,
            simplified: simplify,
            guards,
            before,
            after,
            observed,
            counts: SliceCounts::default(),
        };
        this.counts = this.count(trace_model);
        this
    }

    /// The guards that are not always true, in the order of the trace.
    pub(crate) fn guards(&self) -> &[(EventId, TermId)] {
        &self.guards
    }

    /// The condition of a guard, unless it is always true.
    pub(crate) fn guard(&self, e: EventId) -> Option<TermId> {
        let place = self.guards.binary_search_by_key(&e, |&(g, _)| g).ok()?;
        Some(self.guards[place].1)
    }

    /// The value that an access finds in its variable.
    pub(crate) fn before(&self, e: EventId) -> TermId {
        self.before[e.index()]
    }

    /// Returns the number of bits of the integers that an access finds, in two's complement.
    pub(crate) fn width(&self, trace_model: &TraceModel<'_>, e: EventId) -> usize {
        let x = trace_model.trace.variable(e);
        x.and_then(|x| self.widths.get(x.index())).map_or(64, |&width| usize::from(width))
    }

    /// The value that a write leaves; a truth is no value that a variable can have.
    pub(crate) fn after(&self, e: EventId) -> TermId {
        self.after[e.index()]
    }

    /// Whether a read without a recorded value sees the write that it saw in the trace.
    pub(crate) fn observed(&self, e: EventId) -> TermId {
        self.observed.get(&e).copied().unwrap_or(TermId::UNKNOWN)
    }

    /// The writes that an access can see; `otherwise` finds them where nothing is to be simplified.
    pub(crate) fn writers(
        &self,
        trace_model: &TraceModel<'_>,
        e: EventId,
        otherwise: impl FnOnce() -> Vec<Option<EventId>>,
    ) -> Vec<Option<EventId>> {
        if self.simplified { self.writes.visible(trace_model, e) } else { otherwise() }
    }

    /// Returns the counts of a query about the whole trace.
    pub(crate) fn counts(&self) -> SliceCounts {
        self.counts
    }

    /// Returns the number of nodes that are left of the expression of a guard or of a write.
    pub(crate) fn expression_nodes(&self, trace_model: &TraceModel<'_>, e: EventId) -> u64 {
        let kind = trace_model.trace.event(e).kind;
        let root = match kind {
            EventKind::Guard { .. } => self.guard(e),
            _ => Some(self.after(e)),
        };
        match (expression(kind), root) {
            (Some(_), Some(root)) => self.terms.parts([root], |_| true).len() as u64,
            _ => 0,
        }
    }

    fn count(&self, trace_model: &TraceModel<'_>) -> SliceCounts {
        let trace = trace_model.trace;
        let mut counts = SliceCounts::default();
        for event in trace.events() {
            foretell_limit::check();
            let guard = matches!(event.kind, EventKind::Guard { .. });
            counts.events += u64::from(guard || trace.variable(event.id).is_some());
            if let Some(expr) = expression(event.kind) {
                counts.nodes += expression_parts(trace.exprs(), expr).len() as u64;
            }
        }
        // From the guards back to what they depend on.
        let (mut loaded, mut written) = (vec![false; trace.len()], vec![false; trace.len()]);
        let mut work: Vec<(EventId, TermId)> = self.guards.clone();
        counts.kept_events = work.len() as u64;
        while let Some((e, id)) = work.pop() {
            foretell_limit::check();
            let parts = self.terms.parts([id], |_| true);
            if expression(trace.event(e).kind).is_some() {
                counts.kept_nodes += parts.len() as u64;
            }
            for part in parts {
                let (Term::Load(load) | Term::Observed(load)) = *self.terms.get(part) else {
                    continue;
                };
                if std::mem::replace(&mut loaded[load.index()], true) {
                    continue;
                }
                for w in self.writes.visible(trace_model, load).into_iter().flatten() {
                    foretell_limit::check();
                    if !std::mem::replace(&mut written[w.index()], true) {
                        work.push((w, self.after(w)));
                    }
                }
            }
        }
        let kept = loaded.iter().zip(&written).filter(|(l, w)| **l || **w);
        counts.kept_events += kept.count() as u64;
        counts
    }
}

/// The expression of a guard or of what is written.
fn expression(kind: EventKind) -> Option<ExprId> {
    match kind {
        EventKind::Guard { expr } => Some(expr),
        EventKind::Write { expr, .. } | EventKind::Update { expr, .. } => expr,
        _ => None,
    }
}
