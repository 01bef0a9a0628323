//! Opaque variables that hold threads in their recorded order.
//!
//! Two forms. A *chain* is a variable that each user updates: the users keep their order, and none
//! can be skipped. A *point* is a variable that one thread writes once: a thread that reads it
//! comes after the write. In a symbolic trace each read is followed by the guard that the number
//! read is the recorded one.

use foretell_trace::expr::Expr;
use foretell_trace::{EventKind, RegId, Value, VarId};

use super::context::Context;
use super::event_writer::EventWriter;

/// A variable that each user updates.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    pub(super) var: VarId,
    pub(super) updates: i64,
}

/// Value of a point that is not written yet.
const NOT_YET: i64 = 0;
/// Value of a point that is written.
const WRITTEN: i64 = 1;

impl Chain {
    pub(super) fn new(out: &mut EventWriter, name: &str) -> Chain {
        Chain { var: variable(out, name), updates: 0 }
    }

    /// Adds an update of the chain through `push`.
    pub(super) fn update(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        push: impl FnOnce(&mut EventWriter, EventKind),
    ) {
        let Chain { var, updates } = *self;
        let register = out.number_register(at);
        let (old, new) = (Some(out.trace.value(updates)), Some(out.trace.value(updates + 1)));
        let next = Expr::Const(Value::Int(updates + 1));
        let expr = register.map(|_| out.trace.builder.exprs().intern(next));
        push(out, EventKind::Update { var, old, new, register, expr });
        push_guard(out, at, register, updates);
        self.updates += 1;
    }
}

/// Returns a new variable that is part of no finding; zero at first.
pub(super) fn variable(out: &mut EventWriter, name: &str) -> VarId {
    let var = out.trace.builder.variable(name);
    out.trace.builder.set_opaque(var);
    let zero = out.trace.value(NOT_YET);
    out.trace.builder.set_initial_value(var, zero);
    var
}

/// Adds a read of an opaque variable through `push`.
pub(super) fn read(
    out: &mut EventWriter,
    at: &Context<'_>,
    (var, value): (VarId, i64),
    push: impl FnOnce(&mut EventWriter, EventKind),
) {
    let register = out.number_register(at);
    let seen = Some(out.trace.value(value));
    push(out, EventKind::Read { var, atomic: true, value: seen, register });
    push_guard(out, at, register, value);
}

/// Adds an event that is no step of its own, and that may observe a value.
pub(super) fn push_observing(
    out: &mut EventWriter,
    at: &Context<'_>,
    kind: EventKind,
    pc: Option<u64>,
) {
    out.push_marker(at, kind, pc);
    out.trace.set_observed_last(at.thread, kind.op().reads());
}

/// Writes a point at the end of a thread so far.
pub(super) fn write_end(out: &mut EventWriter, thread: u32, var: VarId) {
    let value = Some(out.trace.value(WRITTEN));
    let write = EventKind::Write { var, atomic: true, value, expr: None };
    out.trace.push_marker(thread, write, None);
}

/// Reads a point: the rest of the thread comes after it.
pub(super) fn read_point(out: &mut EventWriter, at: &Context<'_>, var: VarId) {
    read(out, at, (var, WRITTEN), |out, kind| push_observing(out, at, kind, at.pc));
}

/// Adds the guard that a register holds the recorded number, in a symbolic trace.
fn push_guard(out: &mut EventWriter, at: &Context<'_>, register: Option<RegId>, value: i64) {
    if let Some(register) = register {
        out.push_number_guard(at, register, value, code_address(at));
    }
}

/// Returns the code address of a record; a delivered signal has none.
pub(super) fn code_address(at: &Context<'_>) -> Option<u64> {
    at.pc.filter(|&pc| pc != 0)
}
