//! Accesses of symbolic traces: events with registers, expressions and guards (see
//! [`crate::symbolic`]).

use foretell_rt_format::Kind;
use foretell_trace::{EventId, EventKind, Value, ValueId};

use super::variables::Content;
use super::{Access, Context, EventWriter, Memory};
use crate::action::Action;

impl Memory {
    /// Adds the event of an access to a variable, with its register, expression and guards.
    pub(super) fn symbolic_access(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        variable: u32,
        access: Access,
    ) {
        let Access { action, atomic, order, old, new } = access;
        if let Some(rebuild) = &mut out.symbolic {
            rebuild.pin_call(&mut out.trace.builder, at.thread);
        }
        out.put_guards(at);
        let Some(known) = self.variables.get(variable) else { return };
        let (before, cell) = (known.content, (known.addr, known.len));
        let var = self.variables.apply(&mut out.trace.builder, variable, access);
        let bits = |v: i64| bits(cell.1, v);
        // The value according to the trace. The program read another one where code that is not
        // recorded wrote.
        let there = match before {
            Content::Known(v) | Content::Initial(Some(v)) => Some(v),
            _ => old,
        };
        let (thread, id) = (at.thread, out.trace.thread(at.thread));
        let mut register = None;
        if let (true, Some(rebuild)) = (action.reads(), &mut out.symbolic) {
            let builder = &mut out.trace.builder;
            let seen = there.and_then(bits);
            let r = rebuild.read(builder, (thread, id), cell, seen, there == old);
            if action == Action::FailedUpdate {
                rebuild.not_exchanged(builder, thread, cell, r);
            }
            register = Some(r);
        }
        let mut expr = None;
        if let (true, Some(rebuild)) = (action.writes(), &mut out.symbolic) {
            let builder = &mut out.trace.builder;
            let written = new.and_then(bits);
            expr = if atomic {
                rebuild.atomic_write(builder, thread, cell, register, written)
            } else {
                rebuild.write(builder, thread, cell, written)
            };
            out.put_guards(at);
        }
        // A register has the sort of the value read into it: the one that the trace explains.
        let values = out.trace.builder.values();
        let old = there.and_then(bits).map(|v| values.intern(v));
        let new = new.and_then(bits).map(|v| values.intern(v));
        self.fill_unknown_write(out, at, variable, before, old);
        out.push_ordered(
            at,
            match action {
                Action::Read | Action::FailedUpdate => {
                    EventKind::Read { var, atomic, value: old, register }
                }
                Action::Write => EventKind::Write { var, atomic, value: new, expr },
                Action::Update => EventKind::Update { var, old, new, register, expr },
            },
            order,
        );
        // Guards on the value that was read.
        out.put_guards(at);
        self.check_failed_updates(out, at, variable, action);
    }

    /// Gives a write without a value the value that the next read sees.
    fn fill_unknown_write(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        variable: u32,
        before: Content,
        old: Option<ValueId>,
    ) {
        let Some(rebuild) = &mut out.symbolic else { return };
        let Some(variable) = self.variables.get_mut(variable) else { return };
        let blank = rebuild.blank.remove(&variable.id);
        let trace = out.trace.builder.trace();
        if variable.content == Content::Unknown && at.kind == Some(Kind::WriteRange) {
            rebuild.blank.insert(variable.id, EventId::from_index(trace.len()));
        }
        let seen = old.and_then(|old| trace.values().get(old));
        if let (Some(write), Content::Unknown, Some(seen)) = (blank, before, seen) {
            rebuild.filled.push((write, seen));
            if variable.content == Content::Unknown
                && let Value::Bits { width, bits } = seen
            {
                let unused = 64 - u32::from(width);
                variable.content = Content::Known((bits << unused) as i64 >> unused);
            }
        }
    }
}

/// Returns the value of a cell as a bit-vector of its size.
fn bits(len: u64, value: i64) -> Option<Value> {
    let width = u8::try_from(8 * len).ok().filter(|w| (1..=64).contains(w))?;
    let bits = value as u64 & (u64::MAX >> (64 - u32::from(width)));
    Some(Value::Bits { width, bits })
}
