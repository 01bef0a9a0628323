//! Values that depend on the interleaving, as bits of the solver.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use foretell_order::Lit;
use foretell_trace::expr::{ExprOp, Sort, result_sort};
use foretell_trace::{EventId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::circuit::{Circuit, Gates};
use super::words::Word;
use crate::engines::order::too_large::TooLarge;
use crate::simplify::Symbolic;
use crate::simplify::term::TermId;

/// A value that depends on the interleaving: one alternative for each sort it may have. If none is
/// present, it is unknown.
#[derive(Clone, Default)]
pub(super) struct Symbol {
    pub(super) alternatives: Vec<Alternative>,
}

#[derive(Clone)]
pub(super) struct Alternative {
    pub(super) sort: Sort,
    pub(super) present: Lit,
    pub(super) bits: Rc<Word>,
}

/// Values that are encoded.
#[derive(Default)]
pub(crate) struct Symbols {
    pub(super) gates: Gates,
    pub(super) values: Option<Arc<Symbolic>>,
    pub(super) terms: FxHashMap<TermId, Symbol>,
    /// For each access whose value was written down: the writes it may see and the literal that
    /// says it does.
    pub(super) sees: FxHashMap<EventId, Vec<(Option<EventId>, Lit)>>,
    /// Accesses that are not connected yet to what they see, and the first of their writes that are
    /// not.
    pub(super) loose: Vec<(EventId, usize)>,
    /// Accesses that may see more than what is written down.
    pub(super) open: BTreeMap<EventId, Open>,
    pub(super) guards: FxHashSet<EventId>,
}

/// Writes that an access may see and that are not encoded yet.
pub(super) struct Open {
    /// The nearest last.
    pub(super) rest: Vec<Option<EventId>>,
    /// If this holds, it is one of them.
    pub(super) otherwise: Lit,
}

impl Symbols {
    pub(crate) fn new(values: Option<Arc<Symbolic>>) -> Self {
        Self { values, ..Self::default() }
    }
}

impl Symbol {
    pub(super) fn value(circuit: &Circuit<'_>, value: Option<Value>) -> Symbol {
        let alternatives = value
            .map(|v| Alternative {
                sort: Sort::of(v),
                present: circuit.yes(),
                bits: Rc::new(circuit.value(v)),
            })
            .into_iter()
            .collect();
        Symbol { alternatives }
    }

    pub(super) fn truth(circuit: &Circuit<'_>, bit: Lit) -> Symbol {
        let (sort, present, bits) = (Sort::Bool, circuit.yes(), Rc::new(vec![bit]));
        Symbol { alternatives: vec![Alternative { sort, present, bits }] }
    }

    pub(super) fn alternative(&self, sort: Sort) -> Option<&Alternative> {
        self.alternatives.iter().find(|a| a.sort == sort)
    }

    /// Adds an alternative that excludes those that are there.
    pub(super) fn add(
        &mut self,
        circuit: &mut Circuit<'_>,
        sort: Sort,
        present: Lit,
        bits: &Rc<Word>,
    ) {
        if present == circuit.no() {
            return;
        }
        match self.alternatives.iter_mut().find(|a| a.sort == sort) {
            Some(old) => {
                old.bits = Rc::new(circuit.choose(present, bits, &old.bits));
                old.present = circuit.or(present, old.present);
            }
            None => self.alternatives.push(Alternative { sort, present, bits: Rc::clone(bits) }),
        }
    }

    /// Returns the value where a condition holds, and no value elsewhere.
    pub(super) fn only_if(&self, circuit: &mut Circuit<'_>, condition: Lit) -> Symbol {
        let mut result = Symbol::default();
        for a in &self.alternatives {
            foretell_limit::check();
            let present = circuit.and(condition, a.present);
            result.add(circuit, a.sort, present, &a.bits);
        }
        result
    }

    /// Whether two values are known and equal.
    pub(super) fn equal(&self, circuit: &mut Circuit<'_>, other: &Symbol) -> Lit {
        let mut equal = circuit.no();
        for a in &self.alternatives {
            if let Some(b) = other.alternative(a.sort) {
                let same = circuit.equal(&a.bits, &b.bits);
                let both = circuit.and(a.present, b.present);
                let here = circuit.and(same, both);
                equal = circuit.or(equal, here);
            }
        }
        equal
    }

    /// An operator other than `ite`, for every choice of sorts that it takes.
    pub(super) fn apply(
        circuit: &mut Circuit<'_>,
        op: ExprOp,
        args: &[&Symbol],
    ) -> Result<Symbol, TooLarge> {
        let mut result = Symbol::default();
        let counts = args.iter().map(|a| a.alternatives.len());
        let count = counts.clone().try_fold(1usize, |n, c| n.checked_mul(c)).unwrap_or(usize::MAX);
        if count > 256 {
            return Err(TooLarge("an expression mixes too many sorts".to_owned()));
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
            let present = circuit.all(picked.iter().map(|a| a.present));
            let words: Vec<&Word> = picked.iter().map(|a| &*a.bits).collect();
            let bits = Rc::new(circuit.apply(op, &words));
            result.add(circuit, sort, present, &bits);
        }
        Ok(result)
    }

    pub(super) fn ite(
        circuit: &mut Circuit<'_>,
        condition: &Symbol,
        yes: &Symbol,
        no: &Symbol,
    ) -> Symbol {
        let Some(condition) = condition.alternative(Sort::Bool) else { return Symbol::default() };
        let (present, bit) = (condition.present, condition.bits[0]);
        let taken = circuit.and(present, bit);
        let not_taken = circuit.and(present, !bit);
        let mut result = yes.only_if(circuit, taken);
        for a in no.only_if(circuit, not_taken).alternatives {
            result.add(circuit, a.sort, a.present, &a.bits);
        }
        result
    }
}
