//! Bytes to events: the inverse of [`encode`](super::encode), straight into the columns of a trace.
//!
//! Every number is checked against what is defined before it is used, so whatever the bytes are,
//! the trace names only things that it has.

use std::ops::Range;

use super::bytes::{Cursor, Fault};
use super::exprs::ExprFacts;
use super::predict::{
    OBJECT_TABLES, ORDER_SHIFT, RECENT, Shape, Slot, State, Template, ThreadState, flag,
    object_code, slot_of, template_code, value_code,
};
use super::tables::object_counts;
use crate::pages;
use crate::trace::NONE;
use crate::value::TABLE_START;
use crate::{EventId, ExprId, MemoryOrder, Op, RegId, ThreadId, Trace, TraceBuilder, ValueId};

const UNDEFINED: Fault = "has an event that names something that is not defined yet";
const SUPERFLUOUS: Fault = "has an event with an operand that its operation does not have";

/// Sizes of the tables that events refer to.
struct Limits {
    objects: [u32; OBJECT_TABLES],
    sites: u32,
    /// One more than the largest value identifier.
    values: u32,
}

impl Limits {
    fn of(trace: &Trace) -> Self {
        Limits {
            objects: object_counts(trace),
            sites: trace.site_count() as u32,
            values: TABLE_START + trace.values().table().len() as u32,
        }
    }
}

/// Symbolic operands are rare: they are noted while decoding and put in their columns after it.
struct Symbolic {
    event: usize,
    register: Option<u32>,
    expr: Option<u32>,
}

/// The columns of the events of one chunk.
struct Columns<'a> {
    ops: &'a mut [Op],
    threads: &'a mut [ThreadId],
    objects: &'a mut [u32],
    extras: &'a mut [u32],
    values: &'a mut [u32],
    sites: &'a mut [u32],
}

impl Columns<'_> {
    fn part(&mut self, range: Range<usize>) -> Columns<'_> {
        Columns {
            ops: &mut self.ops[range.clone()],
            threads: &mut self.threads[range.clone()],
            objects: &mut self.objects[range.clone()],
            extras: &mut self.extras[range.clone()],
            values: &mut self.values[range.clone()],
            sites: &mut self.sites[range],
        }
    }
}

/// Adds the events of one chunk to the trace.
pub(super) fn read(
    payload: &[u8],
    state: &mut State,
    builder: &mut TraceBuilder,
    exprs: &[ExprFacts],
) -> Result<(), Fault> {
    let mut from = Cursor::new(payload);
    let start = builder.trace.len();
    if from.varint()? != start as u64 {
        return Err("does not go on where the events before it end");
    }
    let count = from.count(1)?;
    if start + count > super::MAX_EVENTS {
        return Err("goes beyond 4294967294 events, the most that a trace can have");
    }
    let runs = from.count(1)?;
    let runs = from.take(runs)?;
    let heads = from.take(count)?;
    let limits = Limits::of(&builder.trace);
    state.grow(builder.trace.thread_count(), builder.trace.variable_count());
    let (mut symbolic, mut orders) = (Vec::new(), Vec::new());
    let mut columns = grow(&mut builder.trace, count);
    let mut decoder = Decoder {
        state,
        limits: &limits,
        operands: from,
        symbolic: &mut symbolic,
        orders: &mut orders,
    };
    let mut result = decoder.runs(Cursor::new(runs), heads, &mut columns);
    if result.is_ok() && !decoder.operands.is_empty() {
        result = Err("is longer than the counts in it say");
    }
    result
        .and_then(|()| store_symbolic(&symbolic, start, builder, exprs))
        .inspect_err(|_| truncate(&mut builder.trace, start))?;
    for (i, order) in orders {
        builder.set_order(EventId::from_index(start + i), order);
    }
    Ok(())
}

/// Room for `count` more events.
fn grow(trace: &mut Trace, count: usize) -> Columns<'_> {
    fn more<T: Copy>(column: &mut Vec<T>, count: usize, fill: T) -> &mut [T] {
        let start = column.len();
        pages::reserve(column, count);
        column.resize(start + count, fill);
        &mut column[start..]
    }
    Columns {
        ops: more(&mut trace.ops, count, Op::Read),
        threads: more(&mut trace.threads, count, ThreadId(0)),
        objects: more(&mut trace.objects, count, NONE),
        extras: more(&mut trace.extras, count, NONE),
        values: more(&mut trace.values, count, NONE),
        sites: more(&mut trace.sites, count, NONE),
    }
}

fn truncate(trace: &mut Trace, len: usize) {
    trace.ops.truncate(len);
    trace.threads.truncate(len);
    trace.objects.truncate(len);
    trace.extras.truncate(len);
    trace.values.truncate(len);
    trace.sites.truncate(len);
    trace.symbolic_updates.retain(|e, _| e.index() < len);
}

struct Decoder<'a, 'p> {
    state: &'a mut State,
    limits: &'a Limits,
    operands: Cursor<'p>,
    symbolic: &'a mut Vec<Symbolic>,
    /// Events of the chunk whose memory order is not the default.
    orders: &'a mut Vec<(usize, MemoryOrder)>,
}

impl Decoder<'_, '_> {
    /// Decodes run after run: events of one thread.
    fn runs(
        &mut self,
        mut runs: Cursor<'_>,
        heads: &[u8],
        columns: &mut Columns<'_>,
    ) -> Result<(), Fault> {
        let mut done = 0;
        while !runs.is_empty() {
            let code = runs.varint()?;
            let position = code as usize & RECENT;
            let thread = if position == RECENT {
                let given = runs.varint32()?;
                if given as usize >= self.state.threads.len() { None } else { Some(given) }
            } else {
                self.state.recent.get(position)
            };
            let thread = thread.ok_or(UNDEFINED)?;
            self.state.recent.ran(thread);
            let length = (code >> 3) as usize;
            if length >= heads.len() - done {
                return Err("has runs of more events than it has");
            }
            let end = done + length + 1;
            self.run(thread, done, &heads[done..end], columns.part(done..end))?;
            done = end;
        }
        if done == heads.len() { Ok(()) } else { Err("has runs of fewer events than it has") }
    }

    /// Decodes the events of `thread` that `heads` gives, into columns of the same length; the
    /// first of them is event `start` of the chunk.
    fn run(
        &mut self,
        thread: u32,
        start: usize,
        heads: &[u8],
        columns: Columns<'_>,
    ) -> Result<(), Fault> {
        let n = heads.len();
        let Columns { ops, threads, objects, extras, values, sites } = columns;
        // Said once here, the lengths need no check for every event.
        let (ops, objects, sites) = (&mut ops[..n], &mut objects[..n], &mut sites[..n]);
        let (extras, values) = (&mut extras[..n], &mut values[..n]);
        threads.fill(ThreadId(thread));
        let mut before = self.state.threads[thread as usize].template;
        for (i, &head) in heads.iter().enumerate() {
            foretell_limit::check();
            before = self.template(before, head & 3)?;
            let state = &mut *self.state;
            let Template { shape, table, .. } = state.templates[before as usize];
            let in_thread = &mut state.threads[thread as usize];
            let slot = &mut state.slots[slot_of(before, thread)];
            ops[i] = shape.op;
            sites[i] = shape.site;
            if shape.order != MemoryOrder::default() {
                self.orders.push((start + i, shape.order));
            }
            let table = usize::from(table);
            if table >= OBJECT_TABLES {
                if head >> 2 != 0 {
                    return Err(SUPERFLUOUS);
                }
                if shape.op == Op::Guard {
                    self.symbolic(shape, thread, start + i)?;
                }
                continue;
            }
            let last = &mut in_thread.objects[table];
            let fresh = &mut state.fresh[table];
            let object = take_object(head >> 2 & 7, slot, last, *fresh, &mut self.operands)?;
            if object >= self.limits.objects[table] {
                return Err(UNDEFINED);
            }
            *fresh = (*fresh).max(object + 1);
            objects[i] = object;
            if shape.flags == flag::VALUE {
                let (current, fresh) =
                    (&mut state.current[object as usize], &mut state.fresh_value);
                values[i] =
                    take_value(head >> 5, slot, in_thread, current, *fresh, &mut self.operands)?;
                *fresh = fresh_after(values[i], *fresh, self.limits)?;
                if shape.op == Op::AtomicUpdate {
                    extras[i] = std::mem::replace(&mut values[i], NONE);
                }
            } else if shape.flags & !flag::LABEL == 0 {
                if head >> 5 != 0 {
                    return Err(SUPERFLUOUS);
                }
                if shape.op.has_condition_lock() {
                    extras[i] = self.lock(slot_of(before, thread))?;
                }
            } else {
                (values[i], extras[i]) = self.rare(shape, (before, thread), object, head >> 5)?;
                self.symbolic(shape, thread, start + i)?;
            }
        }
        self.state.threads[thread as usize].template = before;
        Ok(())
    }

    /// The template of the event after one with template `before` in the same thread.
    #[inline]
    fn template(&mut self, before: u32, code: u8) -> Result<u32, Fault> {
        let next = self.state.templates[before as usize].next;
        let template = match code {
            template_code::FIRST | template_code::SECOND => next[usize::from(code)],
            template_code::GIVEN => before.wrapping_add(self.operands.delta()?),
            _ => {
                debug_assert_eq!(code, template_code::NEW);
                let shape = self.new_shape()?;
                self.state.add_template(shape)
            }
        };
        if template == 0 || template as usize >= self.state.templates.len() {
            return Err(UNDEFINED);
        }
        if code != template_code::FIRST {
            self.state.templates[before as usize].followed_by(template);
        }
        Ok(template)
    }

    fn new_shape(&mut self) -> Result<Shape, Fault> {
        let byte = self.operands.byte()?;
        let op = Op::from_u8(byte & ((1 << ORDER_SHIFT) - 1)).ok_or("has an unknown operation")?;
        let order = MemoryOrder::from_u8(byte >> ORDER_SHIFT).ok_or("has an unknown order")?;
        let flags = self.operands.byte()?;
        let site = self.operands.varint32()?;
        if site > self.limits.sites {
            return Err(UNDEFINED);
        }
        let shape = Shape { op, flags, site: site.wrapping_sub(1), order };
        shape.check().map(|()| shape)
    }

    /// The two value columns of an access that has more than its value.
    #[inline(never)]
    fn rare(
        &mut self,
        shape: Shape,
        (template, thread): (u32, u32),
        variable: u32,
        code: u8,
    ) -> Result<(u32, u32), Fault> {
        let state = &mut *self.state;
        let current = &mut state.current[variable as usize];
        let (mut old, mut value) = (NONE, NONE);
        if shape.flags & (flag::OLD_CURRENT | flag::OLD_GIVEN) != 0 {
            if shape.flags & flag::OLD_GIVEN != 0 {
                *current = current.wrapping_add(self.operands.delta()?);
            }
            old = *current;
            // The guess for the new value knows the old one.
            state.fresh_value = fresh_after(old, state.fresh_value, self.limits)?;
        }
        if shape.flags & flag::VALUE != 0 {
            let in_thread = &mut state.threads[thread as usize];
            let slot = &mut state.slots[slot_of(template, thread)];
            let fresh = state.fresh_value;
            value = take_value(code, slot, in_thread, current, fresh, &mut self.operands)?;
            state.fresh_value = fresh_after(value, fresh, self.limits)?;
        } else if code != 0 {
            return Err(SUPERFLUOUS);
        }
        Ok(if shape.op == Op::AtomicUpdate { (old, value) } else { (value, NONE) })
    }

    #[cold]
    fn symbolic(&mut self, shape: Shape, thread: u32, event: usize) -> Result<(), Fault> {
        let mut symbolic = Symbolic { event, register: None, expr: None };
        if shape.flags & flag::REGISTER != 0 {
            let last = &mut self.state.threads[thread as usize].register;
            *last = last.wrapping_add(self.operands.delta()?);
            symbolic.register = Some(*last);
        }
        if shape.flags & flag::EXPR != 0 {
            self.state.expr = self.state.expr.wrapping_add(self.operands.delta()?);
            symbolic.expr = Some(self.state.expr);
        }
        if symbolic.register.is_some() || symbolic.expr.is_some() {
            self.symbolic.push(symbolic);
        }
        Ok(())
    }

    #[cold]
    fn lock(&mut self, slot: usize) -> Result<u32, Fault> {
        let last = &mut self.state.slots[slot].value;
        *last = last.wrapping_add(self.operands.delta()?);
        if *last < self.limits.objects[2] { Ok(*last) } else { Err(UNDEFINED) }
    }
}

/// One more than the largest value used, after `value`, which must be defined.
#[inline(always)]
fn fresh_after(value: u32, fresh: u32, limits: &Limits) -> Result<u32, Fault> {
    if value < limits.values { Ok(fresh.max(value + 1)) } else { Err(UNDEFINED) }
}

/// The object that the bits of a head give; `last` is the thread's object before it.
///
/// A table of guesses instead of branches: which code comes next cannot be foreseen.
#[inline(always)]
fn take_object(
    code: u8,
    slot: &mut Slot,
    last: &mut u32,
    fresh: u32,
    operands: &mut Cursor<'_>,
) -> Result<u32, Fault> {
    debug_assert_eq!((object_code::SAME, object_code::FRESH, object_code::FROM_THREAD), (0, 3, 5));
    let stride = slot.object.wrapping_add(slot.stride);
    let relative = last.wrapping_add(slot.relative);
    let guesses = [slot.object, stride, relative, fresh, slot.object, *last, 0, 0];
    let mut object = guesses[usize::from(code & 7)];
    if code >= object_code::FROM_SLOT {
        if code > object_code::FROM_THREAD {
            return Err("has an event with an unknown way to give its object");
        }
        object = object.wrapping_add(operands.delta()?);
    }
    slot.saw_object(object, *last);
    *last = object;
    Ok(object)
}

/// The value that the bits of a head give.
#[inline(always)]
fn take_value(
    code: u8,
    slot: &mut Slot,
    thread: &mut ThreadState,
    current: &mut u32,
    fresh: u32,
    operands: &mut Cursor<'_>,
) -> Result<u32, Fault> {
    debug_assert_eq!((value_code::CURRENT, value_code::FRESH, value_code::FROM_THREAD), (0, 4, 7));
    let step = current.wrapping_add(slot.step);
    let guesses =
        [*current, step, slot.value, thread.value, fresh, *current, slot.value, thread.value];
    let mut value = guesses[usize::from(code & 7)];
    if code >= value_code::FROM_CURRENT {
        value = value.wrapping_add(operands.delta()?);
    }
    slot.saw_value(value, *current);
    thread.value = value;
    *current = value;
    Ok(value)
}

/// Checks the symbolic operands of a chunk's events and puts them where the trace keeps them.
fn store_symbolic(
    symbolic: &[Symbolic],
    start: usize,
    builder: &mut TraceBuilder,
    exprs: &[ExprFacts],
) -> Result<(), Fault> {
    for operand in symbolic {
        let at = start + operand.event;
        let thread = builder.trace.threads[at];
        if let Some(register) = operand.register {
            let owner = builder.trace.tables.registers.get(register as usize).map(|r| r.thread);
            if owner != Some(thread) {
                return Err("has an event with a register that its thread does not have");
            }
        }
        let fits = |e: u32| exprs.get(e as usize).is_some_and(|facts| facts.fits(Some(thread)));
        if !operand.expr.is_none_or(fits) {
            return Err("has an event with an expression that its thread does not have");
        }
        let value = Some(builder.trace.values[at]).filter(|&v| v != NONE).map(ValueId);
        if let Some(register) = operand.register {
            builder.note_register(RegId(register), value);
        }
        let trace = &mut builder.trace;
        match trace.ops[at] {
            Op::Guard => trace.objects[at] = operand.expr.unwrap_or(NONE),
            Op::AtomicUpdate => {
                let pair = (operand.register.map(RegId), operand.expr.map(ExprId));
                trace.symbolic_updates.insert(EventId::from_index(at), pair);
            }
            _ => trace.extras[at] = operand.register.or(operand.expr).unwrap_or(NONE),
        }
    }
    Ok(())
}
