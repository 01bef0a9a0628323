//! Terms: what values are computed from, in static single assignment form, with constants folded.

use foretell_trace::expr::{Answer, Expr, ExprOp, Exprs, Sort, eval, result_sort};
use foretell_trace::{EventId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Summands of a sum that other sums are put into.
const MOST_SUMMANDS: usize = 16;

/// More combinations of argument sorts than this are not looked at: no program mixes sorts like
/// that.
const MOST_COMBINATIONS: usize = 256;

/// A term of a [`Terms`] table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TermId(u32);

impl TermId {
    /// The term that has no value.
    pub(crate) const UNKNOWN: TermId = TermId(0);

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// One node of a term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Term {
    /// No value that is known.
    Unknown,
    /// A constant.
    Value(Value),
    /// `true` or `false`.
    Truth(bool),
    /// The value that an access finds in its variable.
    Load(EventId),
    /// Whether an access sees the write that it saw in the trace.
    Observed(EventId),
    /// An operator applied to arguments.
    Apply(ExprOp, Box<[TermId]>),
}

/// Sorts of the values of a term, and whether there always is one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TermKind {
    /// The sorts that they can have.
    pub(crate) sorts: Vec<Sort>,
    /// Whether there always is one.
    pub(crate) sure: bool,
}

impl TermKind {
    /// Always a value of one sort.
    pub(crate) fn surely(sort: Sort) -> Self {
        TermKind { sorts: vec![sort], sure: true }
    }

    /// The sort, if there is always a value and it is always of this sort.
    pub(crate) fn sure_sort(&self) -> Option<Sort> {
        if let ([sort], true) = (&self.sorts[..], self.sure) { Some(*sort) } else { None }
    }

    /// Whether a value, if there is one, has this sort.
    fn at_most(&self, sort: Sort) -> bool {
        self.sorts.iter().all(|&s| s == sort)
    }
}

/// Terms that are shared: equal ones have equal identifiers, arguments smaller ones than their
/// users.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    nodes: Vec<Term>,
    kinds: Vec<TermKind>,
    index: FxHashMap<Term, TermId>,
    /// Whether constants are folded.
    fold: bool,
}

impl Terms {
    /// A table with nothing but the unknown term.
    pub(crate) fn new(fold: bool) -> Self {
        let mut terms =
            Self { nodes: Vec::new(), kinds: Vec::new(), index: FxHashMap::default(), fold };
        terms.intern(Term::Unknown, TermKind::default());
        terms
    }

    pub(crate) fn get(&self, id: TermId) -> &Term {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn kind(&self, id: TermId) -> &TermKind {
        &self.kinds[id.0 as usize]
    }

    /// The identifier of a term; `kind` says what is known about it if it is new.
    pub(super) fn intern(&mut self, term: Term, kind: TermKind) -> TermId {
        if let Some(&id) = self.index.get(&term) {
            return id;
        }
        let id = TermId(self.nodes.len() as u32);
        self.nodes.push(term.clone());
        self.kinds.push(kind);
        self.index.insert(term, id);
        id
    }

    /// Replaces what is known about all terms.
    pub(super) fn set_kinds(&mut self, kinds: Vec<TermKind>) {
        debug_assert_eq!(kinds.len(), self.nodes.len(), "one for each term");
        self.kinds = kinds;
    }

    /// All terms, arguments before what uses them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Term> {
        self.nodes.iter()
    }

    /// A constant; unknown if it is no value at all (a width that there is not).
    pub(super) fn value(&mut self, value: Option<Value>) -> TermId {
        match value {
            None => TermId::UNKNOWN,
            Some(Value::Bits { width, .. }) if !(1..=64).contains(&width) => TermId::UNKNOWN,
            Some(value) => self.intern(Term::Value(value), TermKind::surely(Sort::of(value))),
        }
    }

    pub(super) fn truth(&mut self, truth: bool) -> TermId {
        self.intern(Term::Truth(truth), TermKind::surely(Sort::Bool))
    }

    /// An operator applied to arguments, simplified if the table folds.
    pub(super) fn apply(&mut self, op: ExprOp, args: &[TermId]) -> TermId {
        if self.fold
            && let Some(folded) = self.folded(op, args)
        {
            return folded;
        }
        let kinds: Vec<&TermKind> = args.iter().map(|&a| self.kind(a)).collect();
        let kind = kind_of(op, &kinds);
        self.intern(Term::Apply(op, args.into()), kind)
    }

    /// The parts of some terms that `wanted` lets through, arguments before what uses them.
    pub(crate) fn parts(
        &self,
        roots: impl IntoIterator<Item = TermId>,
        mut wanted: impl FnMut(TermId) -> bool,
    ) -> Vec<TermId> {
        let mut found: FxHashSet<TermId> = FxHashSet::default();
        let mut work: Vec<TermId> = roots.into_iter().collect();
        while let Some(id) = work.pop() {
            foretell_limit::check();
            if wanted(id)
                && found.insert(id)
                && let Term::Apply(_, args) = self.get(id)
            {
                work.extend(args.iter());
            }
        }
        let mut parts: Vec<TermId> = found.into_iter().collect();
        parts.sort_unstable();
        parts
    }

    /// A simpler term with the same value, known or not, whatever the interleaving.
    fn folded(&mut self, op: ExprOp, args: &[TermId]) -> Option<TermId> {
        if op == ExprOp::Ite {
            return self.folded_choice(args);
        }
        let kinds: Vec<&TermKind> = args.iter().map(|&a| self.kind(a)).collect();
        if args.contains(&TermId::UNKNOWN) || kind_of(op, &kinds).sorts.is_empty() {
            return Some(TermId::UNKNOWN);
        }
        if let Some(constant) = self.constant(op, args) {
            return Some(constant);
        }
        match (op, args) {
            (ExprOp::Add, _) => self.folded_sum(args),
            (ExprOp::Sub, &[x, y]) => {
                let Term::Value(Value::Int(c)) = *self.get(y) else { return None };
                let c = self.value(Some(Value::Int(c.wrapping_neg())));
                Some(self.apply(ExprOp::Add, &[x, c]))
            }
            (ExprOp::And | ExprOp::Or, _) => self.folded_junction(op, args),
            (ExprOp::Not, &[x]) => match *self.get(x) {
                Term::Apply(ExprOp::Not, ref inner) if self.kind(inner[0]).at_most(Sort::Bool) => {
                    Some(inner[0])
                }
                _ => None,
            },
            (ExprOp::Eq | ExprOp::Distinct, &[x, y]) if x != y => self.folded_equation(op, x, y),
            (_, &[x, y]) if x == y => {
                self.kind(x).sure_sort()?;
                let holds = match op {
                    ExprOp::Eq | ExprOp::Le | ExprOp::Ge => true,
                    ExprOp::BvUle | ExprOp::BvUge | ExprOp::BvSle | ExprOp::BvSge => true,
                    ExprOp::Distinct | ExprOp::Lt | ExprOp::Gt => false,
                    ExprOp::BvUlt | ExprOp::BvUgt | ExprOp::BvSlt | ExprOp::BvSgt => false,
                    _ => return None,
                };
                Some(self.truth(holds))
            }
            _ => None,
        }
    }

    /// The value of an operator on constants.
    fn constant(&mut self, op: ExprOp, args: &[TermId]) -> Option<TermId> {
        let mut exprs = Exprs::default();
        let mut constants = Vec::with_capacity(args.len());
        for &arg in args {
            constants.push(exprs.intern(match *self.get(arg) {
                Term::Value(value) => Expr::Const(value),
                Term::Truth(truth) => Expr::Bool(truth),
                _ => return None,
            }));
        }
        let root = exprs.intern(Expr::App(op, constants.into()));
        Some(match eval(&exprs, root, |_| None) {
            Answer::Value(value) => self.value(Some(value)),
            Answer::Truth(truth) => self.truth(truth),
            Answer::Unknown => TermId::UNKNOWN,
        })
    }

    fn folded_choice(&mut self, args: &[TermId]) -> Option<TermId> {
        let &[condition, yes, no] = args else { return Some(TermId::UNKNOWN) };
        match *self.get(condition) {
            Term::Truth(truth) => return Some(if truth { yes } else { no }),
            _ if !self.kind(condition).sorts.contains(&Sort::Bool) => {
                return Some(TermId::UNKNOWN);
            }
            _ => {}
        }
        if yes == no && self.kind(condition).sure_sort() == Some(Sort::Bool) {
            return Some(yes);
        }
        (yes == TermId::UNKNOWN && no == TermId::UNKNOWN).then_some(TermId::UNKNOWN)
    }

    /// A sum with one constant at most, and no sum in it unless there would be too many summands:
    /// sums of sums that share their parts would have exponentially many.
    fn folded_sum(&mut self, args: &[TermId]) -> Option<TermId> {
        let mut rest = Vec::with_capacity(args.len());
        let mut constant: i64 = 0;
        let mut changed = false;
        for &arg in args {
            match self.get(arg) {
                Term::Value(Value::Int(c)) => {
                    changed |= rest.len() + 1 < args.len() || *c == 0;
                    constant = constant.wrapping_add(*c);
                }
                // Terms that were built here have their constant last.
                Term::Apply(ExprOp::Add, inner) if rest.len() + inner.len() <= MOST_SUMMANDS => {
                    changed = true;
                    for &part in inner {
                        match self.get(part) {
                            Term::Value(Value::Int(c)) => constant = constant.wrapping_add(*c),
                            _ => rest.push(part),
                        }
                    }
                }
                _ => rest.push(arg),
            }
        }
        if let ([only], 0) = (&rest[..], constant) {
            return self.kind(*only).at_most(Sort::Int).then_some(*only);
        }
        if !changed {
            return None;
        }
        if constant != 0 {
            rest.push(self.value(Some(Value::Int(constant))));
        }
        let kinds: Vec<&TermKind> = rest.iter().map(|&a| self.kind(a)).collect();
        let kind = kind_of(ExprOp::Add, &kinds);
        Some(self.intern(Term::Apply(ExprOp::Add, rest.into()), kind))
    }

    /// A conjunction or disjunction without constants and repetitions.
    fn folded_junction(&mut self, op: ExprOp, args: &[TermId]) -> Option<TermId> {
        let neutral = op == ExprOp::And;
        let mut rest: Vec<TermId> = Vec::with_capacity(args.len());
        let mut decided = false;
        for &arg in args {
            match *self.get(arg) {
                Term::Truth(truth) => decided |= truth != neutral,
                _ if rest.contains(&arg) => {}
                _ => rest.push(arg),
            }
        }
        if decided {
            let sure = rest.iter().all(|&a| self.kind(a).sure_sort() == Some(Sort::Bool));
            return sure.then(|| self.truth(!neutral));
        }
        match rest[..] {
            [] => Some(self.truth(neutral)),
            [only] if self.kind(only).at_most(Sort::Bool) => Some(only),
            _ if rest.len() < args.len() && rest.len() > 1 => Some(self.apply(op, &rest)),
            _ => None,
        }
    }

    /// `x + c = d` is `x = d − c`: machine arithmetic wraps.
    fn folded_equation(&mut self, op: ExprOp, x: TermId, y: TermId) -> Option<TermId> {
        let (sum, constant) = match (self.get(x), self.get(y)) {
            (_, Term::Value(Value::Int(d))) => (x, *d),
            (Term::Value(Value::Int(d)), _) => (y, *d),
            _ => return None,
        };
        let Term::Apply(ExprOp::Add, args) = self.get(sum) else { return None };
        let (&last, rest) = args.split_last()?;
        let Term::Value(Value::Int(c)) = *self.get(last) else { return None };
        let rest = rest.to_vec();
        let difference = self.value(Some(Value::Int(constant.wrapping_sub(c))));
        let rest = match rest[..] {
            [only] => only,
            _ => self.apply(ExprOp::Add, &rest),
        };
        Some(self.apply(op, &[rest, difference]))
    }
}

/// Sorts of the values of an application.
pub(super) fn kind_of(op: ExprOp, args: &[&TermKind]) -> TermKind {
    if op == ExprOp::Ite {
        let [condition, yes, no] = args else { return TermKind::default() };
        let mut sorts = yes.sorts.clone();
        sorts.extend(no.sorts.iter().filter(|s| !yes.sorts.contains(s)));
        let decided = condition.sure_sort() == Some(Sort::Bool);
        return TermKind { sorts, sure: decided && yes.sure && no.sure };
    }
    let count = args.iter().map(|a| a.sorts.len()).try_fold(1usize, |n, len| n.checked_mul(len));
    let count = count.unwrap_or(usize::MAX);
    let mut kind = TermKind { sorts: Vec::new(), sure: args.iter().all(|a| a.sure) && count == 1 };
    for mut choice in 0..count.min(MOST_COMBINATIONS) {
        let mut picked = Vec::with_capacity(args.len());
        for arg in args {
            picked.push(arg.sorts[choice % arg.sorts.len()]);
            choice /= arg.sorts.len();
        }
        match result_sort(op, &picked) {
            Ok(sort) if !kind.sorts.contains(&sort) => kind.sorts.push(sort),
            Ok(_) => {}
            Err(_) => kind.sure = false,
        }
    }
    kind
}
