//! Which learnt clauses to keep, and the garbage collection of the arena.
//!
//! Every so many conflicts, half of the clauses go: those over many decision levels (high LBD,
//! Audemard and Simon 2009) first, then long ones. Clauses of two levels stay for good; those that
//! took part in a conflict since the last time stay once more; reasons on the trail must stay.

use super::clauses::{Clauses, Cref};
use super::{Core, Reason, Theory};
use crate::lit::Lit;

/// Clauses with so few levels are never thrown away.
const KEPT_LBD: u32 = 2;

/// Counts conflicts up to the next reduction.
pub(crate) struct Reduce {
    next: u64,
    interval: u64,
    step: u64,
}

impl Reduce {
    /// After `first` conflicts, and then after `step` more each time.
    pub(crate) fn new(first: u64, step: u64) -> Self {
        Reduce { next: first, interval: first, step }
    }

    pub(super) fn due(&mut self, conflicts: u64) -> bool {
        if conflicts < self.next {
            return false;
        }
        self.interval += self.step;
        self.next = conflicts + self.interval;
        true
    }
}

impl<T: Theory> Core<T> {
    pub(super) fn reduce_learnts(&mut self) {
        let learnts = std::mem::take(&mut self.learnts);
        let mut kept = Vec::with_capacity(learnts.len());
        let mut candidates = Vec::new();
        for clause in learnts {
            let used = self.clauses.used(clause);
            if self.clauses.lbd(clause) <= KEPT_LBD || self.is_reason(clause) {
                kept.push(clause);
            } else if used > 0 {
                self.clauses.set_used(clause, used - 1);
                kept.push(clause);
            } else {
                candidates.push(clause);
            }
        }
        candidates.sort_by_key(|&clause| (self.clauses.lbd(clause), self.clauses.len(clause)));
        let keep = candidates.len() / 2;
        self.stats.deleted += (candidates.len() - keep) as u64;
        kept.extend_from_slice(&candidates[..keep]);
        kept.sort_unstable_by_key(|clause| clause.0);
        self.learnts = kept;
        self.collect_garbage();
    }

    /// Is it why its first literal is true? (Clauses of more than two literals have the implied one
    /// first.)
    fn is_reason(&self, clause: Cref) -> bool {
        let lit = self.clauses.lit(clause, 0);
        self.is_true(lit) && self.assigned[lit.var().index()].reason == Reason::Clause(clause)
    }

    /// Copies what is still needed to a new arena, without clauses that are true for good and
    /// without explanations that are not reasons any more.
    pub(super) fn collect_garbage(&mut self) {
        let old = std::mem::take(&mut self.clauses);
        let mut new = Clauses::default();
        let mut reasons: Vec<(Lit, Cref)> = Vec::new();
        for &lit in &self.trail {
            if let Reason::Clause(clause) = self.assigned[lit.var().index()].reason {
                reasons.push((lit, clause));
            }
        }
        reasons.sort_unstable_by_key(|&(_, clause)| clause.0);
        let fixed_true =
            |clause: Cref| old.lits(clause).any(|lit| self.is_true(lit) && self.is_fixed(lit));
        let mut moved: Vec<(u32, Cref)> = Vec::new();
        let mut lists = [
            (&self.given, Vec::new()),
            (&self.learnts, Vec::new()),
            (&self.explanations, Vec::new()),
        ];
        for (kind, (from, to)) in lists.iter_mut().enumerate() {
            for &clause in from.iter() {
                let needed = reasons.binary_search_by_key(&clause.0, |&(_, c)| c.0).is_ok();
                if needed || kind < 2 && !fixed_true(clause) {
                    let place = old.copy_to(clause, &mut new);
                    if needed {
                        moved.push((clause.0, place));
                    }
                    to.push(place);
                }
            }
        }
        let [given, learnts, explanations] = lists.map(|(_, to)| to);
        (self.given, self.learnts, self.explanations) = (given, learnts, explanations);
        self.clauses = new;
        moved.sort_unstable_by_key(|&(from, _)| from);
        for (lit, clause) in reasons {
            if let Ok(at) = moved.binary_search_by_key(&clause.0, |&(from, _)| from) {
                self.assigned[lit.var().index()].reason = Reason::Clause(moved[at].1);
            }
        }
        self.watch_all_again();
    }

    fn watch_all_again(&mut self) {
        for list in &mut self.watches {
            list.clear();
        }
        for k in 0..self.given.len() {
            self.watch(self.given[k]);
        }
        for k in 0..self.learnts.len() {
            self.watch(self.learnts[k]);
        }
    }
}
