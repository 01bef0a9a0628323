//! Failed tries to take a semaphore.
//!
//! The model has no event for them. Such a try observes that the count was zero: it is a read of a
//! variable, and each operation that changes the count updates that variable, before a `post` and
//! after a `down`. The variable is opaque, so these events keep their recorded order: where the
//! try runs, no further post and every earlier down has run, and the count is zero again. A try
//! that runs without one of the changes before it may see another count: its read is broken. This
//! is sound, and keeps the operations on that semaphore in their order; semaphores without failed
//! tries have no such variable. In a symbolic trace the variable is a number, and the try is
//! followed by the guard that it is zero.

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventKind, SemId, Value, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Context, EventWriter, ObjectKey};

/// Counts of semaphores with failed tries.
pub(super) struct SemaphoreCounts {
    /// Semaphores with failed tries.
    tried: FxHashSet<ObjectKey>,
    variables: FxHashMap<SemId, VarId>,
}

impl SemaphoreCounts {
    pub(super) fn new(tried: FxHashSet<ObjectKey>) -> SemaphoreCounts {
        SemaphoreCounts { tried, variables: FxHashMap::default() }
    }

    /// Whether a semaphore has a variable for its count.
    pub(super) fn has(&self, semaphore: ObjectKey) -> bool {
        self.tried.contains(&semaphore)
    }

    fn variable(&mut self, out: &mut EventWriter, sem: SemId) -> VarId {
        if let Some(&var) = self.variables.get(&sem) {
            return var;
        }
        let builder = &mut out.trace.builder;
        let name = format!("count of {}", builder.trace().semaphore_name(sem));
        let var = builder.variable(&name);
        builder.set_opaque(var);
        if out.symbolic.is_some() {
            let count = builder.trace().initial_count(sem);
            let count = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
            let count = builder.values().intern(count);
            builder.set_initial_value(var, count);
        }
        self.variables.insert(sem, var);
        var
    }

    /// Adds the change of a count with the `post` that follows or the `down` before.
    pub(super) fn change(&mut self, out: &mut EventWriter, at: &Context<'_>, sem: SemId, by: i64) {
        let var = self.variable(out, sem);
        let register = out.number_register(at);
        let expr = register.map(|register| {
            let exprs = out.trace.builder.exprs();
            let held = exprs.intern(Expr::Reg(register));
            let by = exprs.intern(Expr::Const(Value::Int(by)));
            exprs.intern(Expr::App(ExprOp::Add, [held, by].into()))
        });
        let update = EventKind::Update { var, old: None, new: None, register, expr };
        out.push_marker(at, update, at.pc);
        out.trace.set_observed_last(at.thread, true);
    }

    /// Adds a failed try, which observes that the count is zero.
    pub(super) fn observe_zero(&mut self, out: &mut EventWriter, at: &Context<'_>, sem: SemId) {
        let var = self.variable(out, sem);
        let register = out.number_register(at);
        out.push(at, EventKind::Read { var, atomic: true, value: None, register });
        if let Some(register) = register {
            out.push_number_guard(at, register, 0, at.pc);
        }
    }
}
