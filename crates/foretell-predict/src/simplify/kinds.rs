//! Of which sorts the values of each term can be, and which terms always have one.
//!
//! Sorts are the least sets that hold those of all that may be written; "always" is the most that
//! does not contradict itself. The values of an interleaving are computed from earlier ones, so
//! both are true of all of them, by induction along it.

use foretell_model::TraceModel;
use foretell_trace::expr::Sort;
use foretell_trace::{EventId, VarId};

use super::recorded::initial;
use super::term::{Term, TermKind, kind_of};
use super::trace_terms::TraceTerms;
use super::visible::Writes;

/// See the module.
pub(super) struct Kinds {
    /// By unsimplified term.
    pub(super) terms: Vec<TermKind>,
    /// By variable: of what is written to it.
    written: Vec<TermKind>,
    /// By variable: of its initial value.
    initial: Vec<Option<Sort>>,
}

impl Kinds {
    pub(super) fn find(trace_model: &TraceModel<'_>, writes: &Writes, raw: &TraceTerms) -> Self {
        let trace = trace_model.trace;
        let variables = (0..trace.variable_count()).map(VarId::from_index);
        let mut kinds = Self {
            terms: Vec::new(),
            written: vec![TermKind { sorts: Vec::new(), sure: true }; trace.variable_count()],
            initial: variables.map(|x| initial(trace_model, x).map(Sort::of)).collect(),
        };
        // Whether each load may see the initial value does not change from pass to pass.
        let sees_initial: Vec<bool> = raw
            .terms
            .iter()
            .map(|term| match term {
                Term::Load(e) => !writes.hides_initial(trace_model, *e),
                _ => false,
            })
            .collect();
        // First the sorts, which grow, then what is sure, which shrinks and depends on them.
        while kinds.pass(trace_model, raw, &sees_initial, false) {}
        while kinds.pass(trace_model, raw, &sees_initial, true) {}
        kinds
    }

    /// Goes over all terms and all writes once; whether anything changed.
    fn pass(
        &mut self,
        trace_model: &TraceModel<'_>,
        raw: &TraceTerms,
        sees_initial: &[bool],
        sure: bool,
    ) -> bool {
        let trace = trace_model.trace;
        self.terms.clear();
        for (term, &sees_initial) in raw.terms.iter().zip(sees_initial) {
            foretell_limit::check();
            let kind = match term {
                Term::Unknown => TermKind::default(),
                Term::Value(value) => TermKind::surely(Sort::of(*value)),
                Term::Truth(_) | Term::Observed(_) => TermKind::surely(Sort::Bool),
                Term::Load(e) => match trace.variable(*e) {
                    Some(x) => self.found(x, sees_initial),
                    None => TermKind::default(),
                },
                Term::Apply(op, args) => {
                    let args: Vec<&TermKind> =
                        args.iter().map(|a| &self.terms[a.number() as usize]).collect();
                    kind_of(*op, &args)
                }
            };
            self.terms.push(kind);
        }
        let mut changed = false;
        for event in trace.events() {
            foretell_limit::check();
            let Some(x) = trace.variable(event.id).filter(|_| trace.op(event.id).writes()) else {
                // A `free` writes unknown values.
                for x in trace.accessed_variables(event.id).filter(|_| event.kind.op().writes()) {
                    changed |= sure && std::mem::replace(&mut self.written[x.index()].sure, false);
                }
                continue;
            };
            let kind = &self.terms[raw.after[event.id.index()].number() as usize];
            let written = &mut self.written[x.index()];
            for &sort in kind.sorts.iter().filter(|&&s| s != Sort::Bool) {
                if !written.sorts.contains(&sort) {
                    written.sorts.push(sort);
                    changed = true;
                }
            }
            let always = kind.sure && !kind.sorts.contains(&Sort::Bool);
            if sure && written.sure && !always {
                written.sure = false;
                changed = true;
            }
        }
        changed
    }

    /// Of what an access finds in a variable.
    fn found(&self, x: VarId, sees_initial: bool) -> TermKind {
        let mut kind = self.written[x.index()].clone();
        if sees_initial {
            match self.initial[x.index()] {
                Some(sort) if !kind.sorts.contains(&sort) => kind.sorts.push(sort),
                Some(_) => {}
                None => kind.sure = false,
            }
        }
        kind
    }

    /// Of what a load finds.
    pub(super) fn load(
        &self,
        trace_model: &TraceModel<'_>,
        writes: &Writes,
        e: EventId,
    ) -> TermKind {
        let x = trace_model.trace.variable(e);
        x.map_or_else(TermKind::default, |x| self.found(x, !writes.hides_initial(trace_model, e)))
    }
}
