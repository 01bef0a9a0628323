//! Symbolic traces: events with registers, expressions and guards (see `symbolic`).

use foretell_rt_format::{Kind, Record};
use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventId, EventKind, ExprId, Trace, Value, ValueId, VarId};
use rustc_hash::FxHashMap;

use super::{At, Content, Translation, Variable};
use crate::attempts::Action;

impl Translation<'_> {
    /// Follows the path that a record is on.
    pub(super) fn along(&mut self, at: &At<'_>, record: &Record<'_>) {
        let Some(rebuild) = &mut self.symbolic else { return };
        let thread = at.thread;
        match record {
            Record::Module { path, .. } => rebuild.program.add_file(path),
            Record::Trail { kind, pc, site, a, b } => {
                rebuild.passes(thread, *kind, *pc);
                rebuild.trail(&mut self.builder, thread, *kind, *site, *a, *b);
            }
            record => rebuild.before(&mut self.builder, thread, record),
        }
        self.put_guards(at);
    }

    /// Puts the guards that were found into the trace.
    pub(super) fn put_guards(&mut self, at: &At<'_>) {
        let Some(rebuild) = &mut self.symbolic else { return };
        let pc = rebuild.place(at.thread).or(at.pc);
        for expr in rebuild.guards() {
            self.push_marker(at, EventKind::Guard { expr }, pc);
        }
    }

    /// Adds an access to a variable.
    pub(super) fn symbolic_event(
        &mut self,
        at: &At<'_>,
        variable: u32,
        action: Action,
        atomic: bool,
        old: Option<i64>,
        new: Option<i64>,
    ) {
        if let Some(rebuild) = &mut self.symbolic {
            rebuild.pin_call(&mut self.builder, at.thread);
        }
        self.put_guards(at);
        let Some(Variable { content: before, place, .. }) = self.variables.get(variable as usize)
        else {
            return;
        };
        let (before, place) = (*before, *place);
        let var = self.variable(variable, action, old, new);
        let worth = |v: i64| worth(place.1, v);
        // What the trace says is there; something else was read where code that was not recorded wrote.
        let there = match before {
            Content::Known(v) | Content::Initial(Some(v)) => Some(v),
            _ => old,
        };
        let (thread, id) = (at.thread, self.thread(at.thread));
        let mut register = None;
        if let (true, Some(rebuild)) = (action.reads(), &mut self.symbolic) {
            let seen = there.and_then(worth);
            let same = there == old;
            let r = rebuild.read(&mut self.builder, (thread, id), place, seen, same);
            if action == Action::Attempt {
                rebuild.not_exchanged(&mut self.builder, thread, place, r);
            }
            register = Some(r);
        }
        let mut expr = None;
        if let (true, Some(rebuild)) = (action.writes(), &mut self.symbolic) {
            let written = new.and_then(worth);
            expr = if atomic {
                rebuild.atomic_write(&mut self.builder, thread, place, register, written)
            } else {
                rebuild.write(&mut self.builder, thread, place, written)
            };
            self.put_guards(at);
        }
        // A register has the sort of the value that was read into it: the trace has the one that it can explain.
        let old = there.and_then(worth);
        let old = old.map(|v| self.builder.values().intern(v));
        let new = new.and_then(worth).map(|v| self.builder.values().intern(v));
        self.fill(at, variable, var, before, old);
        self.push(
            at,
            match action {
                Action::Read | Action::Attempt => {
                    EventKind::Read { var, atomic, value: old, register }
                }
                Action::Write => EventKind::Write { var, atomic, value: new, expr },
                Action::Update => EventKind::Update { var, old, new, register, expr },
            },
        );
        // What is known of the value that was read.
        self.put_guards(at);
        self.pass_attempts(at, variable, action);
    }

    /// A write that does not say what it wrote wrote what the next read sees.
    fn fill(
        &mut self,
        at: &At<'_>,
        variable: u32,
        var: VarId,
        before: Content,
        old: Option<ValueId>,
    ) {
        let Some(rebuild) = &mut self.symbolic else { return };
        let blank = rebuild.blank.remove(&var);
        let Some(Variable { content, .. }) = self.variables.get_mut(variable as usize) else {
            return;
        };
        if *content == Content::Unknown && at.kind == Some(Kind::WriteRange) {
            rebuild.blank.insert(var, EventId::from_index(self.builder.trace().len()));
        }
        let seen = old.and_then(|old| self.builder.trace().values().get(old));
        if let (Some(write), Content::Unknown, Some(seen)) = (blank, before, seen) {
            rebuild.filled.push((write, seen));
            if *content == Content::Unknown
                && let Value::Bits { width, bits } = seen
            {
                let unused = 64 - u32::from(width);
                *content = Content::Known((bits << unused) as i64 >> unused);
            }
        }
    }

    /// The trace with these values for writes that had none.
    pub(super) fn filled(trace: Trace, values: Vec<(EventId, Value)>) -> Trace {
        if values.is_empty() {
            return trace;
        }
        let values: FxHashMap<EventId, Value> = values.into_iter().collect();
        let mut builder = trace.builder_with_names();
        for event in trace.events() {
            let mut kind = event.kind;
            if let (EventKind::Write { value, .. }, Some(known)) =
                (&mut kind, values.get(&event.id))
            {
                *value = Some(builder.values().intern(*known));
            }
            builder.push(event.thread, kind, event.site);
        }
        builder.build()
    }

    /// The count of a semaphore that somebody tries in vain, as a number: the model knows no broken reads.
    pub(super) fn symbolic_count(&mut self, at: &At<'_>, var: VarId, by: Option<i64>) -> bool {
        let (thread, id) = (at.thread, self.thread(at.thread));
        let Some(rebuild) = &mut self.symbolic else { return false };
        let b = &mut self.builder;
        let register = rebuild.number(b, (thread, id));
        let held = b.exprs().intern(Expr::Reg(register));
        let number = |b: &mut foretell_trace::TraceBuilder, n| -> ExprId {
            b.exprs().intern(Expr::Const(Value::Int(n)))
        };
        match by {
            Some(by) => {
                let by = number(b, by);
                let expr = Some(b.exprs().intern(Expr::App(ExprOp::Add, [held, by].into())));
                let register = Some(register);
                let update = EventKind::Update { var, old: None, new: None, register, expr };
                self.push_marker(at, update, at.pc);
            }
            None => {
                self.push(
                    at,
                    EventKind::Read { var, atomic: true, value: None, register: Some(register) },
                );
                let zero = number(&mut self.builder, 0);
                let expr = self.builder.exprs().intern(Expr::App(ExprOp::Eq, [held, zero].into()));
                self.push_marker(at, EventKind::Guard { expr }, at.pc);
            }
        }
        true
    }
}

/// The value of a cell: a bit-vector of its size.
fn worth(len: u64, value: i64) -> Option<Value> {
    let width = u8::try_from(8 * len).ok().filter(|w| (1..=64).contains(w))?;
    let bits = value as u64 & (u64::MAX >> (64 - u32::from(width)));
    Some(Value::Bits { width, bits })
}
