//! Expressions to text: the prefix form that [`parse`](super::parse) reads.

use std::fmt::Write;

use crate::expr::{Expr, ExprOp, Exprs};
use crate::{ExprId, RegId, Trace};

/// An expression of a trace as its text writes it, registers as `%name`.
///
/// The text spells every shared part out: it is as long as the expression is as a tree.
pub fn print(trace: &Trace, id: ExprId) -> String {
    print_at_most(trace.exprs(), id, |r| register_text(trace, r), usize::MAX)
}

/// [`print()`] for people: a long text, which a small expression with shared parts may have too,
/// ends with dots.
pub fn print_clipped(trace: &Trace, id: ExprId) -> String {
    print_at_most(trace.exprs(), id, |r| register_text(trace, r), MOST_SHOWN)
}

/// Returns the prefix form of an expression, with registers named by `register`.
pub fn print_with(exprs: &Exprs, id: ExprId, register: impl Fn(RegId) -> String) -> String {
    print_at_most(exprs, id, register, usize::MAX)
}

/// Bytes of a text for people.
const MOST_SHOWN: usize = 4096;

fn register_text(trace: &Trace, r: RegId) -> String {
    let known = r.index() < trace.register_count();
    format!("%{}", if known { trace.register_name(r) } else { "?" })
}

fn print_at_most(
    exprs: &Exprs,
    id: ExprId,
    register: impl Fn(RegId) -> String,
    most: usize,
) -> String {
    enum Piece {
        Expr(ExprId),
        Text(&'static str),
    }
    let mut text = String::new();
    let mut pieces = vec![Piece::Expr(id)];
    while let Some(piece) = pieces.pop() {
        foretell_limit::check();
        if text.len() > most {
            text.push_str(" …");
            break;
        }
        let id = match piece {
            Piece::Text(t) => {
                text.push_str(t);
                continue;
            }
            Piece::Expr(id) => id,
        };
        match exprs.get(id) {
            None => text.push('?'),
            Some(Expr::Const(value)) => {
                let _ = write!(text, "{value}"); // Writing to a string does not fail.
            }
            Some(Expr::Bool(truth)) => text.push_str(if *truth { "true" } else { "false" }),
            Some(Expr::Reg(r)) => text.push_str(&register(*r)),
            Some(Expr::App(op, args)) => {
                text.push('(');
                text.push_str(&op.name());
                pieces.push(Piece::Text(")"));
                for &arg in args.iter().rev() {
                    // An argument that does not come before its user would never end.
                    pieces.push(if arg < id { Piece::Expr(arg) } else { Piece::Text("?") });
                    pieces.push(Piece::Text(" "));
                }
            }
        }
    }
    text
}

impl ExprOp {
    /// The operator as SMT-LIB writes it, in front of its arguments.
    pub fn name(self) -> String {
        match self {
            ExprOp::Extract(high, low) => format!("(_ extract {high} {low})"),
            ExprOp::ZeroExtend(n) => format!("(_ zero_extend {n})"),
            ExprOp::SignExtend(n) => format!("(_ sign_extend {n})"),
            plain => PLAIN.iter().find(|(op, _)| *op == plain).map_or("?", |(_, n)| n).to_owned(),
        }
    }

    /// The operator with this SMT-LIB name, if it is one without indices.
    pub(super) fn plain(name: &str) -> Option<ExprOp> {
        PLAIN.iter().find(|(_, n)| *n == name).map(|(op, _)| *op)
    }
}

/// Every operator without indices.
const PLAIN: [(ExprOp, &str); 40] = [
    (ExprOp::Add, "+"),
    (ExprOp::Sub, "-"),
    (ExprOp::Mul, "*"),
    (ExprOp::Div, "div"),
    (ExprOp::Mod, "mod"),
    (ExprOp::Lt, "<"),
    (ExprOp::Le, "<="),
    (ExprOp::Gt, ">"),
    (ExprOp::Ge, ">="),
    (ExprOp::Eq, "="),
    (ExprOp::Distinct, "distinct"),
    (ExprOp::Ite, "ite"),
    (ExprOp::And, "and"),
    (ExprOp::Or, "or"),
    (ExprOp::Not, "not"),
    (ExprOp::BvAdd, "bvadd"),
    (ExprOp::BvSub, "bvsub"),
    (ExprOp::BvMul, "bvmul"),
    (ExprOp::BvNeg, "bvneg"),
    (ExprOp::BvUdiv, "bvudiv"),
    (ExprOp::BvUrem, "bvurem"),
    (ExprOp::BvSdiv, "bvsdiv"),
    (ExprOp::BvSrem, "bvsrem"),
    (ExprOp::BvSmod, "bvsmod"),
    (ExprOp::BvAnd, "bvand"),
    (ExprOp::BvOr, "bvor"),
    (ExprOp::BvXor, "bvxor"),
    (ExprOp::BvNot, "bvnot"),
    (ExprOp::BvShl, "bvshl"),
    (ExprOp::BvLshr, "bvlshr"),
    (ExprOp::BvAshr, "bvashr"),
    (ExprOp::BvUlt, "bvult"),
    (ExprOp::BvUle, "bvule"),
    (ExprOp::BvUgt, "bvugt"),
    (ExprOp::BvUge, "bvuge"),
    (ExprOp::BvSlt, "bvslt"),
    (ExprOp::BvSle, "bvsle"),
    (ExprOp::BvSgt, "bvsgt"),
    (ExprOp::BvSge, "bvsge"),
    (ExprOp::Concat, "concat"),
];
