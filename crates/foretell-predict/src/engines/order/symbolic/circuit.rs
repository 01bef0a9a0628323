//! Gates over the literals of the solver: and, exclusive or, choice. Constants are folded, equal
//! gates are shared, the rest become clauses (Tseitin).

use foretell_order::{Lit, Solver};
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Gate {
    And(Lit, Lit),
    Xor(Lit, Lit),
    Choice(Lit, Lit, Lit),
}

/// The gates that were built so far.
#[derive(Default)]
pub(super) struct Gates {
    known: FxHashMap<Gate, Lit>,
}

/// A solver and its gates: what circuits are built with.
pub(super) struct Circuit<'c> {
    pub(super) solver: &'c mut Solver,
    pub(super) gates: &'c mut Gates,
}

impl Circuit<'_> {
    /// The literal that is always true.
    pub(super) fn yes(&self) -> Lit {
        self.solver.true_lit()
    }

    /// The literal that is always false.
    pub(super) fn no(&self) -> Lit {
        !self.solver.true_lit()
    }

    pub(super) fn constant(&self, value: bool) -> Lit {
        if value { self.yes() } else { self.no() }
    }

    pub(super) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        if a == b || b == self.yes() {
            return a;
        }
        if a == self.yes() {
            return b;
        }
        if a == !b || a == self.no() || b == self.no() {
            return self.no();
        }
        let (a, b) = (a.min(b), a.max(b));
        if let Some(&gate) = self.gates.known.get(&Gate::And(a, b)) {
            return gate;
        }
        let gate = self.solver.new_var();
        self.solver.add_clause(&[!gate, a]);
        self.solver.add_clause(&[!gate, b]);
        self.solver.add_clause(&[gate, !a, !b]);
        self.gates.known.insert(Gate::And(a, b), gate);
        gate
    }

    pub(super) fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    pub(super) fn all(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let start = self.yes();
        lits.into_iter().fold(start, |a, b| self.and(a, b))
    }

    pub(super) fn any(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let start = self.no();
        lits.into_iter().fold(start, |a, b| self.or(a, b))
    }

    pub(super) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let (yes, no) = (self.yes(), self.no());
        match (a, b) {
            _ if a == b => return no,
            _ if a == !b => return yes,
            _ if a == no => return b,
            _ if b == no => return a,
            _ if a == yes => return !b,
            _ if b == yes => return !a,
            _ => {}
        }
        // Negations move to the outside, so that a ⊕ ¬b and a ⊕ b share a gate.
        let (x, y) = (a.min(!a), b.min(!b));
        let flipped = (x != a) != (y != b);
        let (x, y) = (x.min(y), x.max(y));
        let gate = match self.gates.known.get(&Gate::Xor(x, y)) {
            Some(&gate) => gate,
            None => {
                let gate = self.solver.new_var();
                self.solver.add_clause(&[!gate, x, y]);
                self.solver.add_clause(&[!gate, !x, !y]);
                self.solver.add_clause(&[gate, !x, y]);
                self.solver.add_clause(&[gate, x, !y]);
                self.gates.known.insert(Gate::Xor(x, y), gate);
                gate
            }
        };
        if flipped { !gate } else { gate }
    }

    /// `yes` if the condition holds, else `no`.
    pub(super) fn choice(&mut self, condition: Lit, yes: Lit, no: Lit) -> Lit {
        if condition == self.yes() || yes == no {
            return yes;
        }
        if condition == self.no() {
            return no;
        }
        if yes == !no {
            return self.xor(condition, no);
        }
        if yes == self.yes() || yes == condition {
            return self.or(condition, no);
        }
        if yes == self.no() || yes == !condition {
            return self.and(!condition, no);
        }
        if no == self.yes() || no == !condition {
            return self.or(!condition, yes);
        }
        if no == self.no() || no == condition {
            return self.and(condition, yes);
        }
        let key = Gate::Choice(condition, yes, no);
        if let Some(&gate) = self.gates.known.get(&key) {
            return gate;
        }
        let gate = self.solver.new_var();
        self.solver.add_clause(&[!condition, !yes, gate]);
        self.solver.add_clause(&[!condition, yes, !gate]);
        self.solver.add_clause(&[condition, !no, gate]);
        self.solver.add_clause(&[condition, no, !gate]);
        // Follow from the others, and let the solver see it when both branches agree.
        self.solver.add_clause(&[!yes, !no, gate]);
        self.solver.add_clause(&[yes, no, !gate]);
        self.gates.known.insert(key, gate);
        gate
    }
}
