//! The interface between the search and a theory.

use crate::lit::{Lit, Var};

/// A moment in the life of a theory: the number of facts it held. Taken when it implies a literal,
/// given back when the explanation is asked for, which must use older facts only.
pub(crate) type Stamp = u32;

/// Decides which sets of literals are consistent beyond what the clauses say.
///
/// Literals are asserted in the order of the trail. `new_level` and `backtrack` follow the decision
/// levels of the search.
pub(crate) trait Theory {
    /// `lit` is true now. Pushes the literals that follow to `implied` (possibly ones that are
    /// assigned already). If `lit` is inconsistent with what was asserted before, leaves the theory
    /// as it was and fills `conflict` with a valid clause whose literals are all false.
    fn assert(
        &mut self,
        lit: Lit,
        implied: &mut Vec<Lit>,
        conflict: &mut Vec<Lit>,
    ) -> Result<(), TheoryConflict>;

    /// The present moment.
    fn stamp(&self) -> Stamp;

    /// Pushes to `clause` a valid clause made of `lit` (first) and of literals that were false at
    /// `stamp`.
    fn explain(&mut self, lit: Lit, stamp: Stamp, clause: &mut Vec<Lit>);

    /// The literal of `var` that follows from what is asserted, if one does.
    fn implied(&self, var: Var) -> Option<Lit>;

    /// A decision level begins.
    fn new_level(&mut self);

    /// Only the first `level` decision levels remain.
    fn backtrack(&mut self, level: usize);

    /// Is the clause valid in the theory, by itself? Answered from first principles, without the
    /// data structures of the search: this is what proofs are checked with.
    fn is_valid(&self, clause: &[Lit]) -> bool;
}

/// The asserted literals are inconsistent.
#[derive(Debug)]
pub(crate) struct TheoryConflict;
