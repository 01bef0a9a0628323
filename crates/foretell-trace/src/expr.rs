//! Symbolic expressions over the registers of a thread, in the prefix form of SMT-LIB.
//!
//! Expressions of a trace live in one table and are shared: equal expressions have equal
//! identifiers, and arguments always have smaller identifiers than what uses them, so a pass over
//! the table in order is a pass from the leaves up.

use rustc_hash::FxHashMap;

use crate::{ExprId, RegId, Value};

/// An operator of an expression.
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

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
