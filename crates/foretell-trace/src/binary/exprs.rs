//! Expressions in bytes. Arguments are given by how far back their definition is.

use foretell_varint as varint;

use super::bytes::{Cursor, Fault};
use super::tables::bits;
use crate::expr::{Expr, ExprOp, Exprs, MAX_DEPTH};
use crate::{ExprId, RegId, Register, ThreadId, Value};

const INT: u8 = 0;
const BITS: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const REGISTER: u8 = 4;
/// Operators are numbered from here, in the order of [`OPERATORS`].
const FIRST_OPERATOR: u8 = 16;

macro_rules! operators {
    ($($name:ident)*) => {
        /// The operators without parameters, in the order of their numbers.
        const OPERATORS: &[ExprOp] = &[$(ExprOp::$name),*];

        /// Index of an operator without parameters in [`OPERATORS`].
        enum Operator {
            $($name),*
        }

        fn put_operator(out: &mut Vec<u8>, op: ExprOp) {
            match op {
                $(ExprOp::$name => out.push(FIRST_OPERATOR + Operator::$name as u8),)*
                ExprOp::Extract(high, low) => out.extend([EXTRACT, high, low]),
                ExprOp::ZeroExtend(n) => out.extend([ZERO_EXTEND, n]),
                ExprOp::SignExtend(n) => out.extend([SIGN_EXTEND, n]),
            }
        }
    };
}

// The places are part of the format: append, never reorder.
operators! {
    Add Sub Mul Div Mod Lt Le Gt Ge Eq Distinct Ite And Or Not BvAdd BvSub BvMul BvNeg BvUdiv
    BvUrem BvSdiv BvSrem BvSmod BvAnd BvOr BvXor BvNot BvShl BvLshr BvAshr BvUlt BvUle BvUgt
    BvUge BvSlt BvSle BvSgt BvSge Concat
}

/// The operators with parameters, which follow in the next bytes.
const EXTRACT: u8 = 128;
const ZERO_EXTEND: u8 = 129;
const SIGN_EXTEND: u8 = 130;

/// Writes expression `row` of the table.
pub(super) fn put(out: &mut Vec<u8>, row: u32, exprs: &Exprs) {
    match exprs.get(ExprId(row)) {
        Some(&Expr::Const(Value::Int(i))) => {
            out.push(INT);
            varint::push(out, varint::zigzag(i));
        }
        Some(&Expr::Const(Value::Bits { width, bits })) => {
            out.extend([BITS, width]);
            varint::push(out, bits);
        }
        Some(Expr::Bool(true)) => out.push(TRUE),
        Some(Expr::Bool(false)) | None => out.push(FALSE),
        Some(Expr::Reg(register)) => {
            out.push(REGISTER);
            varint::push(out, u64::from(register.0));
        }
        Some(Expr::App(op, arguments)) => {
            put_operator(out, *op);
            varint::push(out, arguments.len() as u64);
            for argument in arguments {
                varint::push(out, u64::from(row.wrapping_sub(argument.0)));
            }
        }
    }
}

/// Reads the expression that becomes row `row`.
pub(super) fn take(from: &mut Cursor<'_>, row: u32, registers: usize) -> Result<Expr, Fault> {
    let op = match from.byte()? {
        INT => return Ok(Expr::Const(Value::Int(varint::unzigzag(from.varint()?)))),
        BITS => {
            let width = from.byte()?;
            return Ok(Expr::Const(bits(width, from.varint()?)?));
        }
        FALSE => return Ok(Expr::Bool(false)),
        TRUE => return Ok(Expr::Bool(true)),
        REGISTER => {
            let register = from.varint32()?;
            if register as usize >= registers {
                return Err("has an expression over a register that is not defined yet");
            }
            return Ok(Expr::Reg(RegId(register)));
        }
        EXTRACT => ExprOp::Extract(from.byte()?, from.byte()?),
        ZERO_EXTEND => ExprOp::ZeroExtend(from.byte()?),
        SIGN_EXTEND => ExprOp::SignExtend(from.byte()?),
        byte => *byte
            .checked_sub(FIRST_OPERATOR)
            .and_then(|place| OPERATORS.get(usize::from(place)))
            .ok_or("has an expression with an unknown operator")?,
    };
    let count = from.count(1)?;
    let mut arguments = Vec::with_capacity(count);
    for _ in 0..count {
        let back = from.varint32()?;
        if back == 0 || back > row {
            return Err("has an expression over one that is not defined yet");
        }
        arguments.push(ExprId(row - back));
    }
    Ok(Expr::App(op, arguments.into()))
}

/// Facts of an expression, needed to check its users.
#[derive(Clone, Copy)]
pub(super) struct ExprFacts {
    depth: usize,
    /// The thread whose registers it has.
    thread: Option<ThreadId>,
}

impl ExprFacts {
    /// The facts of an expression, given those of all before it.
    pub(super) fn of(
        expr: &Expr,
        known: &[ExprFacts],
        registers: &[Register],
    ) -> Result<Self, Fault> {
        let arguments = match expr {
            Expr::Const(_) | Expr::Bool(_) => return Ok(ExprFacts { depth: 0, thread: None }),
            Expr::Reg(r) => {
                let thread = registers.get(r.index()).map(|register| register.thread);
                return Ok(ExprFacts { depth: 0, thread });
            }
            Expr::App(_, arguments) => arguments,
        };
        let mut facts = ExprFacts { depth: 1, thread: None };
        for argument in arguments.iter().filter_map(|a| known.get(a.index())) {
            facts.depth = facts.depth.max(argument.depth + 1);
            if !argument.fits(facts.thread) {
                return Err("has an expression over the registers of two threads");
            }
            facts.thread = facts.thread.or(argument.thread);
        }
        if facts.depth > MAX_DEPTH {
            return Err("has an expression that is nested too deep");
        }
        Ok(facts)
    }

    /// Whether it has registers of no other thread.
    pub(super) fn fits(self, thread: Option<ThreadId>) -> bool {
        self.thread.is_none() || thread.is_none() || self.thread == thread
    }
}
