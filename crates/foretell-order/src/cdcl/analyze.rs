//! Conflict analysis.
//!
//! From the clause that became false, resolve with reasons, latest literal first, until one literal
//! of the last level is left (the first unique implication point, GRASP and Chaff); drop literals
//! that the others imply (recursive minimization, Sörensson and Biere 2009); go back to where the
//! clause becomes unit.
//!
//! Reasons the theory owes are made when they are met here. Two things are unusual: a conflict may
//! belong to a level below the present one, and an implied literal may stand on a higher level than
//! its reason needs, both because clauses, atoms and nodes arrive between two searches without
//! going back to level 0. The first is met by going back to the level of the conflict before
//! analysis; the second needs nothing.

use super::clauses::{ClauseKind, Cref};
use super::{Core, Reason, Stamp, Theory};
use crate::lit::{Lit, Var};

/// Vectors that are used again for each conflict.
#[derive(Default)]
pub(crate) struct Scratch {
    learnt: Vec<Lit>,
    to_clear: Vec<Var>,
    /// Variables known not to be removable, in this minimization.
    poison: Vec<bool>,
    poisoned: Vec<Var>,
    work: Vec<(Var, u32)>,
    clause: Vec<Lit>,
    /// By level: the last conflict that counted it.
    level_mark: Vec<u64>,
}

impl<T: Theory> Core<T> {
    /// Learns from `self.conflict` and goes on; clears `ok` if nothing can be done.
    pub(super) fn resolve_conflict(&mut self) {
        self.stats.conflicts += 1;
        self.restart.on_conflict();
        let level = self.conflict.iter().map(|&lit| self.level_of(lit)).max().unwrap_or(0);
        if level == 0 {
            self.ok = false;
            return;
        }
        self.backtrack(level as usize);
        self.derive_learnt();
        self.minimize();
        self.use_learnt();
        self.decide.decay();
    }

    /// Fills `scratch.learnt`; its first literal is the one of the last level.
    fn derive_learnt(&mut self) {
        let mut learnt = std::mem::take(&mut self.scratch.learnt);
        learnt.clear();
        learnt.push(Lit::new(Var(0), true)); // place for the last one
        let conflict = std::mem::take(&mut self.conflict);
        let mut open = 0;
        for &lit in &conflict {
            open += self.meet(lit, &mut learnt);
        }
        self.conflict = conflict;
        let mut at = self.trail.len();
        let last = loop {
            at -= 1;
            let lit = self.trail[at];
            if !self.seen[lit.var().index()] {
                continue;
            }
            open -= 1;
            if open == 0 {
                break lit;
            }
            if let Some(reason) = self.reason_of(lit.var()) {
                self.touch(reason);
                for k in 0..self.clauses.len(reason) {
                    let other = self.clauses.lit(reason, k);
                    if other != lit {
                        open += self.meet(other, &mut learnt);
                    }
                }
            }
        };
        learnt[0] = !last;
        self.scratch.learnt = learnt;
    }

    /// Takes a false literal into the resolvent; 1 if it is of the last level.
    fn meet(&mut self, lit: Lit, learnt: &mut Vec<Lit>) -> u32 {
        let var = lit.var();
        let level = self.level_of(lit);
        if level == 0 || self.seen[var.index()] {
            return 0;
        }
        self.seen[var.index()] = true;
        self.scratch.to_clear.push(var);
        self.decide.bump(var);
        if level as usize == self.level() {
            return 1;
        }
        learnt.push(lit);
        0
    }

    /// Removes the literals that the others imply.
    fn minimize(&mut self) {
        let mut learnt = std::mem::take(&mut self.scratch.learnt);
        self.scratch.poison.resize(self.assigned.len(), false);
        let mut kept = 1;
        for k in 1..learnt.len() {
            let lit = learnt[k];
            if !self.is_redundant(lit.var()) {
                learnt[kept] = lit;
                kept += 1;
            }
        }
        learnt.truncate(kept);
        self.scratch.learnt = learnt;
        for var in self.scratch.to_clear.drain(..) {
            self.seen[var.index()] = false;
        }
        for var in self.scratch.poisoned.drain(..) {
            self.scratch.poison[var.index()] = false;
        }
    }

    /// Do the marked literals imply that of `var`? Depth first through the reasons; what turns out
    /// to be implied is marked, what does not is poisoned, so that each variable is visited once.
    fn is_redundant(&mut self, var: Var) -> bool {
        if self.assigned[var.index()].reason == Reason::None {
            return false;
        }
        let mut work = std::mem::take(&mut self.scratch.work);
        work.clear();
        work.push((var, 0));
        let mut redundant = true;
        'search: while let Some(&(var, from)) = work.last() {
            let Some(reason) = self.reason_of(var) else {
                redundant = false;
                break;
            };
            for k in from as usize..self.clauses.len(reason) {
                let other = self.clauses.lit(reason, k).var();
                let state = self.assigned[other.index()];
                if other == var || state.level == 0 || self.seen[other.index()] {
                    continue;
                }
                if state.reason == Reason::None || self.scratch.poison[other.index()] {
                    redundant = false;
                    break 'search;
                }
                if let Some(top) = work.last_mut() {
                    top.1 = k as u32 + 1;
                }
                work.push((other, 0));
                continue 'search;
            }
            work.pop();
            if !self.seen[var.index()] {
                self.seen[var.index()] = true;
                self.scratch.to_clear.push(var);
            }
        }
        for (var, _) in work.drain(..) {
            self.scratch.poison[var.index()] = true;
            self.scratch.poisoned.push(var);
        }
        self.scratch.work = work;
        redundant
    }

    /// Stores the learnt clause, goes back to where it is unit and assigns its first literal.
    fn use_learnt(&mut self) {
        let mut learnt = std::mem::take(&mut self.scratch.learnt);
        self.stats.learnt += 1;
        if let Some(proof) = &mut self.proof {
            proof.add_derived(&learnt);
        }
        let lbd = self.count_levels(&learnt);
        if learnt.len() == 1 {
            self.backtrack(0);
            self.assign(learnt[0], Reason::None);
        } else {
            let mut second = 1;
            for k in 2..learnt.len() {
                if self.level_of(learnt[k]) > self.level_of(learnt[second]) {
                    second = k;
                }
            }
            learnt.swap(1, second);
            self.backtrack(self.level_of(learnt[1]) as usize);
            let clause = self.clauses.push(&learnt, ClauseKind::Learnt, lbd);
            self.clauses.set_used(clause, 1);
            self.learnts.push(clause);
            self.watch(clause);
            self.assign(learnt[0], Reason::Clause(clause));
        }
        self.scratch.learnt = learnt;
    }

    /// The number of decision levels in a clause whose literals are assigned (its LBD).
    fn count_levels(&mut self, lits: &[Lit]) -> u32 {
        self.scratch.level_mark.resize(self.level() + 1, 0);
        let now = self.stats.conflicts;
        let mut count = 0;
        for &lit in lits {
            let mark =
                &mut self.scratch.level_mark[self.assigned[lit.var().index()].level as usize];
            count += u32::from(*mark != now);
            *mark = now;
        }
        count
    }

    /// A learnt clause took part in a conflict: protect it from the next reductions.
    pub(super) fn touch(&mut self, clause: Cref) {
        if self.clauses.is_learnt(clause) {
            let used = if self.clauses.lbd(clause) <= 6 { 2 } else { 1 };
            self.clauses.set_used(clause, used);
        }
    }

    /// The clause that made the variable's literal true, or nothing if it was decided.
    fn reason_of(&mut self, var: Var) -> Option<Cref> {
        match self.assigned[var.index()].reason {
            Reason::None => None,
            Reason::Clause(clause) => Some(clause),
            Reason::Theory(stamp) => Some(self.explanation_of(var, stamp)),
        }
    }

    /// Asks the theory why it implied the literal of `var` and keeps the answer as its reason.
    pub(super) fn explanation_of(&mut self, var: Var, stamp: Stamp) -> Cref {
        self.stats.explanations += 1;
        let lit = Lit::new(var, self.values[Lit::new(var, true).index()] > 0);
        let mut lits = std::mem::take(&mut self.scratch.clause);
        lits.clear();
        self.theory.explain(lit, stamp, &mut lits);
        if let Some(proof) = &mut self.proof {
            proof.add_lemma(&lits, self.theory.is_valid(&lits));
        }
        let clause = self.clauses.push(&lits, ClauseKind::Explanation, 0);
        self.explanations.push(clause);
        self.scratch.clause = lits;
        self.assigned[var.index()].reason = Reason::Clause(clause);
        clause
    }

    /// `assumption` is false: collects the assumptions that made it so.
    pub(super) fn analyze_failed(&mut self, assumption: Lit) {
        self.core.push(assumption);
        if self.level_of(assumption) == 0 {
            return;
        }
        self.seen[assumption.var().index()] = true;
        let start = self.level_starts[0] as usize;
        for at in (start..self.trail.len()).rev() {
            let lit = self.trail[at];
            if !std::mem::take(&mut self.seen[lit.var().index()]) {
                continue;
            }
            match self.reason_of(lit.var()) {
                None => self.core.push(lit),
                Some(reason) => {
                    for k in 0..self.clauses.len(reason) {
                        let other = self.clauses.lit(reason, k);
                        if other != lit && self.level_of(other) > 0 {
                            self.seen[other.var().index()] = true;
                        }
                    }
                }
            }
        }
        self.core.sort_unstable();
        self.core.dedup();
    }

    /// In self-checking mode: the clauses must imply that one of the failed assumptions is false.
    pub(super) fn check_core(&mut self) {
        if let Some(proof) = &mut self.proof {
            let clause: Vec<Lit> = self.core.iter().map(|&lit| !lit).collect();
            proof.add_derived(&clause);
        }
    }
}
