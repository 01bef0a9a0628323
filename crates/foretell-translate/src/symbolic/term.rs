//! Values of a recorded path: the recorded value, and the value for other values of shared reads.
//!
//! | part of a [`Term`] | content |
//! |---|---|
//! | `bits` | recorded value |
//! | `expr` | expression over the registers of its thread, if it depends on a shared read |
//! | `pins` | conditions under which the other two are right |
//!
//! Pins come from values that the rebuild does not understand: such a value is the recorded one as
//! long as the values it was computed from are. Before a term is used where another thread can see
//! it (an event, a branch, an address), its pins go into the trace as guards. So no value that
//! depends on a shared read is taken for a constant.

use std::rc::Rc;

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{ExprId, TraceBuilder, Value};
use rustc_hash::FxHashMap;

use foretell_build::symbolic::ir::{Binary, Cast, Predicate};

/// Conditions, in ascending order.
pub(crate) type Pins = Option<Rc<[ExprId]>>;

/// A value of the path.
#[derive(Clone, Default, Debug)]
pub(crate) struct Term {
    pub(crate) bits: Option<u64>,
    /// Never without `bits`.
    pub(crate) expr: Option<ExprId>,
    pub(crate) pins: Pins,
}

impl Term {
    pub(crate) fn constant(bits: u64) -> Term {
        Term { bits: Some(bits), ..Term::default() }
    }

    /// Whether it depends on a shared read.
    pub(crate) fn is_symbolic(&self) -> bool {
        self.expr.is_some() || self.pins.is_some()
    }
}

/// Returns the union of two sets of conditions.
pub(crate) fn union(a: &Pins, b: &Pins) -> Pins {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Some(a.clone()),
        (Some(a), Some(b)) => pins(a.iter().chain(b.iter()).copied().collect()),
    }
}

/// Returns the set of these conditions.
pub(crate) fn pins(mut conditions: Vec<ExprId>) -> Pins {
    conditions.sort_unstable();
    conditions.dedup();
    (!conditions.is_empty()).then(|| conditions.into())
}

/// Maximum depth and size of an expression; the values of larger ones are pinned instead.
const DEEPEST: u32 = 200;
const LARGEST: u32 = 4000;

/// Returns a value with all bits of `width` set.
pub(crate) fn ones(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width.clamp(1, 64)))
}

pub(crate) fn signed(width: u8, bits: u64) -> i64 {
    let shift = 64 - u32::from(width.clamp(1, 64));
    ((bits << shift) as i64) >> shift
}

/// Factory of expressions. An integer of one bit is a truth value, every other a bit-vector.
#[derive(Default)]
pub(crate) struct Terms {
    /// Depth and size of each expression made here.
    sizes: FxHashMap<ExprId, (u32, u32)>,
}

impl Terms {
    /// Returns the conditions under which a term has its recorded value.
    pub(crate) fn pinned(&mut self, b: &mut TraceBuilder, term: &Term, width: u8) -> Pins {
        let (Some(expr), Some(bits)) = (term.expr, term.bits) else { return term.pins.clone() };
        let pin = match self.equals(b, expr, width, bits) {
            Folded::Expr(pin) => pins(vec![pin]),
            Folded::Truth(_) => None,
        };
        union(&term.pins, &pin)
    }

    /// Returns the condition `expr = bits`.
    fn equals(&mut self, b: &mut TraceBuilder, expr: ExprId, width: u8, bits: u64) -> Folded {
        if width == 1 {
            let expr = if bits & 1 == 1 { expr } else { self.not(b, expr) };
            return Folded::Expr(expr);
        }
        let constant = self.number(b, width, bits);
        self.relation(b, Predicate::Eq, width, expr, constant)
    }

    /// Returns a constant.
    pub(crate) fn number(&mut self, b: &mut TraceBuilder, width: u8, bits: u64) -> ExprId {
        let bits = bits & ones(width);
        b.exprs().intern(match width {
            1 => Expr::Bool(bits == 1),
            _ => Expr::Const(Value::Bits { width, bits }),
        })
    }

    /// Returns the value of an expression that is a constant.
    fn as_number(&self, b: &TraceBuilder, id: ExprId) -> Option<u64> {
        match b.trace().exprs().get(id)? {
            Expr::Const(Value::Bits { bits, .. }) => Some(*bits),
            Expr::Bool(truth) => Some(u64::from(*truth)),
            _ => None,
        }
    }

    /// Returns the condition and the constants of an expression like `(ite c 1 0)`.
    fn as_choice(&self, b: &TraceBuilder, id: ExprId) -> Option<(ExprId, u64, u64)> {
        let (ExprOp::Ite, args) = self.as_app(b, id)? else { return None };
        Some((args[0], self.as_number(b, args[1])?, self.as_number(b, args[2])?))
    }

    fn as_app<'t>(&self, b: &'t TraceBuilder, id: ExprId) -> Option<(ExprOp, &'t [ExprId])> {
        match b.trace().exprs().get(id)? {
            Expr::App(op, args) => Some((*op, args)),
            _ => None,
        }
    }

    fn size(&self, id: ExprId) -> (u32, u32) {
        self.sizes.get(&id).copied().unwrap_or((1, 1))
    }

    pub(crate) fn app(&mut self, b: &mut TraceBuilder, op: ExprOp, args: &[ExprId]) -> ExprId {
        let id = b.exprs().intern(Expr::App(op, args.into()));
        let (mut depth, mut size) = (0, 1u32);
        for arg in args {
            let (d, s) = self.size(*arg);
            (depth, size) = (depth.max(d), size.saturating_add(s));
        }
        self.sizes.insert(id, (depth + 1, size));
        id
    }

    /// Whether an expression is too large for further use.
    pub(crate) fn is_large(&self, id: ExprId) -> bool {
        let (depth, size) = self.size(id);
        depth > DEEPEST || size > LARGEST
    }

    pub(crate) fn not(&mut self, b: &mut TraceBuilder, id: ExprId) -> ExprId {
        use ExprOp::*;
        if let Some(bits) = self.as_number(b, id) {
            return self.number(b, 1, bits ^ 1);
        }
        let opposite = self.as_app(b, id).and_then(|(op, args)| {
            let op = match op {
                Not => return Some(Err(args[0])),
                Eq => Distinct,
                Distinct => Eq,
                BvSlt => BvSge,
                BvSge => BvSlt,
                BvSgt => BvSle,
                BvSle => BvSgt,
                BvUlt => BvUge,
                BvUge => BvUlt,
                BvUgt => BvUle,
                BvUle => BvUgt,
                _ => return None,
            };
            Some(Ok((op, args.to_vec())))
        });
        match opposite {
            Some(Err(inner)) => inner,
            Some(Ok((op, args))) => self.app(b, op, &args),
            None => self.app(b, Not, &[id]),
        }
    }

    /// Returns the expression of a term.
    pub(crate) fn expr(&mut self, b: &mut TraceBuilder, term: &Term, width: u8) -> Option<ExprId> {
        match term.expr {
            Some(expr) => Some(expr),
            None => term.bits.map(|bits| self.number(b, width, bits)),
        }
    }

    /// Returns the term of a value that is computed from these in a way that is not understood.
    pub(crate) fn opaque<'t>(
        &mut self,
        b: &mut TraceBuilder,
        of: impl IntoIterator<Item = (&'t Term, u8)>,
    ) -> Term {
        let mut all = None;
        for (term, width) in of {
            let pins = self.pinned(b, term, width);
            all = union(&all, &pins);
        }
        Term { pins: all, ..Term::default() }
    }

    pub(crate) fn binary(
        &mut self,
        b: &mut TraceBuilder,
        op: Binary,
        width: u8,
        x: &Term,
        y: &Term,
    ) -> Term {
        let bits = match (x.bits, y.bits) {
            (Some(x), Some(y)) => compute(op, width, x, y),
            _ => None,
        };
        let pins = union(&x.pins, &y.pins);
        if bits.is_some() && x.expr.is_none() && y.expr.is_none() {
            return Term { bits, expr: None, pins };
        }
        let operator = operator(op, width);
        let (Some(_), Some(operator), Some(ex), Some(ey)) =
            (bits, operator, self.expr(b, x, width), self.expr(b, y, width))
        else {
            return self.opaque(b, [(x, width), (y, width)]);
        };
        let neutral = |id| match op {
            Binary::And => self.as_number(b, id) == Some(ones(width)),
            Binary::Mul => self.as_number(b, id) == Some(1),
            _ => self.as_number(b, id) == Some(0),
        };
        let commutes =
            matches!(op, Binary::Add | Binary::Mul | Binary::And | Binary::Or | Binary::Xor);
        let divides = matches!(op, Binary::Udiv | Binary::Sdiv | Binary::Urem | Binary::Srem);
        let expr = if !divides && neutral(ey) {
            ex
        } else if commutes && neutral(ex) {
            ey
        } else if width == 1 && op == Binary::Xor {
            match (self.as_number(b, ex), self.as_number(b, ey)) {
                (Some(_), _) => self.not(b, ey),
                (_, Some(_)) => self.not(b, ex),
                _ => self.app(b, ExprOp::Distinct, &[ex, ey]),
            }
        } else if let (Binary::Add, Some((inner, k)), Some(more)) =
            (op, self.as_sum(b, ex), self.as_number(b, ey))
        {
            // Offsets in structures and arrays are added up.
            match k.wrapping_add(more) & ones(width) {
                0 => inner,
                k => {
                    let k = self.number(b, width, k);
                    self.app(b, operator, &[inner, k])
                }
            }
        } else {
            self.app(b, operator, &[ex, ey])
        };
        Term { bits, expr: Some(expr), pins }
    }

    /// Returns the condition on the operand inside `x` that is equivalent to `x = k`, if there is
    /// one.
    fn inverse(&self, b: &TraceBuilder, width: u8, x: ExprId, k: u64) -> Option<(ExprId, u8, u64)> {
        let (op, args) = self.as_app(b, x)?;
        let inner = *args.first()?;
        match op {
            ExprOp::BvAdd => {
                let by = self.as_number(b, args[1])?;
                Some((inner, width, k.wrapping_sub(by) & ones(width)))
            }
            ExprOp::BvSub => {
                let by = self.as_number(b, args[1])?;
                Some((inner, width, k.wrapping_add(by) & ones(width)))
            }
            ExprOp::ZeroExtend(by) => {
                let narrow = width - by;
                (narrow > 1 && k <= ones(narrow)).then_some((inner, narrow, k))
            }
            ExprOp::SignExtend(by) => {
                let (narrow, low) = (width - by, k & ones(width - by));
                let same = signed(narrow, low) as u64 & ones(width) == k;
                (narrow > 1 && same).then_some((inner, narrow, low))
            }
            _ => None,
        }
    }

    /// Returns the parts of `(bvadd x 8)`.
    fn as_sum(&self, b: &TraceBuilder, id: ExprId) -> Option<(ExprId, u64)> {
        let (ExprOp::BvAdd, args) = self.as_app(b, id)? else { return None };
        Some((args[0], self.as_number(b, args[1])?))
    }

    pub(crate) fn compare(
        &mut self,
        b: &mut TraceBuilder,
        predicate: Predicate,
        width: u8,
        x: &Term,
        y: &Term,
    ) -> Term {
        let pins = union(&x.pins, &y.pins);
        let bits = match (x.bits, y.bits) {
            (Some(x), Some(y)) => Some(u64::from(holds(predicate, width, x, y))),
            _ => None,
        };
        if bits.is_some() && x.expr.is_none() && y.expr.is_none() {
            return Term { bits, expr: None, pins };
        }
        let known = width > 1 || matches!(predicate, Predicate::Eq | Predicate::Ne);
        let (Some(bits), true, Some(ex), Some(ey)) =
            (bits, known, self.expr(b, x, width), self.expr(b, y, width))
        else {
            return self.opaque(b, [(x, width), (y, width)]);
        };
        match self.relation(b, predicate, width, ex, ey) {
            Folded::Expr(expr) => Term { bits: Some(bits), expr: Some(expr), pins },
            Folded::Truth(truth) => Term { bits: Some(u64::from(truth)), expr: None, pins },
        }
    }

    fn relation(
        &mut self,
        b: &mut TraceBuilder,
        predicate: Predicate,
        width: u8,
        x: ExprId,
        y: ExprId,
    ) -> Folded {
        // A number made of a truth value and compared with a constant is that truth value again.
        if let (Some((condition, yes, no)), Some(k)) = (self.as_choice(b, x), self.as_number(b, y))
        {
            let (yes, no) = (holds(predicate, width, yes, k), holds(predicate, width, no, k));
            return match (yes, no) {
                (true, false) => Folded::Expr(condition),
                (false, true) => Folded::Expr(self.not(b, condition)),
                (same, _) => Folded::Truth(same),
            };
        }
        if let (Predicate::Eq | Predicate::Ne, Some(k)) = (predicate, self.as_number(b, y))
            && let Some((x, width, k)) = self.inverse(b, width, x, k)
        {
            let k = self.number(b, width, k);
            return self.relation(b, predicate, width, x, k);
        }
        use ExprOp::*;
        let op = match predicate {
            Predicate::Eq => Eq,
            Predicate::Ne => Distinct,
            Predicate::Ugt => BvUgt,
            Predicate::Uge => BvUge,
            Predicate::Ult => BvUlt,
            Predicate::Ule => BvUle,
            Predicate::Sgt => BvSgt,
            Predicate::Sge => BvSge,
            Predicate::Slt => BvSlt,
            Predicate::Sle => BvSle,
        };
        Folded::Expr(self.app(b, op, &[x, y]))
    }

    pub(crate) fn cast(
        &mut self,
        b: &mut TraceBuilder,
        op: Cast,
        from: u8,
        x: &Term,
        into: u8,
    ) -> Term {
        let pins = x.pins.clone();
        let bits = x.bits.map(|bits| cast_bits(op, from, bits, into));
        let Some(expr) = x.expr else { return Term { bits, expr: None, pins } };
        if from == into {
            return Term { bits, expr: Some(expr), pins };
        }
        let expr = match op {
            Cast::Same => Some(expr),
            Cast::Trunc => Some(self.truncate(b, expr, from, into)),
            Cast::Zext | Cast::Sext => Some(self.extend(b, op, expr, from, into)),
        };
        Term { bits, expr, pins }
    }

    fn choice(&mut self, b: &mut TraceBuilder, width: u8, c: ExprId, yes: u64, no: u64) -> ExprId {
        let (yes, no) = (self.number(b, width, yes), self.number(b, width, no));
        self.app(b, ExprOp::Ite, &[c, yes, no])
    }

    fn extend(&mut self, b: &mut TraceBuilder, op: Cast, x: ExprId, from: u8, into: u8) -> ExprId {
        let choice = if from == 1 { Some((x, 1, 0)) } else { self.as_choice(b, x) };
        if let Some((condition, yes, no)) = choice {
            let (yes, no) = (cast_bits(op, from, yes, into), cast_bits(op, from, no, into));
            return self.choice(b, into, condition, yes, no);
        }
        let by = into - from;
        self.app(
            b,
            if op == Cast::Zext { ExprOp::ZeroExtend(by) } else { ExprOp::SignExtend(by) },
            &[x],
        )
    }

    fn truncate(&mut self, b: &mut TraceBuilder, x: ExprId, from: u8, into: u8) -> ExprId {
        use ExprOp::*;
        if let Some((condition, yes, no)) = self.as_choice(b, x) {
            let (yes, no) = (yes & ones(into), no & ones(into));
            match (into, yes, no) {
                (1, 1, 0) => return condition,
                (1, 0, 1) => return self.not(b, condition),
                (1, ..) => {}
                _ => return self.choice(b, into, condition, yes, no),
            }
        }
        if into == 1 {
            let low = if from == 1 { x } else { self.app(b, Extract(0, 0), &[x]) };
            let one = b.exprs().intern(Expr::Const(Value::Bits { width: 1, bits: 1 }));
            return self.app(b, Eq, &[low, one]);
        }
        let (op, args) = match self.as_app(b, x) {
            Some((op, args)) => (op, args.to_vec()),
            None => return self.app(b, Extract(into - 1, 0), &[x]),
        };
        match op {
            ZeroExtend(by) | SignExtend(by) if from - by == into => args[0],
            ZeroExtend(by) | SignExtend(by) if from - by > into => {
                self.truncate(b, args[0], from - by, into)
            }
            // Arithmetic of narrow types is done in wide ones, of which only the low bits are used.
            BvAdd | BvSub | BvMul | BvAnd | BvOr | BvXor => {
                let narrow: Option<Vec<ExprId>> =
                    args.iter().map(|&arg| self.narrow(b, arg, from, into)).collect();
                match narrow {
                    Some(args) => self.app(b, op, &args),
                    None => self.app(b, Extract(into - 1, 0), &[x]),
                }
            }
            _ => self.app(b, Extract(into - 1, 0), &[x]),
        }
    }

    /// Returns the low bits of a constant, or of an expression that was extended from that width.
    fn narrow(&mut self, b: &mut TraceBuilder, x: ExprId, from: u8, into: u8) -> Option<ExprId> {
        if let Some(bits) = self.as_number(b, x) {
            return Some(self.number(b, into, bits));
        }
        match self.as_app(b, x)? {
            (ExprOp::ZeroExtend(by) | ExprOp::SignExtend(by), args) if from - by == into => {
                Some(args[0])
            }
            _ => None,
        }
    }

    pub(crate) fn select(
        &mut self,
        b: &mut TraceBuilder,
        condition: &Term,
        yes: &Term,
        no: &Term,
        width: Option<u8>,
    ) -> Term {
        let (taken, other) = match condition.bits {
            Some(1) => (yes, no),
            Some(_) => (no, yes),
            None => {
                let width = width.unwrap_or(64);
                return self.opaque(b, [(condition, 1), (yes, width), (no, width)]);
            }
        };
        let Some(decides) = condition.expr else {
            let pins = union(&condition.pins, &taken.pins);
            return Term { pins, ..taken.clone() };
        };
        let ends = width.and_then(|w| Some((w, self.expr(b, yes, w)?, self.expr(b, no, w)?)));
        match ends {
            Some((width, yes, no)) if width > 1 => {
                let expr = self.app(b, ExprOp::Ite, &[decides, yes, no]);
                let pins = union(&condition.pins, &union(&taken.pins, &other.pins));
                Term { bits: taken.bits, expr: Some(expr), pins }
            }
            // One of the two is unknown: the choice is pinned.
            _ => {
                let pin = self.pinned(b, condition, 1);
                Term { pins: union(&pin, &taken.pins), ..taken.clone() }
            }
        }
    }
}

/// Returns an expression, or a constant truth value.
enum Folded {
    Expr(ExprId),
    Truth(bool),
}

fn operator(op: Binary, width: u8) -> Option<ExprOp> {
    use ExprOp::*;
    if width == 1 {
        return match op {
            Binary::And => Some(And),
            Binary::Or => Some(Or),
            Binary::Xor => Some(Distinct),
            _ => None,
        };
    }
    Some(match op {
        Binary::Add => BvAdd,
        Binary::Sub => BvSub,
        Binary::Mul => BvMul,
        Binary::Udiv => BvUdiv,
        Binary::Sdiv => BvSdiv,
        Binary::Urem => BvUrem,
        Binary::Srem => BvSrem,
        Binary::Shl => BvShl,
        Binary::Lshr => BvLshr,
        Binary::Ashr => BvAshr,
        Binary::And => BvAnd,
        Binary::Or => BvOr,
        Binary::Xor => BvXor,
    })
}

/// Returns the result of an operation on the machine; `None` where it has none.
fn compute(op: Binary, width: u8, x: u64, y: u64) -> Option<u64> {
    let (sx, sy) = (signed(width, x), signed(width, y));
    let shift = (y < u64::from(width)).then_some(y as u32);
    let bits = match op {
        Binary::Add => x.wrapping_add(y),
        Binary::Sub => x.wrapping_sub(y),
        Binary::Mul => x.wrapping_mul(y),
        Binary::Udiv => x.checked_div(y)?,
        Binary::Urem => x.checked_rem(y)?,
        Binary::Sdiv => sx.checked_div(sy)? as u64,
        Binary::Srem => sx.checked_rem(sy)? as u64,
        Binary::Shl => x << shift?,
        Binary::Lshr => x >> shift?,
        Binary::Ashr => (sx >> shift?) as u64,
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
    };
    Some(bits & ones(width))
}

fn holds(predicate: Predicate, width: u8, x: u64, y: u64) -> bool {
    let (sx, sy) = (signed(width, x), signed(width, y));
    match predicate {
        Predicate::Eq => x == y,
        Predicate::Ne => x != y,
        Predicate::Ugt => x > y,
        Predicate::Uge => x >= y,
        Predicate::Ult => x < y,
        Predicate::Ule => x <= y,
        Predicate::Sgt => sx > sy,
        Predicate::Sge => sx >= sy,
        Predicate::Slt => sx < sy,
        Predicate::Sle => sx <= sy,
    }
}

fn cast_bits(op: Cast, from: u8, bits: u64, into: u8) -> u64 {
    let bits = if op == Cast::Sext { signed(from, bits) as u64 } else { bits };
    bits & ones(into)
}

#[cfg(test)]
mod tests;
