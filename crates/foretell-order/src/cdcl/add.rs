//! Clauses that arrive between two searches, while the trail of the last one still stands.
//!
//! Most clauses of a lazy client are false under the last model: that is why they are added. Going
//! back to level 0 for each would throw away thousands of decisions to change one. A new clause
//! goes back only as far as it must: to where it is not false any more, and if it is unit there, it
//! assigns. (CaDiCaL calls this incremental lazy backtracking: Nadel 2022, Fazekas, Biere et al.
//! 2023 on user propagators.)
//!
//! Clauses of one literal are facts, and facts belong to level 0. While the trail stands, a fact is
//! assigned at its end and said to be of level 0 all the same, so that analysis treats it as one;
//! each time the search takes it back with the levels around it, it is put on the trail again,
//! until level 0 is reached.

use super::clauses::ClauseKind;
use super::{Assigned, Core, Reason, Theory};
use crate::lit::Lit;

/// With more facts than this, going back to level 0 is cheaper than carrying them.
const MOST_FACTS: usize = 256;

impl<T: Theory> Core<T> {
    /// Adds a clause; false if the clauses are now known to be unsatisfiable.
    pub(crate) fn add_clause(&mut self, lits: &[Lit]) -> bool {
        if !self.ok {
            return false;
        }
        if let Some(proof) = &mut self.proof {
            proof.add_given(lits);
        }
        let Some(mut lits) = self.simplified(lits) else {
            return true;
        };
        match lits.len() {
            0 => self.ok = false,
            1 => self.add_unit(lits[0]),
            _ => self.attach(&mut lits),
        }
        self.ok
    }

    /// The clause without repeated and false literals; nothing if it is always true.
    fn simplified(&self, lits: &[Lit]) -> Option<Vec<Lit>> {
        let mut lits = lits.to_vec();
        lits.sort_unstable();
        lits.dedup();
        let tautology = lits.windows(2).any(|pair| pair[0] == !pair[1]);
        if tautology || lits.iter().any(|&lit| self.is_fixed(lit) && self.is_true(lit)) {
            return None;
        }
        lits.retain(|&lit| !self.is_fixed(lit));
        Some(lits)
    }

    fn add_unit(&mut self, lit: Lit) {
        if self.level() == 0 || self.facts.len() == MOST_FACTS {
            self.backtrack(0);
            self.assign(lit, Reason::None);
            while self.ok && self.propagate().is_err() {
                self.resolve_conflict();
            }
            return;
        }
        if self.is_false(lit) {
            self.backtrack(self.level_of(lit) as usize - 1);
        }
        self.facts.push(lit);
        self.assign_facts();
    }

    /// Puts the facts that wait for level 0 on the trail, where they are not there.
    pub(super) fn assign_facts(&mut self) {
        for k in 0..self.facts.len() {
            let lit = self.facts[k];
            if self.value(lit) == 0 {
                self.assign(lit, Reason::None);
            }
            self.assigned[lit.var().index()] = Assigned { level: 0, reason: Reason::None };
        }
        if self.level() == 0 {
            self.facts.clear();
        }
    }

    /// Watches the two literals that became false last, if any is false at all, and sees to it that
    /// the first is not false.
    fn attach(&mut self, lits: &mut [Lit]) {
        let age = |lit: Lit| if self.is_false(lit) { self.level_of(lit) } else { u32::MAX };
        for place in 0..2 {
            for k in place + 1..lits.len() {
                if age(lits[k]) > age(lits[place]) {
                    lits.swap(place, k);
                }
            }
        }
        let (first, second) = (lits[0], lits[1]);
        let clause = self.clauses.push(lits, ClauseKind::Given, 0);
        self.given.push(clause);
        self.watch(clause);
        if !self.is_false(second) || self.is_true(first) {
            return;
        }
        let level = self.level_of(second) as usize;
        if self.is_false(first) && self.level_of(first) as usize == level {
            self.backtrack(level - 1);
        } else {
            self.backtrack(level);
            self.assign(first, Reason::Clause(clause));
        }
    }
}
