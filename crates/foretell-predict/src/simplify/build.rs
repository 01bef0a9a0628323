//! From events to terms, in one pass over the trace.

use foretell_model::TraceModel;
use foretell_trace::expr::{Expr, ExprOp, Exprs, Sort};
use foretell_trace::{EventId, EventKind, ExprId, RegId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::kinds::Kinds;
use super::recorded::{initial, known};
use super::term::{Term, TermId, TermKind, Terms};
use super::trace_terms::TraceTerms;
use super::visible::Writes;

pub(super) struct Builder<'a> {
    trace_model: &'a TraceModel<'a>,
    writes: &'a Writes,
    /// To simplify with; `None`: nothing is simplified.
    kinds: Option<&'a Kinds>,
    built: TraceTerms,
    /// The term that each register holds at the current event.
    registers: Vec<TermId>,
    /// By register: how many events load it.
    loads: Vec<u32>,
    /// Expressions over registers that are loaded once, and have been: they are the same from then
    /// on.
    settled: FxHashMap<ExprId, TermId>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        trace_model: &'a TraceModel<'a>,
        writes: &'a Writes,
        kinds: Option<&'a Kinds>,
    ) -> Self {
        let trace = trace_model.trace;
        let mut loads = vec![0; trace.register_count()];
        for event in trace.events() {
            foretell_limit::check();
            if let Some(count) = register(event.kind).and_then(|r| loads.get_mut(r.index())) {
                *count += 1;
            }
        }
        let built = TraceTerms {
            terms: Terms::new(kinds.is_some()),
            guards: Vec::new(),
            before: vec![TermId::UNKNOWN; trace.len()],
            after: vec![TermId::UNKNOWN; trace.len()],
            observed: FxHashMap::default(),
        };
        let registers = vec![TermId::UNKNOWN; trace.register_count()];
        Self { trace_model, writes, kinds, built, registers, loads, settled: FxHashMap::default() }
    }

    pub(super) fn build(mut self) -> TraceTerms {
        for e in self.trace_model.trace.ids() {
            foretell_limit::check();
            self.event(e);
        }
        self.built
    }

    fn event(&mut self, e: EventId) {
        let trace = self.trace_model.trace;
        let kind = trace.event(e).kind;
        if let EventKind::Guard { expr } = kind {
            let condition = self.translate(expr);
            self.built.guards.push((e, condition));
            return;
        }
        if trace.variable(e).is_none() {
            return;
        }
        let found = self.load(e);
        self.built.before[e.index()] = found;
        if let Some(r) = register(kind).and_then(|r| self.registers.get_mut(r.index())) {
            *r = found;
        }
        if trace.op(e).reads() && trace.read_value(e).is_none() {
            let observed = self.observed(e);
            self.built.observed.insert(e, observed);
        }
        let left = match kind {
            EventKind::Write { expr: Some(expr), .. }
            | EventKind::Update { expr: Some(expr), .. } => self.translate(expr),
            EventKind::Write { value, .. } => {
                self.built.terms.value(known(self.trace_model, value))
            }
            EventKind::Update { old, new, .. } => self.update(e, found, old, new),
            _ => return,
        };
        // A truth is no value that a variable can have.
        let only_truth = self.built.terms.kind(left).sorts == [Sort::Bool];
        let left = if self.kinds.is_some() && only_truth { TermId::UNKNOWN } else { left };
        self.built.after[e.index()] = left;
    }

    /// The term of the value that an access finds: where it can see one write only, that write's
    /// term.
    fn load(&mut self, e: EventId) -> TermId {
        let Some(kinds) = self.kinds else {
            return self.built.terms.intern(Term::Load(e), TermKind::default());
        };
        match self.writes.sole(self.trace_model, e) {
            Some(None) => {
                let x = self.trace_model.trace.variable(e);
                let value = x.and_then(|x| initial(self.trace_model, x));
                return self.built.terms.value(value);
            }
            Some(Some(w)) => {
                let left = self.built.after[w.index()];
                // A write that comes later in the trace was not looked at yet; there is none.
                if w < e && !self.built.terms.kind(left).sorts.contains(&Sort::Bool) {
                    return left;
                }
            }
            None => {}
        }
        let kind = kinds.load(self.trace_model, self.writes, e);
        self.built.terms.intern(Term::Load(e), kind)
    }

    fn observed(&mut self, e: EventId) -> TermId {
        if self.kinds.is_some() && self.writes.sole(self.trace_model, e).is_some() {
            return self.built.terms.truth(true);
        }
        self.built.terms.intern(Term::Observed(e), TermKind::surely(Sort::Bool))
    }

    /// The term that an update without an expression leaves: its recorded value if it sees what it
    /// saw.
    fn update(
        &mut self,
        e: EventId,
        found: TermId,
        old: Option<ValueId>,
        new: Option<ValueId>,
    ) -> TermId {
        let as_in_trace = match old {
            Some(_) => {
                let old = self.built.terms.value(known(self.trace_model, old));
                self.built.terms.apply(ExprOp::Eq, &[found, old])
            }
            None => self.observed(e),
        };
        let new = self.built.terms.value(known(self.trace_model, new));
        self.built.terms.apply(ExprOp::Ite, &[as_in_trace, new, TermId::UNKNOWN])
    }

    /// An expression over what the registers hold now.
    fn translate(&mut self, root: ExprId) -> TermId {
        if let Some(&term) = self.settled.get(&root) {
            return term;
        }
        let exprs = self.trace_model.trace.exprs();
        // Of each part: its term, and whether that stays.
        let mut parts: FxHashMap<ExprId, (TermId, bool)> = FxHashMap::default();
        for id in expression_parts(exprs, root) {
            foretell_limit::check();
            if let Some(&term) = self.settled.get(&id) {
                parts.insert(id, (term, true));
                continue;
            }
            let (term, stays) = match exprs.get(id) {
                None => (TermId::UNKNOWN, true),
                Some(Expr::Const(value)) => (self.built.terms.value(Some(*value)), true),
                Some(Expr::Bool(truth)) => (self.built.terms.truth(*truth), true),
                Some(Expr::Reg(r)) => self.register(*r),
                Some(Expr::App(op, args)) => {
                    let unknown = (TermId::UNKNOWN, true);
                    let args = args.iter().map(|a| parts.get(a).copied().unwrap_or(unknown));
                    let (args, stay): (Vec<TermId>, Vec<bool>) = args.unzip();
                    (self.built.terms.apply(*op, &args), stay.into_iter().all(|s| s))
                }
            };
            parts.insert(id, (term, stays));
            if stays {
                self.settled.insert(id, term);
            }
        }
        parts.get(&root).map_or(TermId::UNKNOWN, |(term, _)| *term)
    }

    /// The term that a register holds, and whether it keeps it from now on.
    fn register(&self, r: RegId) -> (TermId, bool) {
        let term = self.registers.get(r.index()).copied().unwrap_or(TermId::UNKNOWN);
        let loaded_once = self.loads.get(r.index()) == Some(&1);
        // One that is loaded, but with what is unknown, is looked at again: no harm.
        (term, loaded_once && term != TermId::UNKNOWN)
    }
}

/// The register that an event loads.
fn register(kind: EventKind) -> Option<RegId> {
    match kind {
        EventKind::Read { register, .. } | EventKind::Update { register, .. } => register,
        _ => None,
    }
}

/// The parts of an expression, arguments before what uses them.
pub(super) fn expression_parts(exprs: &Exprs, root: ExprId) -> Vec<ExprId> {
    let mut found: FxHashSet<ExprId> = FxHashSet::default();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        foretell_limit::check();
        if found.insert(id)
            && let Some(Expr::App(_, args)) = exprs.get(id)
        {
            // An argument that does not come before its user is unknown.
            work.extend(args.iter().filter(|&&a| a < id));
        }
    }
    let mut parts: Vec<ExprId> = found.into_iter().collect();
    parts.sort_unstable();
    parts
}
