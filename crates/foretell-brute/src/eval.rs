//! Expressions over the registers of a state.

use foretell_trace::ExprId;
use foretell_trace::Value;
use foretell_trace::expr::{Exprs, eval};

/// Whether a guard is known to be true.
pub(crate) fn is_true(exprs: &Exprs, guard: ExprId, registers: &[Option<Value>]) -> bool {
    eval(exprs, guard, |r| registers.get(r.index()).copied().flatten()).truth() == Some(true)
}

/// The value of an expression; `None` where it depends on an unknown one.
pub(crate) fn value(exprs: &Exprs, expr: ExprId, registers: &[Option<Value>]) -> Option<Value> {
    eval(exprs, expr, |r| registers.get(r.index()).copied().flatten()).value()
}
