//! Variables and literals.

use std::fmt;
use std::ops::Not;

/// A boolean variable, numbered from 0. Variable 0 is the constant *true*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Var(pub(crate) u32);

impl Var {
    /// The variable as an index into per-variable tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A literal: a boolean variable or an atom `x < y`, or the negation of one.
///
/// `!lit` is the opposite literal. Since the order is total, `!less(x, y)` is `less(y, x)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    pub(crate) fn new(var: Var, positive: bool) -> Lit {
        Lit(var.0 << 1 | u32::from(!positive))
    }

    /// The literal stored in the clause arena as the word `code`.
    pub(crate) fn from_code(code: u32) -> Lit {
        Lit(code)
    }

    pub(crate) fn code(self) -> u32 {
        self.0
    }

    pub(crate) fn var(self) -> Var {
        Var(self.0 >> 1)
    }

    pub(crate) fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    /// The literal as an index into per-literal tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", if self.is_positive() { "" } else { "!" }, self.0 >> 1)
    }
}
