//! Events of the rebuild: registers for reads, expressions for writes.

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{ExprId, RegId, ThreadId, TraceBuilder, Value};

use super::super::term::{Term, union};
use super::{Atomic, Rebuild, Storing, Unclaimed};
use foretell_build::symbolic::ir::{Binary, Predicate};

impl Rebuild {
    /// Returns the register of a shared read. `seen` is its value in the trace; `same` is whether
    /// the program read that value, which it did not where code that is not recorded wrote.
    pub(crate) fn read(
        &mut self,
        b: &mut TraceBuilder,
        (t, id): (u32, ThreadId),
        (addr, len): (u64, u64),
        seen: Option<Value>,
        same: bool,
    ) -> RegId {
        let thread = self.thread(t);
        thread.registers += 1;
        let register = b.register(id, &thread.registers.to_string());
        self.counts.registers += 1;
        if self.registers.len() <= register.index() {
            self.registers.resize(register.index() + 1, None);
        }
        self.registers[register.index()] = seen;
        let expr = b.exprs().intern(Expr::Reg(register));
        // An unknown value can be in no condition: the events after it keep their recorded order.
        let Some(seen @ Value::Bits { width, bits }) = seen else {
            let never = self.terms.app(b, ExprOp::Distinct, &[expr, expr]);
            self.guards.push(never);
            return register;
        };
        let value = b.values().intern(seen);
        b.note_register(register, Some(value));
        let term = Term { bits: Some(bits), expr: Some(expr), pins: None };
        let pins = self.terms.pinned(b, &term, width);
        self.thread(t).reads.extend(pins.iter().flat_map(|p| p.iter().copied()));
        if same {
            self.thread(t).unclaimed.push(Unclaimed { addr, len, term, width });
        } else {
            // The program read another value, under this condition.
            let term = Term { bits: None, expr: None, pins };
            self.thread(t).unclaimed.push(Unclaimed { addr, len, term, width });
        }
        register
    }

    /// Returns a register for a number that the rebuild does not compute with.
    pub(crate) fn number(&mut self, b: &mut TraceBuilder, (t, id): (u32, ThreadId)) -> RegId {
        let thread = self.thread(t);
        thread.registers += 1;
        b.register(id, &thread.registers.to_string())
    }

    /// Returns the expression of a shared write to the cell at `addr`, if its value depends on a
    /// shared read.
    pub(crate) fn write(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        written: Option<Value>,
    ) -> Option<ExprId> {
        let stored = self.thread(t).stored.clone();
        self.clear(b, t, addr, len);
        let stored = stored?;
        self.value_for(b, t, (addr, len), &stored, written)
    }

    pub(super) fn value_for(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        stored: &Storing,
        written: Option<Value>,
    ) -> Option<ExprId> {
        let whole = (stored.addr, stored.len) == (addr, len) && u64::from(stored.width) == 8 * len;
        let (true, Some(expr)) = (whole, stored.term.expr) else {
            let pins = self.terms.pinned(b, &stored.term, stored.width);
            self.emit(b, t, &pins);
            return None;
        };
        self.emit(b, t, &stored.term.pins);
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        let computed = self.evaluator.eval(b.trace().exprs(), expr, value).value();
        if computed.is_none() || computed != written {
            self.differs(b, t);
            return None;
        }
        Some(expr)
    }

    pub(super) fn clear(&mut self, b: &mut TraceBuilder, t: u32, addr: u64, len: u64) {
        self.thread(t);
        self.threads[t as usize].memory.clear(b, &mut self.terms, addr, len);
    }

    /// Returns the expression of an atomic write or update of the cell at `addr`; `register` holds
    /// the value that an update read.
    pub(crate) fn atomic_write(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        register: Option<RegId>,
        written: Option<Value>,
    ) -> Option<ExprId> {
        if self.thread(t).stored.is_some() {
            return self.write(b, t, (addr, len), written);
        }
        self.clear(b, t, addr, len);
        let atomic = self.thread(t).atomic.as_mut()?;
        atomic.used = true;
        let (atomic, width) = (atomic.clone(), atomic.width);
        if atomic.addr.is_some_and(|at| at != addr) || u64::from(width) != 8 * len {
            let mut pins = None;
            for term in &atomic.terms {
                let more = self.terms.pinned(b, term, width);
                pins = union(&pins, &more);
            }
            self.emit(b, t, &pins);
            return None;
        }
        let term = self.atomic_result(b, &atomic, register)?;
        self.value_for(b, t, (addr, len), &Storing { addr, len, term, width }, written)
    }

    /// Adds the guard of an atomic read that is a failed compare-and-exchange: with the expected
    /// value it would have been a write, so its thread goes on only with another value.
    pub(crate) fn not_exchanged(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        register: RegId,
    ) {
        let Some(atomic) = self.thread(t).atomic.as_mut() else { return };
        if atomic.op != "compare_exchange_val" {
            return;
        }
        atomic.used = true;
        let (atomic, width) = (atomic.clone(), atomic.width);
        let seen = self.registers.get(register.index()).copied().flatten();
        let Some(Value::Bits { bits, .. }) = seen else { return };
        let expr = Some(b.exprs().intern(Expr::Reg(register)));
        let found = Term { bits: Some(bits), expr, pins: None };
        let whole = atomic.addr.is_none_or(|at| at == addr) && u64::from(width) == 8 * len;
        let differs = match atomic.terms.first().filter(|_| whole) {
            Some(expected) => self.terms.compare(b, Predicate::Ne, width, &found, expected),
            None => found,
        };
        let width = self.width_of(b, &differs);
        let pins = self.terms.pinned(b, &differs, width);
        self.emit(b, t, &pins);
    }

    /// Returns the value that an atomic operation stores.
    pub(super) fn atomic_result(
        &mut self,
        b: &mut TraceBuilder,
        atomic: &Atomic,
        register: Option<RegId>,
    ) -> Option<Term> {
        let (width, first) = (atomic.width, atomic.terms.first()?.clone());
        let old =
            register.and_then(|r| match self.registers.get(r.index()).copied().flatten()? {
                Value::Bits { bits, .. } => {
                    let expr = Some(b.exprs().intern(Expr::Reg(r)));
                    Some(Term { bits: Some(bits), expr, pins: None })
                }
                Value::Int(_) => None,
            });
        let op = match atomic.op.as_str() {
            "store" | "exchange" => return Some(first),
            "fetch_add" => Binary::Add,
            "fetch_sub" => Binary::Sub,
            "fetch_and" => Binary::And,
            "fetch_or" => Binary::Or,
            "fetch_xor" => Binary::Xor,
            "compare_exchange_val" => {
                let (old, desired) = (old?, atomic.terms.get(1)?.clone());
                let equal = self.terms.compare(b, Predicate::Eq, width, &old, &first);
                return Some(self.terms.select(b, &equal, &desired, &old, Some(width)));
            }
            _ => return None,
        };
        Some(self.terms.binary(b, op, width, &old?, &first))
    }
}
