//! The value of an expression for given register values (semantics section 6, "Symbolic model").
//!
//! Strict: an application with an unknown argument is unknown, also `(and false %u)` and `(* 0
//! %u)`. The one exception is `ite`, which looks at its condition and at the branch that is taken.
//! An application to arguments of the wrong sort is unknown (parsed expressions are well-sorted,
//! but a variable may hold values of different sorts in turn).
//!
//! Every shared part is computed once, so the time is linear in the size of the shared graph.

use crate::expr::sort::result_sort;
use crate::expr::{Expr, ExprOp, Exprs, Sort};
use crate::{ExprId, RegId, Value};

/// Result of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// An integer or a bit-vector.
    Value(Value),
    /// True or false.
    Truth(bool),
    /// It depends on a value that is not known.
    Unknown,
}

impl Answer {
    /// The integer or bit-vector, if it is one.
    pub fn value(self) -> Option<Value> {
        if let Answer::Value(v) = self { Some(v) } else { None }
    }

    /// The truth value, if it is one.
    pub fn truth(self) -> Option<bool> {
        if let Answer::Truth(t) = self { Some(t) } else { None }
    }

    fn sort(self) -> Option<Sort> {
        match self {
            Answer::Value(v) => Some(Sort::of(v)),
            Answer::Truth(_) => Some(Sort::Bool),
            Answer::Unknown => None,
        }
    }
}

/// Evaluates one expression; `register` says what a register holds, `None` if that is unknown.
///
/// To evaluate many, keep an [`Evaluator`].
pub fn eval(exprs: &Exprs, id: ExprId, register: impl FnMut(RegId) -> Option<Value>) -> Answer {
    Evaluator::default().eval(exprs, id, register)
}

/// Evaluates expressions one after the other without allocating for each.
#[derive(Clone, Default, Debug)]
pub struct Evaluator {
    /// For each node, its answer and the round it was computed in.
    memo: Vec<(u64, Answer)>,
    round: u64,
    stack: Vec<ExprId>,
    /// The arguments of the node at hand.
    args: Vec<Answer>,
}

impl Evaluator {
    /// The answer of one expression; `register` says what a register holds, `None` if that is
    /// unknown.
    pub fn eval(
        &mut self,
        exprs: &Exprs,
        id: ExprId,
        mut register: impl FnMut(RegId) -> Option<Value>,
    ) -> Answer {
        if exprs.get(id).is_none() {
            return Answer::Unknown;
        }
        self.round += 1;
        if self.memo.len() <= id.index() {
            self.memo.resize(id.index() + 1, (0, Answer::Unknown));
        }
        self.stack.clear();
        self.stack.push(id);
        while let Some(&top) = self.stack.last() {
            foretell_limit::check();
            if self.known(top).is_none() {
                let answer = match exprs.get(top) {
                    None => Some(Answer::Unknown),
                    Some(Expr::Const(value)) => Some(proper(*value)),
                    Some(Expr::Bool(truth)) => Some(Answer::Truth(*truth)),
                    Some(Expr::Reg(r)) => Some(register(*r).map_or(Answer::Unknown, proper)),
                    Some(Expr::App(ExprOp::Ite, args)) => self.ite(top, args),
                    Some(Expr::App(op, args)) => {
                        self.gather(top, args).then(|| apply(*op, &self.args))
                    }
                };
                match answer {
                    None => continue, // Arguments were pushed and come first.
                    Some(answer) => self.memo[top.index()] = (self.round, answer),
                }
            }
            self.stack.pop();
        }
        self.known(id).unwrap_or(Answer::Unknown)
    }

    /// The answer of a node if it was computed in this round.
    fn known(&self, id: ExprId) -> Option<Answer> {
        self.memo.get(id.index()).filter(|(round, _)| *round == self.round).map(|(_, a)| *a)
    }

    /// The answer of an argument of `user`; asks for it if there is none yet. An argument that does
    /// not come before its user (no parser makes one) is unknown, which also keeps this from going
    /// in circles.
    fn want(&mut self, user: ExprId, arg: ExprId) -> Option<Answer> {
        if arg >= user {
            return Some(Answer::Unknown);
        }
        let known = self.known(arg);
        if known.is_none() {
            self.stack.push(arg);
        }
        known
    }

    fn gather(&mut self, user: ExprId, args: &[ExprId]) -> bool {
        self.args.clear();
        let mut complete = true;
        for &arg in args {
            match self.want(user, arg) {
                Some(answer) => self.args.push(answer),
                None => complete = false,
            }
        }
        complete
    }

    fn ite(&mut self, user: ExprId, args: &[ExprId]) -> Option<Answer> {
        let &[condition, yes, no] = args else { return Some(Answer::Unknown) };
        match self.want(user, condition)? {
            Answer::Truth(true) => self.want(user, yes),
            Answer::Truth(false) => self.want(user, no),
            _ => Some(Answer::Unknown),
        }
    }
}

/// A value as an answer, unless it is no value at all (a width that there is not).
fn proper(value: Value) -> Answer {
    match value {
        Value::Bits { width, .. } if !(1..=64).contains(&width) => Answer::Unknown,
        Value::Bits { width, bits } => {
            Answer::Value(Value::Bits { width, bits: bits & ones(width) })
        }
        int => Answer::Value(int),
    }
}

/// All ones, `width` (1 to 64) of them.
fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width))
}

fn apply(op: ExprOp, args: &[Answer]) -> Answer {
    // Sorts are few: look at them on the stack where the arguments are few too, as they nearly
    // always are.
    let mut few = [Sort::Bool; 8];
    let many: Vec<Sort>;
    let sorts = if args.len() <= few.len() {
        for (sort, arg) in few.iter_mut().zip(args) {
            match arg.sort() {
                Some(s) => *sort = s,
                None => return Answer::Unknown,
            }
        }
        &few[..args.len()]
    } else {
        many = args.iter().filter_map(|a| a.sort()).collect();
        if many.len() < args.len() {
            return Answer::Unknown;
        }
        &many
    };
    match result_sort(op, sorts) {
        Err(_) => Answer::Unknown,
        Ok(sort) => compute(op, args, sort),
    }
}

/// An operator on arguments that are known and of the right sorts; `sort` is that of the result.
fn compute(op: ExprOp, args: &[Answer], sort: Sort) -> Answer {
    use ExprOp::*;
    let answer = match op {
        Add => fold(args, i64::wrapping_add),
        Mul => fold(args, i64::wrapping_mul),
        Sub if args.len() == 1 => int(args[0]).map(|i| Answer::Value(Value::Int(i.wrapping_neg()))),
        Sub => fold(args, i64::wrapping_sub),
        Div => fold(args, |x, y| if y == 0 { 0 } else { x.wrapping_div_euclid(y) }),
        Mod => fold(args, |x, y| if y == 0 { x } else { x.wrapping_rem_euclid(y) }),
        Lt => chain(args, |x, y| x < y),
        Le => chain(args, |x, y| x <= y),
        Gt => chain(args, |x, y| x > y),
        Ge => chain(args, |x, y| x >= y),
        Eq => Some(Answer::Truth(args.windows(2).all(|w| w[0] == w[1]))),
        Distinct => Some(Answer::Truth(distinct(args))),
        And => Some(Answer::Truth(args.iter().all(|a| *a == Answer::Truth(true)))),
        Or => Some(Answer::Truth(args.contains(&Answer::Truth(true)))),
        Not => args[0].truth().map(|t| Answer::Truth(!t)),
        Ite => None, // Evaluated lazily, never by its arguments.
        _ => bit_vector(op, args, sort),
    };
    answer.unwrap_or(Answer::Unknown)
}

fn int(answer: Answer) -> Option<i64> {
    if let Answer::Value(Value::Int(i)) = answer { Some(i) } else { None }
}

fn fold(args: &[Answer], f: impl Fn(i64, i64) -> i64) -> Option<Answer> {
    let (first, rest) = args.split_first()?;
    let sum = rest.iter().try_fold(int(*first)?, |x, y| Some(f(x, int(*y)?)))?;
    Some(Answer::Value(Value::Int(sum)))
}

fn chain(args: &[Answer], holds: impl Fn(i64, i64) -> bool) -> Option<Answer> {
    let ints = args.iter().map(|a| int(*a)).collect::<Option<Vec<_>>>()?;
    Some(Answer::Truth(ints.windows(2).all(|w| holds(w[0], w[1]))))
}

fn distinct(args: &[Answer]) -> bool {
    if args.len() == 2 {
        return args[0] != args[1];
    }
    let mut keys: Vec<u64> = args
        .iter()
        .map(|a| match *a {
            Answer::Value(Value::Int(i)) => i as u64,
            Answer::Value(Value::Bits { bits, .. }) => bits,
            Answer::Truth(t) => u64::from(t),
            Answer::Unknown => 0, // Not reached: arguments are known.
        })
        .collect();
    keys.sort_unstable();
    keys.windows(2).all(|w| w[0] != w[1])
}

fn bit_vector(op: ExprOp, args: &[Answer], sort: Sort) -> Option<Answer> {
    use ExprOp::*;
    let bits = |i: usize| match args.get(i) {
        Some(Answer::Value(Value::Bits { width, bits })) => Some((*width, *bits)),
        _ => None,
    };
    let (w, x) = bits(0)?;
    let (v, y) = bits(1).unwrap_or((w, 0));
    let (sx, sy) = (signed(w, x), signed(v, y));
    let truth = |t: bool| Some(Answer::Truth(t));
    let result = match op {
        BvUlt => return truth(x < y),
        BvUle => return truth(x <= y),
        BvUgt => return truth(x > y),
        BvUge => return truth(x >= y),
        BvSlt => return truth(sx < sy),
        BvSle => return truth(sx <= sy),
        BvSgt => return truth(sx > sy),
        BvSge => return truth(sx >= sy),
        BvAdd => x.wrapping_add(y),
        BvSub => x.wrapping_sub(y),
        BvMul => x.wrapping_mul(y),
        BvNeg => x.wrapping_neg(),
        BvUdiv => x.checked_div(y).unwrap_or(u64::MAX),
        BvUrem => x.checked_rem(y).unwrap_or(x),
        // Division by zero gives −1 for x ≥ 0 and 1 for x < 0: SMT-LIB defines it by the unsigned
        // one.
        BvSdiv if y == 0 => {
            if sx < 0 {
                1
            } else {
                u64::MAX
            }
        }
        BvSdiv => sx.wrapping_div(sy) as u64,
        BvSrem | BvSmod if y == 0 => x,
        BvSrem => sx.wrapping_rem(sy) as u64,
        BvSmod => match sx.wrapping_rem(sy) {
            r if r != 0 && (r < 0) != (sy < 0) => r.wrapping_add(sy) as u64,
            r => r as u64,
        },
        BvAnd => x & y,
        BvOr => x | y,
        BvXor => x ^ y,
        BvNot => !x,
        BvShl if y >= u64::from(w) => 0,
        BvShl => x << y,
        BvLshr if y >= u64::from(w) => 0,
        BvLshr => x >> y,
        BvAshr => (sx >> y.min(63)) as u64,
        Concat => (x << v) | y,
        Extract(_, low) => x >> low,
        ZeroExtend(_) => x,
        SignExtend(_) => sx as u64,
        _ => return None,
    };
    let Sort::Bits(width) = sort else { return None };
    Some(Answer::Value(Value::Bits { width, bits: result & ones(width) }))
}

/// The two's complement reading of `bits`.
fn signed(width: u8, bits: u64) -> i64 {
    let shift = 64 - u32::from(width);
    ((bits << shift) as i64) >> shift
}
