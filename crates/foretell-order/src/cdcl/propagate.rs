//! Propagation: clauses first (two watched literals, with a blocking literal beside each watch;
//! binary clauses are decided from the watch alone), then one literal for the theory, and again,
//! until both have seen the whole trail.

use super::clauses::Cref;
use super::{Core, Reason, Theory, TheoryConflict};
use crate::lit::Lit;

/// A clause in the list of a literal it watches.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    /// Another literal of the clause: if it is true, nothing is to do. For a binary clause: the
    /// other one.
    blocker: Lit,
    /// The clause; the top bit says that it is binary.
    tagged: u32,
}

const BINARY: u32 = 1 << 31;

impl Watch {
    fn clause(self) -> Cref {
        Cref(self.tagged & !BINARY)
    }

    fn is_binary(self) -> bool {
        self.tagged & BINARY != 0
    }
}

/// `Core::conflict` holds a clause whose literals are all false.
#[derive(Debug)]
pub(crate) struct Conflict;

impl<T: Theory> Core<T> {
    /// Watches the first two literals of a clause.
    pub(super) fn watch(&mut self, clause: Cref) {
        let (a, b) = (self.clauses.lit(clause, 0), self.clauses.lit(clause, 1));
        let tagged = clause.0 | if self.clauses.len(clause) == 2 { BINARY } else { 0 };
        self.watches[a.index()].push(Watch { blocker: b, tagged });
        self.watches[b.index()].push(Watch { blocker: a, tagged });
    }

    pub(super) fn propagate(&mut self) -> Result<(), Conflict> {
        loop {
            while self.clause_head < self.trail.len() {
                foretell_limit::check();
                let lit = self.trail[self.clause_head];
                self.clause_head += 1;
                self.stats.propagations += 1;
                self.visit_watches(!lit)?;
            }
            if self.theory_head == self.trail.len() {
                return Ok(());
            }
            let lit = self.trail[self.theory_head];
            self.theory_head += 1;
            self.assert_in_theory(lit)?;
        }
    }

    fn assert_in_theory(&mut self, lit: Lit) -> Result<(), Conflict> {
        let mut implied = std::mem::take(&mut self.implied);
        let mut conflict = std::mem::take(&mut self.conflict);
        implied.clear();
        conflict.clear();
        let result = self.theory.assert(lit, &mut implied, &mut conflict);
        self.conflict = conflict;
        if let Err(TheoryConflict) = result {
            self.stats.theory_conflicts += 1;
            self.log_lemma_of_conflict();
        } else {
            for &lit in &implied {
                // A literal that is false here stands further up the trail and will be a conflict
                // when the theory comes to it.
                if self.value(lit) == 0 {
                    self.assign_implied(lit);
                }
            }
        }
        self.implied = implied;
        result.map_err(|TheoryConflict| Conflict)
    }

    fn log_lemma_of_conflict(&mut self) {
        if let Some(proof) = &mut self.proof {
            proof.add_lemma(&self.conflict, self.theory.is_valid(&self.conflict));
        }
    }

    /// `lit` has become false: finds another literal to watch for each clause that watches it, or
    /// else assigns the last literal that is left.
    fn visit_watches(&mut self, lit: Lit) -> Result<(), Conflict> {
        let mut list = std::mem::take(&mut self.watches[lit.index()]);
        let mut kept = 0;
        let mut at = 0;
        let mut result = Ok(());
        while at < list.len() {
            let watch = list[at];
            at += 1;
            let blocker = self.value(watch.blocker);
            if blocker > 0 {
                list[kept] = watch;
                kept += 1;
                continue;
            }
            if watch.is_binary() {
                list[kept] = watch;
                kept += 1;
                if blocker < 0 {
                    self.conflict_with(watch.clause());
                    result = Err(Conflict);
                    break;
                }
                self.assign(watch.blocker, Reason::Clause(watch.clause()));
                continue;
            }
            let clause = watch.clause();
            let Some(other) = self.find_new_watch(clause, lit) else {
                continue; // moved to another list
            };
            list[kept] = Watch { blocker: other, ..watch };
            kept += 1;
            match self.value(other) {
                0 => self.assign(other, Reason::Clause(clause)),
                1 => {}
                _ => {
                    self.conflict_with(clause);
                    result = Err(Conflict);
                    break;
                }
            }
        }
        list.copy_within(at.., kept);
        list.truncate(kept + list.len() - at);
        self.watches[lit.index()] = list;
        result
    }

    /// Makes a literal that is not false the second of the clause, in place of `lit`, and watches
    /// it; gives the other watched literal if it is true or if there is none.
    fn find_new_watch(&mut self, clause: Cref, lit: Lit) -> Option<Lit> {
        let values = &self.values;
        let codes = self.clauses.codes_mut(clause);
        if codes[0] == lit.code() {
            codes.swap(0, 1);
        }
        let other = Lit::from_code(codes[0]);
        if values[other.index()] > 0 {
            return Some(other);
        }
        for k in 2..codes.len() {
            if values[codes[k] as usize] >= 0 {
                codes.swap(1, k);
                let new = Lit::from_code(codes[1]);
                self.watches[new.index()].push(Watch { blocker: other, tagged: clause.0 });
                return None;
            }
        }
        Some(other)
    }

    fn conflict_with(&mut self, clause: Cref) {
        self.conflict.clear();
        self.conflict.extend(self.clauses.lits(clause));
        if self.clauses.is_learnt(clause) {
            self.touch(clause);
        }
    }
}
