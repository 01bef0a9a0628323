//! Writes down a run: names objects when they are first used, and says of values what the
//! program wants said.

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{
    BarrierId, CondId, ExprId, LabelId, LockId, RegId, SemId, SiteId, TraceBuilder, Value, ValueId,
    VarId,
};

use crate::program::{Detail, LOCALS, Local, Program, Rhs, Sort, Test};
use crate::rng::Rng;

use super::Thread;

/// The trace so far and the identifiers given out.
pub(crate) struct Recorder<'p> {
    pub(crate) builder: TraceBuilder,
    program: &'p Program,
    variables: Vec<Option<VarId>>,
    locks: Vec<Option<LockId>>,
    conditions: Vec<Option<CondId>>,
    semaphores: Vec<Option<SemId>>,
    barriers: Vec<Option<BarrierId>>,
    sites: Vec<Option<SiteId>>,
    /// For each thread the register that each local was last loaded into.
    registers: Vec<[Option<RegId>; LOCALS]>,
    /// Registers given out.
    loads: usize,
    fresh: i64,
}

/// The identifier of object `index`, made when it is first asked for.
fn known<I: Copy>(table: &mut Vec<Option<I>>, index: u32, make: impl FnOnce() -> I) -> I {
    let i = index as usize;
    if table.len() <= i {
        table.resize(i + 1, None);
    }
    *table[i].get_or_insert_with(make)
}

impl<'p> Recorder<'p> {
    pub(crate) fn new(program: &'p Program) -> Recorder<'p> {
        Recorder {
            builder: TraceBuilder::new(),
            program,
            variables: Vec::new(),
            locks: Vec::new(),
            conditions: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
            sites: Vec::new(),
            registers: vec![[None; LOCALS]; program.threads.len()],
            loads: 0,
            fresh: 100,
        }
    }

    pub(crate) fn variable(&mut self, x: u32) -> VarId {
        let (b, program) = (&mut self.builder, self.program);
        known(&mut self.variables, x, || {
            let is_hidden = x >= program.hidden;
            let id = match x.checked_sub(program.hidden) {
                Some(state) => b.variable(&format!("hidden:h{state}")),
                None => b.variable(&format!("x{x}")),
            };
            if is_hidden || x < program.opaque {
                b.set_opaque(id);
            }
            if x < program.opaque {
                return id;
            }
            if program.declare_initial && program.detail != Detail::Bare {
                let zero = b.values().intern(constant(program.sort, 0));
                b.set_initial_value(id, zero);
            }
            id
        })
    }

    pub(crate) fn lock(&mut self, l: u32) -> LockId {
        known(&mut self.locks, l, || self.builder.lock(&format!("m{l}")))
    }

    pub(crate) fn condition(&mut self, c: u32) -> CondId {
        known(&mut self.conditions, c, || self.builder.condition(&format!("c{c}")))
    }

    pub(crate) fn semaphore(&mut self, s: u32) -> SemId {
        let (b, counts) = (&mut self.builder, &self.program.semaphores);
        known(&mut self.semaphores, s, || {
            let id = b.semaphore(&format!("s{s}"));
            if let Some(&count) = counts.get(s as usize).filter(|&&count| count > 0) {
                b.set_initial_count(id, count);
            }
            id
        })
    }

    /// The parties of barrier `b`: at least one.
    pub(crate) fn parties(&self, b: u32) -> u32 {
        let declared = self.program.parties.get(b as usize).copied();
        declared.unwrap_or(self.program.threads.len() as u32).max(1)
    }

    pub(crate) fn barrier(&mut self, b: u32) -> BarrierId {
        let parties = self.parties(b);
        let builder = &mut self.builder;
        known(&mut self.barriers, b, || {
            let id = builder.barrier(&format!("b{b}"));
            builder.set_parties(id, parties);
            id
        })
    }

    pub(crate) fn site(&mut self, line: u32) -> SiteId {
        let (b, file) = (&mut self.builder, self.program.file);
        known(&mut self.sites, line, || b.site(&format!("{file}:{line}"), None))
    }

    /// Every other block has a label.
    pub(crate) fn label(&mut self, line: u32) -> Option<LabelId> {
        line.is_multiple_of(2).then(|| self.builder.label(&format!("block{line}")))
    }

    /// A value, if values are recorded.
    pub(crate) fn value(&mut self, value: i64) -> Option<ValueId> {
        let wanted = self.program.detail != Detail::Bare;
        wanted.then(|| self.builder.values().intern(constant(self.program.sort, value)))
    }

    /// The register that `local` is loaded into, in a symbolic trace.
    pub(crate) fn load(&mut self, t: usize, thread: &Thread, local: Local) -> Option<RegId> {
        let Detail::Symbolic { fresh } = self.program.detail else { return None };
        let name = if fresh { self.loads } else { usize::from(local) };
        self.loads += 1;
        let register = self.builder.register(thread.id, &name.to_string());
        self.registers[t][usize::from(local)] = Some(register);
        Some(register)
    }

    /// The value of a right-hand side.
    pub(crate) fn evaluate(&mut self, thread: &Thread, rhs: Rhs, rng: &mut Rng) -> i64 {
        let local = |l: Local| thread.locals[usize::from(l)];
        let value = match rhs {
            Rhs::Const(c) => c,
            Rhs::Plus(a, c) => local(a).wrapping_add(c),
            Rhs::Sum(a, b) => local(a).wrapping_add(local(b)),
            Rhs::Mod(a, m) => local(a).rem_euclid(m.max(1)),
            Rhs::IfEq(a, c, d) if local(a) == c => d,
            Rhs::IfEq(a, ..) => local(a),
            Rhs::Fresh => {
                self.fresh += 1;
                self.fresh
            }
            Rhs::Random(bound) => rng.below(bound.max(1) as usize) as i64,
        };
        match self.program.sort {
            Sort::Int => value,
            Sort::Byte => value & 0xff,
        }
    }

    /// A right-hand side as an expression, in a symbolic trace, if it depends on a register.
    pub(crate) fn expression(&mut self, t: usize, thread: &Thread, rhs: Rhs) -> Option<ExprId> {
        let (Rhs::Plus(a, _) | Rhs::Sum(a, _) | Rhs::Mod(a, _) | Rhs::IfEq(a, ..)) = rhs else {
            return None;
        };
        let registers = &self.registers[t];
        registers[usize::from(a)]?;
        let first = self.operand(t, thread, a);
        Some(match rhs {
            Rhs::Plus(_, c) => {
                let c = self.literal(c);
                self.apply(Arith::Add, &[first, c])
            }
            Rhs::Sum(_, b) => {
                let second = self.operand(t, thread, b);
                self.apply(Arith::Add, &[first, second])
            }
            Rhs::Mod(_, m) => {
                let m = self.literal(m.max(1));
                self.apply(Arith::Mod, &[first, m])
            }
            Rhs::IfEq(_, c, d) => {
                let (c, d) = (self.literal(c), self.literal(d));
                let equal = self.apply(Arith::Eq, &[first, c]);
                self.apply(Arith::Ite, &[equal, d, first])
            }
            _ => first,
        })
    }

    /// Whether a test holds.
    pub(crate) fn holds(&self, thread: &Thread, test: Test) -> bool {
        let local = |l: Local| thread.locals[usize::from(l)];
        match test {
            Test::Lt(a, c) => local(a) < c,
            Test::Ge(a, c) => local(a) >= c,
            Test::Eq(a, c) => local(a) == c,
            Test::Ne(a, c) => local(a) != c,
            Test::SameAs(a, b) => local(a) == local(b),
        }
    }

    /// The guard that says how a test came out, in a symbolic trace, if it depends on a register.
    pub(crate) fn guard(&mut self, t: usize, thread: &Thread, test: Test) -> Option<ExprId> {
        let (Test::Lt(a, _)
        | Test::Ge(a, _)
        | Test::Eq(a, _)
        | Test::Ne(a, _)
        | Test::SameAs(a, _)) = test;
        self.registers[t][usize::from(a)]?;
        let first = self.operand(t, thread, a);
        let (op, second) = match test {
            Test::Lt(_, c) => (Arith::Lt, self.literal(c)),
            Test::Ge(_, c) => (Arith::Ge, self.literal(c)),
            Test::Eq(_, c) => (Arith::Eq, self.literal(c)),
            Test::Ne(_, c) => (Arith::Ne, self.literal(c)),
            Test::SameAs(_, b) => (Arith::Eq, self.operand(t, thread, b)),
        };
        let expr = self.apply(op, &[first, second]);
        Some(if self.holds(thread, test) { expr } else { self.apply(Arith::Not, &[expr]) })
    }

    /// A local: its register, or its value if it was never loaded.
    fn operand(&mut self, t: usize, thread: &Thread, local: Local) -> ExprId {
        match self.registers[t][usize::from(local)] {
            Some(register) => self.builder.exprs().intern(Expr::Reg(register)),
            None => self.literal(thread.locals[usize::from(local)]),
        }
    }

    fn literal(&mut self, value: i64) -> ExprId {
        self.builder.exprs().intern(Expr::Const(constant(self.program.sort, value)))
    }

    fn apply(&mut self, op: Arith, args: &[ExprId]) -> ExprId {
        let op = match (op, self.program.sort) {
            (Arith::Add, Sort::Int) => ExprOp::Add,
            (Arith::Add, Sort::Byte) => ExprOp::BvAdd,
            (Arith::Mod, Sort::Int) => ExprOp::Mod,
            (Arith::Mod, Sort::Byte) => ExprOp::BvUrem,
            (Arith::Lt, Sort::Int) => ExprOp::Lt,
            (Arith::Lt, Sort::Byte) => ExprOp::BvUlt,
            (Arith::Ge, Sort::Int) => ExprOp::Ge,
            (Arith::Ge, Sort::Byte) => ExprOp::BvUge,
            (Arith::Eq, _) => ExprOp::Eq,
            (Arith::Ne, _) => ExprOp::Distinct,
            (Arith::Ite, _) => ExprOp::Ite,
            (Arith::Not, _) => ExprOp::Not,
        };
        self.builder.exprs().intern(Expr::App(op, args.into()))
    }
}

/// The operators that programs use, whatever the sort of their values.
#[derive(Clone, Copy)]
enum Arith {
    Add,
    Mod,
    Lt,
    Ge,
    Eq,
    Ne,
    Ite,
    Not,
}

fn constant(sort: Sort, value: i64) -> Value {
    match sort {
        Sort::Int => Value::Int(value),
        Sort::Byte => Value::Bits { width: 8, bits: (value & 0xff) as u64 },
    }
}
