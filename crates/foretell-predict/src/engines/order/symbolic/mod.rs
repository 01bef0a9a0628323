//! The symbolic model: what reads see decides guards and what is written (semantics sections 2 and
//! 6).
//!
//! This is the concurrent static single assignment form of the symbolic-atomicity paper (its
//! section 4): the value that an access finds in its variable is one of the values that may have
//! been written before it, chosen by `sees` literals (the paper's π-functions), and what is written
//! is a circuit over those values, in the same solver that carries the order. Values are machine
//! words.
//!
//! Values come as terms that [`crate::simplify`] has simplified. Departures from the paper: nothing
//! is written down before a proposal needs it: a guard becomes a clause when a proposal runs it and
//! it is false, with just the values that it depends on, so that of the slice of the trace only a
//! part is encoded. An interleaving may stop anywhere, so the erroneous prefixes of its section 5
//! are the rule. That no third write comes between a write and the access that sees it is learnt as
//! in the other models, when a proposal shows otherwise.
//!
//! Of the writes that an access may see, a few are written down at first: the one that it saw in
//! the trace, and those nearby. That it sees one of the rest is a literal that is assumed to be
//! false until the search fails for that reason. So a query has to do with the values around what
//! it asks for, not with all that could be written to a variable that all threads use.
//!
//! A value may be unknown, and a variable may hold values of different sorts in turn; [`Symbol`]
//! has room for both.

mod circuit;
mod evaluate;
pub(super) mod symbols;
#[cfg(test)]
mod tests;
mod words;

use std::rc::Rc;

use foretell_model::TraceModel;
use foretell_order::Lit;
use foretell_trace::expr::{ExprOp, Sort};
use foretell_trace::{EventId, Value, VarId};

use self::circuit::Circuit;
pub(crate) use self::evaluate::{Values, evaluate};
use self::symbols::{Alternative, Open, Symbol};
use self::words::{pairs, width};
use super::encode::Encoding;
use super::too_large::TooLarge;
use crate::engines::writers::FinalWrites;
use crate::query::{Goal, Query};
use crate::simplify::term::{Term, TermId};
use crate::simplify::{Symbolic, initial, known};

/// More accesses with bits of their own than this are not written down.
const MOST_VALUES: usize = 200_000;

/// Number of writes that an access may see and that are encoded at first.
const FIRST_WRITERS: usize = 3;

impl Encoding<'_> {
    /// Gates over this encoding's literals.
    fn circuit(&mut self) -> Circuit<'_> {
        Circuit { solver: &mut self.solver, gates: &mut self.symbols.gates }
    }

    /// Computes the values along a proposal, and what the query and the claims of the model are
    /// about.
    pub(crate) fn values(&self, schedule: impl Iterator<Item = EventId>, query: &Query) -> Values {
        let asked = |e| self.symbols.sees.contains_key(&e) || query.asks_about(e);
        evaluate(self.trace_model, schedule, asked)
    }

    /// Adds the conditions of the query on values, as literals to assume.
    pub(crate) fn ask_values(
        &mut self,
        query: &Query,
        assumptions: &mut Vec<Lit>,
    ) -> Result<(), TooLarge> {
        if let Goal::Broken(read) = query.goal {
            assumptions.push(self.sees_otherwise(read)?);
        }
        if let Goal::Overwritten(write, x) = query.goal {
            assumptions.push(self.ends_otherwise(write, x)?);
        }
        for &(a, b) in &query.real {
            assumptions.push(self.real(a, b)?);
        }
        self.connect()
    }

    /// A literal that says that the variable `x`, whose observed last write is `write`, ends with a
    /// value that another write leaves and that is not known to be equal.
    fn ends_otherwise(&mut self, write: EventId, x: VarId) -> Result<Lit, TooLarge> {
        let trace_model = self.trace_model;
        let Some(value) = known(trace_model, trace_model.trace.written_value(write)) else {
            return Ok(self.solver.true_lit());
        };
        let others = FinalWrites::besides(trace_model, write, x).differing;
        let mut ways = Vec::with_capacity(others.len());
        for &last in &others {
            let after = self.after(last)?;
            let way = self.solver.new_var();
            let mut circuit = self.circuit();
            let observed = Symbol::value(&circuit, Some(value));
            let differs = !after.equal(&mut circuit, &observed);
            self.solver.add_clause(&[!way, differs]);
            for &other in others.iter().chain([&write]).filter(|&&other| other != last) {
                foretell_limit::check();
                let before = self.less(other, last);
                self.solver.add_clause(&[!way, before]);
            }
            ways.push(way);
        }
        Ok(self.circuit().any(ways))
    }

    /// Learns from the values along a proposal that was no witness: guards that are false, and
    /// accesses that see another write than the model claims.
    pub(crate) fn learn_values(&mut self, values: &Values) -> Result<(), TooLarge> {
        for &guard in &values.false_guards {
            self.guard(guard)?;
        }
        self.connect()?;
        for (&e, saw) in &values.saw {
            foretell_limit::check();
            let Some(writer) = saw.writer else { continue };
            let claims = self.symbols.sees.get(&e).cloned().unwrap_or_default();
            for (claimed, lit) in claims {
                if claimed != Some(writer) && self.solver.value(lit) {
                    self.nothing_between(lit, claimed, e, writer);
                }
            }
        }
        Ok(())
    }

    /// If a guard has run, it is true.
    fn guard(&mut self, guard: EventId) -> Result<(), TooLarge> {
        let condition = self.symbols.values.as_ref().and_then(|values| values.guard(guard));
        let Some(condition) = condition else { return Ok(()) };
        if !self.symbols.guards.insert(guard) {
            return Ok(());
        }
        let truth = self.term(condition)?;
        let ran = self.ran(guard);
        match truth.alternative(Sort::Bool) {
            Some(truth) => {
                self.solver.add_clause(&[!ran, truth.present]);
                self.solver.add_clause(&[!ran, truth.bits[0]]);
            }
            None => {
                self.solver.add_clause(&[!ran]);
            }
        }
        Ok(())
    }

    /// A literal that says that a read sees another value than in the trace; another write, where
    /// its value was not recorded.
    fn sees_otherwise(&mut self, read: EventId) -> Result<Lit, TooLarge> {
        let trace_model = self.trace_model;
        let Some(value) = known(trace_model, trace_model.trace.read_value(read)) else {
            let observed = self.of_trace(|values| values.observed(read))?;
            let same = observed.alternative(Sort::Bool).map(|o| o.bits[0]);
            return Ok(!same.unwrap_or(!self.solver.true_lit()));
        };
        let before = self.before(read)?;
        let mut circuit = self.circuit();
        let observed = Symbol::value(&circuit, Some(value));
        Ok(!before.equal(&mut circuit, &observed))
    }

    /// A literal that says that the conflict of `a` and the later `b` is real: the two do not
    /// commute.
    fn real(&mut self, a: EventId, b: EventId) -> Result<Lit, TooLarge> {
        let (first, second) = (self.trace_model.trace.op(a), self.trace_model.trace.op(b));
        let mut differences = Vec::new();
        if first.writes() && second.writes() {
            differences.push((self.after(a)?, self.after(b)?));
        }
        if first.reads() && second.writes() {
            differences.push((self.before(a)?, self.after(b)?));
        }
        if first.writes() && second.reads() {
            differences.push((self.before(a)?, self.after(a)?));
        }
        let mut circuit = self.circuit();
        let lits: Vec<Lit> = differences.iter().map(|(x, y)| !x.equal(&mut circuit, y)).collect();
        Ok(circuit.any(lits))
    }

    /// The value of its variable just before an access.
    fn before(&mut self, e: EventId) -> Result<Symbol, TooLarge> {
        self.of_trace(|values| values.before(e))
    }

    /// The value that a write leaves.
    fn after(&mut self, w: EventId) -> Result<Symbol, TooLarge> {
        Ok(self.of_trace(|values| values.after(w))?.without_truth())
    }

    /// The value that a write which `e` sees left, or the initial value.
    fn written(&mut self, e: EventId, writer: Option<EventId>) -> Result<Symbol, TooLarge> {
        match writer {
            Some(w) => self.after(w),
            None => {
                let trace_model = self.trace_model;
                let initial = trace_model.trace.variable(e).and_then(|x| initial(trace_model, x));
                Ok(Symbol::value(&self.circuit(), initial))
            }
        }
    }

    fn of_trace(&mut self, term: impl FnOnce(&Symbolic) -> TermId) -> Result<Symbol, TooLarge> {
        match self.symbols.values.as_deref().map(term) {
            Some(id) => self.term(id),
            None => Ok(Symbol::default()),
        }
    }

    /// The value of a term.
    fn term(&mut self, root: TermId) -> Result<Symbol, TooLarge> {
        if let Some(symbol) = self.symbols.terms.get(&root) {
            return Ok(symbol.clone());
        }
        let Some(values) = self.symbols.values.clone() else { return Ok(Symbol::default()) };
        for id in values.terms.parts([root], |id| !self.symbols.terms.contains_key(&id)) {
            foretell_limit::check();
            let symbol = match values.terms.get(id) {
                Term::Unknown => Symbol::default(),
                Term::Value(value) => Symbol::value(&self.circuit(), Some(*value)),
                Term::Truth(truth) => {
                    let bit = self.circuit().constant(*truth);
                    Symbol::truth(&self.circuit(), bit)
                }
                Term::Load(e) => self.load(&values, *e)?,
                Term::Observed(e) => {
                    self.term(values.before(*e))?;
                    let bit = self.sees_observed(*e);
                    Symbol::truth(&self.circuit(), bit)
                }
                Term::Apply(op, args) => {
                    let unknown = Symbol::default();
                    let args: Vec<&Symbol> = args
                        .iter()
                        .map(|a| self.symbols.terms.get(a).unwrap_or(&unknown))
                        .collect();
                    let mut circuit =
                        Circuit { solver: &mut self.solver, gates: &mut self.symbols.gates };
                    match (op, &args[..]) {
                        (ExprOp::Ite, [condition, yes, no]) => {
                            Symbol::ite(&mut circuit, condition, yes, no)
                        }
                        (ExprOp::Ite, _) => Symbol::default(),
                        _ => Symbol::apply(&mut circuit, *op, &args)?,
                    }
                }
            };
            self.symbols.terms.insert(id, symbol);
        }
        Ok(self.symbols.terms.get(&root).cloned().unwrap_or_default())
    }

    /// The value that an access finds, with bits of its own that are connected to what it sees
    /// later.
    fn load(&mut self, values: &Symbolic, e: EventId) -> Result<Symbol, TooLarge> {
        let trace_model = self.trace_model;
        let mut writers = values.writers(trace_model, e, || self.writers(e, true));
        let observed = trace_model.reads_from.observed(e);
        // The observed one is the best guess, and then what is near.
        writers.sort_by_key(|&w| {
            let distance = w.map_or(u32::MAX - 1, |w| w.0.abs_diff(e.0));
            std::cmp::Reverse(if w == observed { 0 } else { distance })
        });
        let ran = self.ran(e);
        self.symbols.sees.insert(e, Vec::new());
        self.see_some(e, ran, writers, FIRST_WRITERS);
        if self.symbols.sees.len() > MOST_VALUES {
            let message = format!("more than {MOST_VALUES} accesses have values to follow");
            return Err(TooLarge(message));
        }
        let kind = values.terms.kind(values.before(e));
        let always = kind.sure_sort().is_some();
        let fresh = |&sort: &Sort| {
            let width = if sort == Sort::Int { values.width(trace_model, e) } else { width(sort) };
            Alternative {
                sort,
                present: if always { self.solver.true_lit() } else { self.solver.new_var() },
                bits: Rc::new((0..width).map(|_| self.solver.new_var()).collect()),
            }
        };
        Ok(Symbol { alternatives: kind.sorts.iter().map(fresh).collect() })
    }

    /// If `when`, the access sees one of `writers`: the last `count` of them are written down.
    fn see_some(&mut self, e: EventId, when: Lit, mut rest: Vec<Option<EventId>>, count: usize) {
        let observed = self.trace_model.reads_from.observed(e);
        let mut clause = vec![!when];
        let mut sees = Vec::with_capacity(count);
        for writer in rest.drain(rest.len().saturating_sub(count)..).rev() {
            foretell_limit::check();
            let lit = self.solver.new_var();
            clause.push(lit);
            sees.push((writer, lit));
            if let Some(w) = writer {
                let earlier = self.less(w, e);
                self.solver.add_clause(&[!lit, earlier]);
            }
            if writer == observed {
                self.solver.set_phase(lit);
            }
        }
        if !rest.is_empty() {
            let otherwise = self.solver.new_var();
            clause.push(otherwise);
            self.symbols.open.insert(e, Open { rest, otherwise });
        }
        self.solver.add_clause(&clause);
        let known = self.symbols.sees.entry(e).or_default();
        self.symbols.loose.push((e, known.len()));
        known.extend(sees);
    }

    /// The literals that say that every access sees a write that is written down: to be assumed as
    /// long as that is possible.
    pub(crate) fn known_writers(&self) -> impl Iterator<Item = Lit> {
        self.symbols.open.values().map(|open| !open.otherwise)
    }

    /// After a search that failed for the reasons in `core`: writes down more writes if that could
    /// have been one. Says whether it was.
    pub(crate) fn more_writers(&mut self, core: &[Lit]) -> Result<bool, TooLarge> {
        let to_blame = self.symbols.open.iter().filter(|(_, open)| core.contains(&!open.otherwise));
        let accesses: Vec<EventId> = to_blame.map(|(&e, _)| e).collect();
        for &e in &accesses {
            foretell_limit::check();
            if let Some(Open { rest, otherwise }) = self.symbols.open.remove(&e) {
                let known = self.symbols.sees.get(&e).map_or(0, Vec::len);
                self.see_some(e, otherwise, rest, known.max(1));
            }
        }
        self.connect()?;
        Ok(!accesses.is_empty())
    }

    /// The literal "this access, which is loaded, sees the write that it saw in the trace".
    fn sees_observed(&self, e: EventId) -> Lit {
        let observed = self.trace_model.reads_from.observed(e);
        let claims = self.symbols.sees.get(&e).into_iter().flatten();
        let claim = claims.into_iter().find(|(w, _)| *w == observed);
        claim.map_or(!self.solver.true_lit(), |(_, lit)| *lit)
    }

    /// Connects accesses that have bits of their own with what they see.
    fn connect(&mut self) -> Result<(), TooLarge> {
        while let Some((e, first)) = self.symbols.loose.pop() {
            let value = self.before(e)?;
            let sees = self.symbols.sees.get(&e).map_or(&[][..], |sees| &sees[first..]).to_vec();
            for (writer, lit) in sees {
                foretell_limit::check();
                let seen = self.written(e, writer)?;
                self.equate(lit, &value, &seen);
            }
        }
        Ok(())
    }

    /// If `lit`, a value is the one that was seen.
    fn equate(&mut self, lit: Lit, value: &Symbol, seen: &Symbol) {
        // Where there always is a value, what was seen has one too.
        for a in &value.alternatives {
            foretell_limit::check();
            let Some(b) = seen.alternative(a.sort) else {
                self.solver.add_clause(&[!lit, !a.present]);
                continue;
            };
            for (x, y) in pairs(&a.bits, &b.bits).chain([(a.present, b.present)]) {
                self.solver.add_clause(&[!lit, !x, y]);
                self.solver.add_clause(&[!lit, x, !y]);
            }
        }
    }
}

impl Symbol {
    /// A truth is no value that a variable can have.
    fn without_truth(mut self) -> Symbol {
        self.alternatives.retain(|a| a.sort != Sort::Bool);
        self
    }
}

/// Whether the values along a proposal are what the query asks for.
pub(crate) fn shown(trace_model: &TraceModel<'_>, query: &Query, values: &Values) -> bool {
    let trace = trace_model.trace;
    let otherwise = match query.goal {
        Goal::Broken(read) => values.saw.get(&read).is_some_and(|saw| {
            match known(trace_model, trace.read_value(read)) {
                Some(value) => saw.before != Some(value),
                None => saw.writer != trace_model.reads_from.observed(read),
            }
        }),
        Goal::Overwritten(write, x) => {
            let (_, value) = values.memory.get(&x.0).copied().unwrap_or_default();
            value.is_none() || value != known(trace_model, trace.written_value(write))
        }
        _ => true,
    };
    otherwise && query.real.iter().all(|&(a, b)| really(trace_model, values, a, b))
}

fn really(trace_model: &TraceModel<'_>, values: &Values, a: EventId, b: EventId) -> bool {
    let (Some(first), Some(second)) = (values.saw.get(&a), values.saw.get(&b)) else {
        return false;
    };
    let differ = |x: Option<Value>, y: Option<Value>| x.is_none() || x != y;
    let (a, b) = (trace_model.trace.op(a), trace_model.trace.op(b));
    a.writes() && b.writes() && differ(first.after, second.after)
        || a.reads() && b.writes() && differ(first.before, second.after)
        || a.writes() && b.reads() && differ(first.before, first.after)
}
