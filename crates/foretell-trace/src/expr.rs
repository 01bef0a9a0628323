//! Symbolic expressions over the registers of a thread, in the prefix form of SMT-LIB.
//!
//! Expressions of a trace live in one table and are shared: equal expressions have equal
//! identifiers, and arguments always have smaller identifiers than what uses them, so a pass over
//! the table in order is a pass from the leaves up.
//!
//! [`parse`] reads the prefix form and checks sorts, [`print()`] writes it, [`eval`] computes it
//! (semantics section 6, "Symbolic model"). None of the three recurses. [`parse`] accepts a depth
//! of at most 1000, so that a walk over an expression that was read may recurse.
//!
//! Departures from SMT-LIB: integers are 64-bit and wrap; a negative integer may be written `-5` as
//! well as `(- 5)`; there is no `let`, no `=>` and no `xor`.

mod eval;
mod parse;
mod print;
mod sort;

use rustc_hash::FxHashMap;

pub use eval::{Answer, Evaluator, eval};
pub use parse::parse;
pub(crate) use parse::{MAX_DEPTH, parse_guard, parse_value};
pub use print::{print, print_clipped, print_with};
pub(crate) use sort::sorts;
pub use sort::{Sort, result_sort};

use crate::{ExprId, RegId, Value};

/// An operator of an expression.
///
/// `Add`, `Mul`, `And`, `Or` take one argument or more, `Sub` too (with one it negates); `Eq` and
/// the integer comparisons `Lt` … `Ge` take two or more and hold between all neighbours; `Distinct`
/// takes two or more and holds between all pairs. Every other operator has the arity of its SMT-LIB
/// definition; where SMT-LIB lets one chain (`(bvadd a b c)`, `(div a b c)`), parsing nests
/// two-argument applications to the left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // Named after the SMT-LIB operators they are.
pub enum ExprOp {
    // Integers: 64-bit two's complement, wrapping.
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Lt,
    Le,
    Gt,
    Ge,
    // Any sort.
    Eq,
    Distinct,
    Ite,
    // Truth.
    And,
    Or,
    Not,
    // Bit-vectors.
    BvAdd,
    BvSub,
    BvMul,
    BvNeg,
    BvUdiv,
    BvUrem,
    BvSdiv,
    BvSrem,
    BvSmod,
    BvAnd,
    BvOr,
    BvXor,
    BvNot,
    BvShl,
    BvLshr,
    BvAshr,
    BvUlt,
    BvUle,
    BvUgt,
    BvUge,
    BvSlt,
    BvSle,
    BvSgt,
    BvSge,
    Concat,
    /// `(_ extract high low)`.
    Extract(u8, u8),
    /// `(_ zero_extend n)`.
    ZeroExtend(u8),
    /// `(_ sign_extend n)`.
    SignExtend(u8),
}

/// One node of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A constant integer or bit-vector.
    Const(Value),
    /// `true` or `false`.
    Bool(bool),
    /// The value of a register.
    Reg(RegId),
    /// An operator applied to arguments.
    App(ExprOp, Box<[ExprId]>),
}

/// The expressions of one trace.
#[derive(Clone, Default, Debug)]
pub struct Exprs {
    nodes: Vec<Expr>,
    index: FxHashMap<Expr, ExprId>,
}

impl Exprs {
    /// The identifier of `expr`, adding it if it is new. Its arguments must be in this table.
    pub fn intern(&mut self, expr: Expr) -> ExprId {
        if let Some(&id) = self.index.get(&expr) {
            return id;
        }
        let id = ExprId::from_index(self.nodes.len());
        self.nodes.push(expr.clone());
        self.index.insert(expr, id);
        id
    }

    /// The node behind an identifier; `None` for an identifier of another table.
    pub fn get(&self, id: ExprId) -> Option<&Expr> {
        self.nodes.get(id.index())
    }

    /// All nodes in the order of their identifiers: arguments before what uses them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ExprId, &Expr)> + '_ {
        self.nodes.iter().enumerate().map(|(i, node)| (ExprId::from_index(i), node))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests;
