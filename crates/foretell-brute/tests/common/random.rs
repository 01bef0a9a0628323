//! Random legal traces: random events, those that would make the trace illegal left out.

use foretell_trace::expr::{Evaluator, Expr, ExprOp};
use foretell_trace::{
    BarrierId, CondId, EventKind, ExprId, LockId, Model, RegId, SemId, ThreadId, Trace,
    TraceBuilder, Value, ValueId, VarId, legality,
};

/// What a random trace may have in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) events: usize,
    pub(crate) threads: u32,
    pub(crate) variables: u32,
    pub(crate) locks: u32,
    pub(crate) model: Model,
}

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = random.below(2));
        random
    }

    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(n)) as u32
    }

    fn often(&mut self) -> bool {
        self.below(8) > 0
    }
}

/// A random legal trace of this shape, always the same for the same seed.
pub(crate) fn random_trace(seed: u64, shape: Shape) -> Trace {
    let mut maker = Maker::new(seed, shape);
    // Some seeds work towards one kind of synchronisation, so that its events are frequent.
    let focus = maker.random.below(8);
    let mut tries = 0;
    while maker.trace.trace().len() < shape.events && tries < 400 {
        tries += 1;
        let thread = ThreadId(maker.random.below(shape.threads));
        let kind = maker.kind(thread, focus);
        let mut longer = maker.trace.clone();
        longer.push(thread, kind, None);
        if legality::check(longer.trace()).is_ok() {
            maker.trace = longer;
            maker.note(kind);
        }
    }
    maker.trace.build()
}

struct Maker {
    random: Random,
    shape: Shape,
    trace: TraceBuilder,
    memory: Vec<i64>,
    registers: Vec<Option<Value>>,
}

impl Maker {
    fn new(seed: u64, shape: Shape) -> Maker {
        let mut b = TraceBuilder::new();
        (0..shape.threads).for_each(|t| _ = b.thread(&format!("T{t}")));
        (0..shape.variables).for_each(|x| _ = b.variable(&format!("x{x}")));
        (0..shape.locks).for_each(|l| _ = b.lock(&format!("l{l}")));
        (0..shape.threads).for_each(|t| _ = b.register(ThreadId(t), "0"));
        let (_, sem, barrier) = (b.condition("c"), b.semaphore("s"), b.barrier("b"));
        b.set_parties(barrier, 2);
        let mut random = Random::new(seed);
        b.set_initial_count(sem, u64::from(random.below(2)));
        if random.below(6) == 0 {
            b.set_opaque(VarId(shape.variables - 1));
        }
        let zero = b.values().intern(Value::Int(0));
        if random.below(2) == 0 {
            b.set_initial_value(VarId(0), zero);
        }
        let memory = vec![0; shape.variables as usize];
        let registers = vec![None; shape.threads as usize];
        Maker { random, shape, trace: b, memory, registers }
    }

    fn kind(&mut self, thread: ThreadId, focus: u32) -> EventKind {
        match self.random.below(10) {
            0..9 if focus == 0 => self.nested_lock(thread),
            0..4 => self.access(thread),
            4 => self.lock(),
            5 => EventKind::Begin { label: None },
            6 if self.random.below(2) == 0 => EventKind::End { label: None },
            7 if self.shape.model == Model::Symbolic => self.guard(thread),
            _ => match focus {
                0 | 1 => self.lock(),
                2 => self.wait(),
                3 => self.semaphore(),
                4 => self.barrier(),
                5 => self.fork(),
                _ => self.access(thread),
            },
        }
    }

    fn value(&mut self, value: i64) -> Option<ValueId> {
        let value = self.trace.values().intern(Value::Int(value));
        (self.shape.model == Model::Symbolic || self.random.often()).then_some(value)
    }

    fn access(&mut self, thread: ThreadId) -> EventKind {
        let var = VarId(self.random.below(self.shape.variables));
        let atomic = self.random.below(4) == 0;
        let symbolic = self.shape.model == Model::Symbolic && self.random.below(2) == 0;
        let register = symbolic.then_some(RegId(thread.0));
        let here = self.memory[var.index()];
        match self.random.below(5) {
            0 | 1 => EventKind::Read { var, atomic, value: self.value(here), register },
            2 | 3 => {
                let (written, expr) = self.written(symbolic, thread, self.registers.clone());
                EventKind::Write { var, atomic, value: self.value(written), expr }
            }
            _ => {
                let mut registers = self.registers.clone();
                if symbolic {
                    registers[thread.index()] = Some(Value::Int(here));
                }
                let (written, expr) = self.written(symbolic, thread, registers);
                let (old, new) = (self.value(here), self.value(written));
                EventKind::Update { var, old, new, register, expr }
            }
        }
    }

    /// A value to write, and in a symbolic trace perhaps `(mod (+ %0 1) 3)` for it.
    fn written(
        &mut self,
        symbolic: bool,
        thread: ThreadId,
        registers: Vec<Option<Value>>,
    ) -> (i64, Option<ExprId>) {
        let free = i64::from(self.random.below(2));
        if !symbolic || registers[thread.index()].is_none() {
            return (free, None);
        }
        let exprs = self.trace.exprs();
        let register = exprs.intern(Expr::Reg(RegId(thread.0)));
        let one = exprs.intern(Expr::Const(Value::Int(1)));
        let three = exprs.intern(Expr::Const(Value::Int(3)));
        let sum = exprs.intern(Expr::App(ExprOp::Add, [register, one].into()));
        let expr = exprs.intern(Expr::App(ExprOp::Mod, [sum, three].into()));
        let answer = Evaluator::default().eval(exprs, expr, |r| registers[r.index()]);
        match answer.value() {
            Some(Value::Int(written)) => (written, Some(expr)),
            _ => (free, None),
        }
    }

    /// A guard that holds, or a marker where the thread has read nothing.
    fn guard(&mut self, thread: ThreadId) -> EventKind {
        let Some(held) = self.registers[thread.index()] else {
            return EventKind::Begin { label: None };
        };
        let exact = self.random.below(2) == 0;
        let exprs = self.trace.exprs();
        let register = exprs.intern(Expr::Reg(RegId(thread.0)));
        let (op, bound) = match held {
            Value::Int(i) if !exact => (ExprOp::Ge, Value::Int(i.min(1))),
            other => (ExprOp::Eq, other),
        };
        let bound = exprs.intern(Expr::Const(bound));
        EventKind::Guard { expr: exprs.intern(Expr::App(op, [register, bound].into())) }
    }

    fn lock(&mut self) -> EventKind {
        let lock = LockId(self.random.below(self.shape.locks));
        match self.random.below(16) {
            0..5 => EventKind::Acquire { lock },
            5..11 => EventKind::Release { lock },
            11..13 => EventKind::AcquireShared { lock },
            13..15 => EventKind::ReleaseShared { lock },
            _ => EventKind::TryFailed { lock },
        }
    }

    /// Two locks taken and given back, by odd threads in the other order; now and then shared.
    fn nested_lock(&mut self, thread: ThreadId) -> EventKind {
        let step = self.trace.trace().events().filter(|e| e.thread == thread).count() % 4;
        let outer = thread.0 % 2 % self.shape.locks;
        let inner = (1 - thread.0 % 2) % self.shape.locks;
        let lock = LockId(if step == 0 || step == 3 { outer } else { inner });
        match (step, self.random.below(6)) {
            (0 | 1, 0) => EventKind::AcquireShared { lock },
            (0 | 1, _) => EventKind::Acquire { lock },
            (_, 0) => EventKind::ReleaseShared { lock },
            _ => EventKind::Release { lock },
        }
    }

    fn wait(&mut self) -> EventKind {
        let (cond, lock) = (CondId(0), LockId(0));
        match self.random.below(8) {
            0..2 => EventKind::Wait { cond, lock },
            2..4 => EventKind::Woken { cond, lock },
            4 => EventKind::TimedOut { cond, lock },
            5 => EventKind::Notify { cond },
            6 => EventKind::NotifyAll { cond },
            _ => EventKind::Acquire { lock },
        }
    }

    fn semaphore(&mut self) -> EventKind {
        let sem = SemId(0);
        if self.random.below(2) == 0 { EventKind::Post { sem } } else { EventKind::Down { sem } }
    }

    fn barrier(&mut self) -> EventKind {
        let barrier = BarrierId(0);
        match self.random.below(2) {
            0 => EventKind::Arrive { barrier },
            _ => EventKind::Leave { barrier },
        }
    }

    fn fork(&mut self) -> EventKind {
        let thread = ThreadId(self.random.below(self.shape.threads));
        match self.random.below(2) {
            0 => EventKind::Fork { thread },
            _ => EventKind::Join { thread },
        }
    }

    /// Keeps what variables and registers hold.
    fn note(&mut self, kind: EventKind) {
        let value = |b: &mut TraceBuilder, v: ValueId| b.values().get(v);
        let (read, written) = match kind {
            EventKind::Read { var, value, register, .. } => ((var, value, register), None),
            EventKind::Write { var, value, .. } => ((var, None, None), value),
            EventKind::Update { var, old, new, register, .. } => ((var, old, register), new),
            _ => return,
        };
        let (var, seen, register) = read;
        if let (Some(register), Some(seen)) = (register, seen) {
            self.registers[register.index()] = value(&mut self.trace, seen);
        }
        if let Some(Value::Int(i)) = written.and_then(|v| value(&mut self.trace, v)) {
            self.memory[var.index()] = i;
        }
    }
}
