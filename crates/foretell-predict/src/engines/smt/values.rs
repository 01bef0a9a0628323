//! The values of the symbolic model as SMT-LIB text: the concurrent static single assignment form
//! of the symbolic-atomicity paper (its sections 4.1 and 4.2).
//!
//! - `x7_0` are the bits that access 7 finds in its variable, for the first sort that they can
//!   have; `p7_0` says that there is a value, and of this sort. Without any it is unknown.
//! - `t7_0`, `q7_0` are the same for term 7, defined instead of declared.
//!
//! The paper's π-functions are the variables that say which write an access sees: if one holds, the
//! access finds what that write leaves. Integers are bit-vectors of 64 bits, which is what makes
//! them wrap; the order stays difference logic, or bit-vectors too. Values are written down from
//! the guards and from what the query asks about backwards, so what those do not depend on is not
//! in the formula.

use std::rc::Rc;
use std::sync::Arc;

use foretell_trace::expr::{ExprOp, Sort, result_sort};
use foretell_trace::{EventId, Value, VarId};

use super::cut_short::{CutShort, check};
use super::formula::Formula;
use super::lit::Lit;
use super::operators;
use super::value_table::{Alternative, New, Symbol};
use crate::engines::writers::{FinalWrites, writers};
use crate::query::{Goal, Limit, Query};
use crate::simplify::term::{Term, TermId};
use crate::simplify::{Symbolic, initial, known};

/// More combinations of sorts than this are not written down.
const MOST_COMBINATIONS: usize = 256;

impl Symbol {
    fn value(value: Option<Value>) -> Symbol {
        let alternatives = value.into_iter().map(|v| {
            let (sort, present) = (Sort::of(v), "true".to_owned());
            Alternative { sort, present, bits: operators::constant(v) }
        });
        Symbol { alternatives: alternatives.collect() }
    }

    fn truth(bits: String) -> Symbol {
        let (sort, present) = (Sort::Bool, "true".to_owned());
        Symbol { alternatives: vec![Alternative { sort, present, bits }] }
    }

    fn alternative(&self, sort: Sort) -> Option<&Alternative> {
        self.alternatives.iter().find(|a| a.sort == sort)
    }

    /// Adds an alternative that excludes those that are there.
    fn add(&mut self, sort: Sort, present: String, bits: String) {
        if present == "false" {
            return;
        }
        match self.alternatives.iter_mut().find(|a| a.sort == sort) {
            Some(old) => {
                old.bits = format!("(ite {present} {bits} {})", old.bits);
                old.present = operators::any([present, std::mem::take(&mut old.present)]);
            }
            None => self.alternatives.push(Alternative { sort, present, bits }),
        }
    }

    /// Text that says that two values are known and equal.
    fn equal(&self, other: &Symbol) -> String {
        operators::any(self.alternatives.iter().filter_map(|a| {
            let b = other.alternative(a.sort)?;
            let same = format!("(= {} {})", a.bits, b.bits);
            Some(operators::all([a.present.clone(), b.present.clone(), same]))
        }))
    }

    /// An operator other than `ite`, for every choice of sorts that it takes.
    fn apply(op: ExprOp, args: &[&Symbol]) -> Result<Symbol, CutShort> {
        let mut result = Symbol::default();
        let counts = args.iter().map(|a| a.alternatives.len());
        let count = counts.clone().try_fold(1usize, |n, c| n.checked_mul(c)).unwrap_or(usize::MAX);
        if count > MOST_COMBINATIONS {
            return Err(CutShort("an expression mixes too many sorts".to_owned()));
        }
        for mut choice in 0..count {
            foretell_limit::check();
            let mut picked = Vec::with_capacity(args.len());
            for arg in args {
                picked.push(&arg.alternatives[choice % arg.alternatives.len()]);
                choice /= arg.alternatives.len();
            }
            let sorts: Vec<Sort> = picked.iter().map(|a| a.sort).collect();
            let Ok(sort) = result_sort(op, &sorts) else { continue };
            let present = operators::all(picked.iter().map(|a| a.present.clone()));
            let bits: Vec<&str> = picked.iter().map(|a| a.bits.as_str()).collect();
            result.add(sort, present, operators::apply(op, &bits));
        }
        Ok(result)
    }

    fn ite(condition: &Symbol, yes: &Symbol, no: &Symbol) -> Symbol {
        let mut result = Symbol::default();
        let Some(condition) = condition.alternative(Sort::Bool) else { return result };
        let not = format!("(not {})", condition.bits);
        for (branch, taken) in [(yes, &condition.bits), (no, &not)] {
            for a in &branch.alternatives {
                let present =
                    operators::all([condition.present.clone(), taken.clone(), a.present.clone()]);
                result.add(a.sort, present, a.bits.clone());
            }
        }
        result
    }

    /// A truth is no value that a variable can have.
    fn without_truth(&self) -> Symbol {
        let values = self.alternatives.iter().filter(|a| a.sort != Sort::Bool);
        Symbol { alternatives: values.cloned().collect() }
    }
}

impl Formula<'_> {
    /// Every guard that runs is true.
    pub(super) fn guards(&mut self, limit: &Limit<'_>) -> Result<(), CutShort> {
        let Some(symbolic) = self.values.as_ref().map(|v| Arc::clone(&v.symbolic)) else {
            return Ok(());
        };
        for &(guard, condition) in symbolic.guards() {
            foretell_limit::check();
            check(limit)?;
            if self.bounds.never(self.trace_model, guard) {
                continue;
            }
            let truth = self.term(&symbolic, condition)?;
            let holds = truth.alternative(Sort::Bool).map_or("false".to_owned(), |truth| {
                operators::all([truth.present.clone(), truth.bits.clone()])
            });
            self.implies_text(&[Lit::Ran(guard)], &holds);
            if let Some(values) = &mut self.values {
                values.guards.push(guard);
            }
            self.connect(&symbolic)?;
        }
        Ok(())
    }

    /// Writes down the conditions of a query on values.
    pub(super) fn ask_values(&mut self, query: &Query) -> Result<(), CutShort> {
        let Some(symbolic) = self.values.as_ref().map(|v| Arc::clone(&v.symbolic)) else {
            return Ok(());
        };
        if let Goal::Broken(read) = query.goal {
            self.implies(&[], &[&[Lit::Ran(read)]]);
            if let Some(next) = self.trace_model.chains.next(self.trace_model.trace, read) {
                self.implies(&[], &[&[Lit::NotRan(next)]]);
            }
            let same = self.sees_as_in_trace(&symbolic, read)?;
            self.implies_text(&[], &operators::not(&same));
        }
        if let Goal::Overwritten(write, x) = query.goal {
            self.ends_otherwise(&symbolic, write, x)?;
        }
        for &(a, b) in &query.real {
            let real = self.real(&symbolic, a, b)?;
            self.implies_text(&[], &real);
        }
        self.connect(&symbolic)
    }

    /// The variable `x`, whose observed last write is `write`, ends with a value that another write
    /// leaves and that is not known to be equal.
    fn ends_otherwise(
        &mut self,
        symbolic: &Symbolic,
        write: EventId,
        x: VarId,
    ) -> Result<(), CutShort> {
        let recorded = known(self.trace_model, self.trace_model.trace.written_value(write));
        let Some(value) = recorded else { return Ok(()) };
        let others = FinalWrites::besides(self.trace_model, write, x).differing;
        let mut ways = Vec::with_capacity(others.len());
        for &last in &others {
            let way = Lit::Var(self.var());
            let after = self.term(symbolic, symbolic.after(last))?.without_truth();
            let same = after.equal(&Symbol::value(Some(value)));
            self.implies_text(&[way], &operators::not(&same));
            for &other in others.iter().chain([&write]).filter(|&&other| other != last) {
                foretell_limit::check();
                self.implies(&[way], &[&[Lit::Less(other, last)]]);
            }
            ways.push([way]);
        }
        let ways: Vec<&[Lit]> = ways.iter().map(|way| &way[..]).collect();
        self.implies(&[], &ways);
        Ok(())
    }

    /// Text that says that a read sees the value that it saw in the trace; the same write, where
    /// its value was not recorded.
    fn sees_as_in_trace(&mut self, symbolic: &Symbolic, read: EventId) -> Result<String, CutShort> {
        let recorded = known(self.trace_model, self.trace_model.trace.read_value(read));
        let Some(value) = recorded else {
            let observed = self.term(symbolic, symbolic.observed(read))?;
            let same = observed.alternative(Sort::Bool).map(|a| a.bits.clone());
            return Ok(same.unwrap_or_else(|| "false".to_owned()));
        };
        let before = self.term(symbolic, symbolic.before(read))?;
        Ok(before.equal(&Symbol::value(Some(value))))
    }

    /// Text that says that the conflict of `a` and the later `b` is real: the two do not commute.
    fn real(&mut self, symbolic: &Symbolic, a: EventId, b: EventId) -> Result<String, CutShort> {
        let (first, second) = (self.trace_model.trace.op(a), self.trace_model.trace.op(b));
        let mut same = Vec::new();
        let after = |f: &mut Self, e| Ok(f.term(symbolic, symbolic.after(e))?.without_truth());
        if first.writes() && second.writes() {
            same.push(after(self, a)?.equal(&after(self, b)?));
        }
        if first.reads() && second.writes() {
            same.push(self.term(symbolic, symbolic.before(a))?.equal(&after(self, b)?));
        }
        if first.writes() && second.reads() {
            same.push(self.term(symbolic, symbolic.before(a))?.equal(&after(self, a)?));
        }
        Ok(operators::not(&operators::all(same)))
    }

    /// The value of a term, its parts defined.
    fn term(&mut self, symbolic: &Symbolic, root: TermId) -> Result<Rc<Symbol>, CutShort> {
        let unknown = || Rc::new(Symbol::default());
        let known =
            |f: &Self, id: TermId| f.values.as_ref().and_then(|v| v.terms.get(&id).cloned());
        let parts = symbolic.terms.parts([root], |id| known(self, id).is_none());
        for id in parts {
            foretell_limit::check();
            let symbol = match symbolic.terms.get(id) {
                Term::Unknown => Symbol::default(),
                Term::Value(value) => Symbol::value(Some(*value)),
                Term::Truth(truth) => Symbol::truth(truth.to_string()),
                Term::Load(e) => self.load(symbolic, *e),
                Term::Observed(e) => {
                    let before = symbolic.before(*e);
                    if known(self, before).is_none() {
                        let symbol = self.load(symbolic, *e);
                        self.remember(before, symbol);
                    }
                    Symbol::truth(self.sees_observed(*e))
                }
                Term::Apply(op, args) => {
                    let args: Vec<Rc<Symbol>> =
                        args.iter().map(|&a| known(self, a).unwrap_or_else(unknown)).collect();
                    let args: Vec<&Symbol> = args.iter().map(Rc::as_ref).collect();
                    let symbol = match (op, &args[..]) {
                        (ExprOp::Ite, [condition, yes, no]) => Symbol::ite(condition, yes, no),
                        (ExprOp::Ite, _) => Symbol::default(),
                        _ => Symbol::apply(*op, &args)?,
                    };
                    self.define(id, symbol)
                }
            };
            self.remember(id, symbol);
        }
        Ok(known(self, root).unwrap_or_else(unknown))
    }

    fn remember(&mut self, id: TermId, symbol: Symbol) {
        if let Some(values) = &mut self.values {
            values.terms.insert(id, Rc::new(symbol));
            values.new.push(New::Term(id));
        }
    }

    /// Gives the parts of a value names.
    fn define(&mut self, id: TermId, mut symbol: Symbol) -> Symbol {
        for (i, a) in symbol.alternatives.iter_mut().enumerate() {
            foretell_limit::check();
            let name = format!("t{}_{i}", id.number());
            self.define_text(&name, &operators::sort(a.sort), &a.bits);
            a.bits = name;
            if a.present.starts_with('(') {
                let name = format!("q{}_{i}", id.number());
                self.define_text(&name, "Bool", &a.present);
                a.present = name;
            }
        }
        symbol
    }

    /// The value that an access finds, declared, and connected to what it sees later.
    fn load(&mut self, symbolic: &Symbolic, e: EventId) -> Symbol {
        let trace_model = self.trace_model;
        let mut sees = Vec::new();
        for writer in symbolic.writers(trace_model, e, || writers(trace_model, e, true)) {
            foretell_limit::check();
            if writer.is_some_and(|w| self.bounds.never(trace_model, w)) {
                continue;
            }
            let lit = Lit::Var(self.var());
            self.sees(lit, e, writer, false);
            sees.push((writer, lit));
        }
        let alternatives: Vec<[Lit; 1]> = sees.iter().map(|&(_, lit)| [lit]).collect();
        let alternatives: Vec<&[Lit]> = alternatives.iter().map(|a| &a[..]).collect();
        self.implies(&[Lit::Ran(e)], &alternatives);
        if let Some(values) = &mut self.values {
            values.sees.insert(e, sees);
            values.loose.push(e);
            values.new.push(New::Load(e));
        }
        let kind = symbolic.terms.kind(symbolic.before(e));
        let always = kind.sure_sort().is_some();
        let mut symbol = Symbol::default();
        for (i, &sort) in kind.sorts.iter().enumerate() {
            let bits = format!("x{}_{i}", e.0);
            self.declare_text(&bits, &operators::sort(sort));
            let mut present = "true".to_owned();
            if !always {
                present = format!("p{}_{i}", e.0);
                self.declare_text(&present, "Bool");
            }
            symbol.alternatives.push(Alternative { sort, present, bits });
        }
        symbol
    }

    /// Text that says that an access sees the write that it saw in the trace.
    fn sees_observed(&self, e: EventId) -> String {
        let observed = self.trace_model.reads_from.observed(e);
        let claims = self.values.as_ref().and_then(|v| v.sees.get(&e));
        let claim = claims.into_iter().flatten().find(|(w, _)| *w == observed);
        match claim {
            Some((_, Lit::Var(v))) => format!("v{v}"),
            _ => "false".to_owned(),
        }
    }

    /// Connects accesses with what they see.
    fn connect(&mut self, symbolic: &Symbolic) -> Result<(), CutShort> {
        while let Some(e) = self.values.as_mut().and_then(|v| v.loose.pop()) {
            let value = self.term(symbolic, symbolic.before(e))?;
            let sees = self.values.as_ref().and_then(|v| v.sees.get(&e)).cloned();
            for (writer, lit) in sees.unwrap_or_default() {
                let seen = match writer {
                    Some(w) => self.term(symbolic, symbolic.after(w))?.without_truth(),
                    None => {
                        let x = self.trace_model.trace.variable(e);
                        Symbol::value(x.and_then(|x| initial(self.trace_model, x)))
                    }
                };
                for a in &value.alternatives {
                    let Some(b) = seen.alternative(a.sort) else {
                        self.implies_text(&[lit], &operators::not(&a.present));
                        continue;
                    };
                    self.implies_text(&[lit], &format!("(= {} {})", a.bits, b.bits));
                    if a.present != b.present {
                        let same = format!("(= {} {})", a.present, b.present);
                        self.implies_text(&[lit], &same);
                    }
                }
            }
        }
        Ok(())
    }
}
