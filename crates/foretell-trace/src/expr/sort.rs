//! Sorts: what kind of value an expression has, and which arguments an operator takes.

use std::fmt;

use crate::expr::{Expr, ExprOp};
use crate::{Trace, Value};

/// The kind of value an expression has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// A 64-bit integer.
    Int,
    /// A bit-vector of so many bits, 1 to 64.
    Bits(u8),
    /// `true` or `false`; no variable or register has this sort.
    Bool,
}

impl Sort {
    /// The sort of a value.
    pub fn of(value: Value) -> Sort {
        match value {
            Value::Int(_) => Sort::Int,
            Value::Bits { width, .. } => Sort::Bits(width),
        }
    }
}

impl fmt::Display for Sort {
    /// As SMT-LIB writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sort::Int => f.write_str("Int"),
            Sort::Bits(width) => write!(f, "(_ BitVec {width})"),
            Sort::Bool => f.write_str("Bool"),
        }
    }
}

/// The sort of every expression of a trace, by identifier; `None` where one is ill-sorted, which an
/// expression that was parsed never is.
pub(crate) fn sorts(trace: &Trace) -> Vec<Option<Sort>> {
    let mut sorts: Vec<Option<Sort>> = Vec::with_capacity(trace.exprs().len());
    for (_, node) in trace.exprs().iter() {
        let sort = match node {
            Expr::Const(value) => Some(Sort::of(*value)),
            Expr::Bool(_) => Some(Sort::Bool),
            Expr::Reg(r) => Some(trace.register_sort(*r)),
            // An argument that does not come before its user has no sort yet, and gives none.
            Expr::App(op, args) => args
                .iter()
                .map(|a| sorts.get(a.index()).copied().flatten())
                .collect::<Option<Vec<Sort>>>()
                .and_then(|args| result_sort(*op, &args).ok()),
        };
        sorts.push(sort);
    }
    sorts
}

/// The sort of an operator applied to arguments of these sorts.
///
/// # Errors
/// If the sorts do not fit the operator.
pub fn result_sort(op: ExprOp, args: &[Sort]) -> Result<Sort, String> {
    use ExprOp::*;
    let (least, most) = arity(op);
    if args.len() < least || args.len() > most {
        let wanted = match (least, most) {
            (_, usize::MAX) => format!("{least} or more"),
            _ => least.to_string(),
        };
        return Err(format!("`{}` takes {wanted} argument(s), not {}", op.name(), args.len()));
    }
    match op {
        Add | Sub | Mul | Div | Mod => all(op, args, Sort::Int).map(|()| Sort::Int),
        Lt | Le | Gt | Ge => all(op, args, Sort::Int).map(|()| Sort::Bool),
        And | Or | Not => all(op, args, Sort::Bool).map(|()| Sort::Bool),
        Eq | Distinct => all(op, args, args[0]).map(|()| Sort::Bool),
        Ite => {
            all(op, &args[..1], Sort::Bool)?;
            all(op, &args[2..], args[1]).map(|()| args[1])
        }
        BvUlt | BvUle | BvUgt | BvUge | BvSlt | BvSle | BvSgt | BvSge => {
            width(op, args[0])?;
            all(op, args, args[0]).map(|()| Sort::Bool)
        }
        Concat => bits(op, u32::from(width(op, args[0])?) + u32::from(width(op, args[1])?)),
        Extract(high, low) => {
            let width = width(op, args[0])?;
            if low > high || high >= width {
                return Err(format!("`{}` does not fit {width} bits", op.name()));
            }
            Ok(Sort::Bits(high - low + 1))
        }
        ZeroExtend(n) | SignExtend(n) => bits(op, u32::from(width(op, args[0])?) + u32::from(n)),
        BvAdd | BvSub | BvMul | BvNeg | BvUdiv | BvUrem | BvSdiv | BvSrem | BvSmod | BvAnd
        | BvOr | BvXor | BvNot | BvShl | BvLshr | BvAshr => {
            width(op, args[0])?;
            all(op, args, args[0]).map(|()| args[0])
        }
    }
}

/// The least and the most arguments of an operator.
fn arity(op: ExprOp) -> (usize, usize) {
    use ExprOp::*;
    match op {
        Add | Sub | Mul | And | Or => (1, usize::MAX),
        Lt | Le | Gt | Ge | Eq | Distinct => (2, usize::MAX),
        Ite => (3, 3),
        Not | BvNeg | BvNot | Extract(..) | ZeroExtend(_) | SignExtend(_) => (1, 1),
        _ => (2, 2),
    }
}

fn all(op: ExprOp, args: &[Sort], wanted: Sort) -> Result<(), String> {
    match args.iter().find(|&&a| a != wanted) {
        None => Ok(()),
        Some(other) => Err(format!("`{}` wants {wanted} here, not {other}", op.name())),
    }
}

fn width(op: ExprOp, arg: Sort) -> Result<u8, String> {
    match arg {
        Sort::Bits(width) => Ok(width),
        other => Err(format!("`{}` wants a bit-vector, not {other}", op.name())),
    }
}

fn bits(op: ExprOp, width: u32) -> Result<Sort, String> {
    match u8::try_from(width) {
        Ok(width @ 1..=64) => Ok(Sort::Bits(width)),
        _ => Err(format!("`{}` gives {width} bits; 64 is the most", op.name())),
    }
}
