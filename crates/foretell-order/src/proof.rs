//! Checks every step of the solver while it runs.
//!
//! In self-checking mode the solver hands over each clause it is given, each lemma of the theory
//! and each clause it derives. A lemma must be valid in the order by itself, which the theory
//! answers from first principles. A derived clause must follow from the earlier ones by reverse
//! unit propagation (RUP: assume all its literals false, propagate units, arrive at a conflict;
//! Goldberg and Novikov 2003). The propagation here is naive on purpose and shares nothing with the
//! one it checks.

use crate::lit::Lit;

pub(crate) struct Proof {
    clauses: Vec<Vec<Lit>>,
}

impl Proof {
    pub(crate) fn new() -> Self {
        Proof { clauses: Vec::new() }
    }

    /// A clause of the client.
    pub(crate) fn add_given(&mut self, lits: &[Lit]) {
        let mut lits = lits.to_vec();
        lits.sort_unstable();
        lits.dedup();
        self.clauses.push(lits);
    }

    /// A lemma of the theory, and whether it is valid.
    ///
    /// # Panics
    /// If it is not: the theory is wrong.
    pub(crate) fn add_lemma(&mut self, lits: &[Lit], valid: bool) {
        assert!(valid, "the order does not imply the lemma {lits:?}");
        self.clauses.push(lits.to_vec());
    }

    /// A clause that is said to follow from those before.
    ///
    /// # Panics
    /// If unit propagation does not show it: the search is wrong.
    pub(crate) fn add_derived(&mut self, lits: &[Lit]) {
        assert!(self.follows(lits), "the clause {lits:?} does not follow by unit propagation");
        self.clauses.push(lits.to_vec());
    }

    fn follows(&self, lits: &[Lit]) -> bool {
        let most = self.clauses.iter().flatten().chain(lits).map(|lit| lit.index()).max();
        let mut truths = vec![false; most.unwrap_or(0).max(1) + 2];
        truths[0] = true; // variable 0 is the constant
        for &lit in lits {
            truths[(!lit).index()] = true;
        }
        if lits.iter().any(|&lit| truths[lit.index()]) {
            return true;
        }
        loop {
            let mut changed = false;
            for clause in &self.clauses {
                if clause.iter().any(|lit| truths[lit.index()]) {
                    continue;
                }
                let mut open = clause.iter().filter(|&&lit| !truths[(!lit).index()]);
                match (open.next(), open.next()) {
                    (None, _) => return true,
                    (Some(&unit), None) => {
                        truths[unit.index()] = true;
                        changed = true;
                    }
                    _ => {}
                }
            }
            if !changed {
                return false;
            }
        }
    }
}
