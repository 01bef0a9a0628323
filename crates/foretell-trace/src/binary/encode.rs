//! Events to bytes: one head byte each, and operands where the guesses of [`State`] are wrong.

use foretell_varint as varint;

use super::bytes::put_delta;
use super::predict::{
    ORDER_SHIFT, RECENT, Shape, Slot, State, VARIABLES, flag, object_code, slot_of, template_code,
    value_code,
};
use crate::trace::NONE;
use crate::{EventKind, MemoryOrder, Op, SiteId, ThreadId};

/// An event taken apart into what its template has and what each run of it has.
pub(super) struct Parts {
    pub(super) object: Option<u32>,
    pub(super) old: Option<u32>,
    pub(super) value: Option<u32>,
    pub(super) register: Option<u32>,
    pub(super) expr: Option<u32>,
    pub(super) lock: Option<u32>,
}

impl Parts {
    pub(super) fn of(kind: EventKind) -> Parts {
        let mut parts =
            Parts { object: None, old: None, value: None, register: None, expr: None, lock: None };
        match kind {
            EventKind::Read { var, value, register, .. } => {
                parts.object = Some(var.0);
                parts.value = value.map(|v| v.0);
                parts.register = register.map(|r| r.0);
            }
            EventKind::Write { var, value, expr, .. } => {
                parts.object = Some(var.0);
                parts.value = value.map(|v| v.0);
                parts.expr = expr.map(|e| e.0);
            }
            EventKind::Update { var, old, new, register, expr } => {
                parts.object = Some(var.0);
                parts.old = old.map(|v| v.0);
                parts.value = new.map(|v| v.0);
                parts.register = register.map(|r| r.0);
                parts.expr = expr.map(|e| e.0);
            }
            EventKind::Acquire { lock }
            | EventKind::Release { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock }
            | EventKind::TryFailedShared { lock } => parts.object = Some(lock.0),
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => {
                parts.object = Some(cond.0);
                parts.lock = Some(lock.0);
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                parts.object = Some(cond.0);
            }
            EventKind::Post { sem } | EventKind::Down { sem } => parts.object = Some(sem.0),
            EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
                parts.object = Some(barrier.0);
            }
            EventKind::Fork { thread } | EventKind::Join { thread } => {
                parts.object = Some(thread.0);
            }
            EventKind::Begin { label } | EventKind::End { label } => {
                parts.object = label.map(|l| l.0);
            }
            EventKind::Guard { expr } => parts.expr = Some(expr.0),
            EventKind::Alloc { block } | EventKind::Free { block } => {
                parts.object = Some(block.0);
            }
            EventKind::Fence => {}
        }
        parts
    }
}

/// A read or a write without symbolic operands; `NONE` for a value or site that is not known.
pub(super) struct Access {
    pub(super) thread: u32,
    pub(super) op: Op,
    pub(super) variable: u32,
    pub(super) value: u32,
    pub(super) site: u32,
    pub(super) order: MemoryOrder,
}

/// The events of the chunk that is being filled.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) events: usize,
    runs: Vec<u8>,
    heads: Vec<u8>,
    operands: Vec<u8>,
    /// The run that is not in `runs` yet.
    run: Option<(u32, u64)>,
}

/// Events after which a chunk is cut: few enough for their columns to stay in a cache.
const CUT_EVENTS: usize = 1 << 14;
/// Bytes after which a chunk is cut, for traces that are hard to guess.
const CUT_BYTES: usize = 1 << 17;

impl Batch {
    /// Whether it is time for a new chunk.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.events >= CUT_EVENTS || self.size() >= CUT_BYTES
    }

    /// Number of bytes so far.
    #[inline]
    fn size(&self) -> usize {
        self.runs.len() + self.heads.len() + self.operands.len()
    }

    /// Adds an event. Everything it names must be defined, and the state have room for it.
    pub(super) fn push(
        &mut self,
        state: &mut State,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) {
        let site = site.map_or(NONE, |s| s.0);
        let (op, thread) = (kind.op(), thread.0);
        let order = if op.has_order() { order } else { MemoryOrder::default() };
        match kind {
            EventKind::Read { var, value, register: None, .. }
            | EventKind::Write { var, value, expr: None, .. } => {
                let value = value.map_or(NONE, |v| v.0);
                let access = Access { thread, op, variable: var.0, value, site, order };
                self.push_access(state, &access);
            }
            _ => {
                let parts = Parts::of(kind);
                let shape = Shape { order, ..shape_of(state, op, &parts, site) };
                self.push_parts(state, thread, &parts, shape);
            }
        }
    }

    /// Adds a read or a write without symbolic operands: nearly every event is one.
    #[inline]
    pub(super) fn push_access(&mut self, state: &mut State, access: &Access) {
        let &Access { thread, op, variable, value, site, order } = access;
        self.extend_run(state, thread);
        let flags = if value == NONE { 0 } else { flag::VALUE };
        let shape = Shape { op, flags, site, order };
        let (template, template_code) = self.put_template(state, thread, shape);
        let me = &mut state.threads[thread as usize];
        let slot = &mut state.slots[slot_of(template, thread)];
        let fresh = &mut state.fresh[VARIABLES];
        let object_code =
            put_object(&mut self.operands, slot, &mut me.objects[VARIABLES], fresh, variable);
        let mut value_code = 0;
        if value != NONE {
            let values = Values {
                current: &mut state.current[variable as usize],
                in_thread: &mut me.value,
                fresh: &mut state.fresh_value,
            };
            value_code = put_value(&mut self.operands, slot, values, value);
        }
        self.heads.push(template_code | object_code << 2 | value_code << 5);
        self.events += 1;
    }

    fn push_parts(&mut self, state: &mut State, thread: u32, parts: &Parts, shape: Shape) {
        self.extend_run(state, thread);
        let (template, template_code) = self.put_template(state, thread, shape);
        let slot = slot_of(template, thread);
        let object_code = match (shape.object_table(), parts.object) {
            (Some(table), Some(object)) => {
                let before = &mut state.threads[thread as usize].objects[table];
                let (slot, fresh) = (&mut state.slots[slot], &mut state.fresh[table]);
                put_object(&mut self.operands, slot, before, fresh, object)
            }
            _ => 0,
        };
        let value_code = self.put_values(state, thread, slot, shape, parts);
        if let Some(register) = parts.register {
            let last = &mut state.threads[thread as usize].register;
            put_delta(&mut self.operands, register.wrapping_sub(*last));
            *last = register;
        }
        if let Some(expr) = parts.expr {
            put_delta(&mut self.operands, expr.wrapping_sub(state.expr));
            state.expr = expr;
        }
        if let Some(lock) = parts.lock {
            let last = &mut state.slots[slot].value;
            put_delta(&mut self.operands, lock.wrapping_sub(*last));
            *last = lock;
        }
        self.heads.push(template_code | object_code << 2 | value_code << 5);
        self.events += 1;
    }

    #[inline]
    fn extend_run(&mut self, state: &mut State, thread: u32) {
        match &mut self.run {
            Some((running, length)) if *running == thread => *length += 1,
            _ => {
                self.end_run(state);
                self.run = Some((thread, 1));
            }
        }
    }

    fn end_run(&mut self, state: &mut State) {
        let Some((thread, length)) = self.run.take() else { return };
        let position = state.recent.position(thread);
        varint::push(&mut self.runs, (length - 1) << 3 | position.unwrap_or(RECENT) as u64);
        if position.is_none() {
            varint::push(&mut self.runs, u64::from(thread));
        }
        state.recent.ran(thread);
    }

    #[inline]
    fn put_template(&mut self, state: &mut State, thread: u32, shape: Shape) -> (u32, u8) {
        let before = state.threads[thread as usize].template;
        let next = state.templates[before as usize].next;
        let is = |t: u32| t != 0 && state.templates[t as usize].shape == shape;
        let (template, code) = if is(next[0]) {
            (next[0], template_code::FIRST)
        } else if is(next[1]) {
            (next[1], template_code::SECOND)
        } else {
            self.put_unexpected_template(state, before, shape)
        };
        state.templates[before as usize].followed_by(template);
        state.threads[thread as usize].template = template;
        (template, code)
    }

    fn put_unexpected_template(
        &mut self,
        state: &mut State,
        before: u32,
        shape: Shape,
    ) -> (u32, u8) {
        if let Some(&known) = state.index.get(&shape) {
            put_delta(&mut self.operands, known.wrapping_sub(before));
            return (known, template_code::GIVEN);
        }
        let new = state.add_template(shape);
        state.index.insert(shape, new);
        self.operands.extend([shape.op as u8 | (shape.order as u8) << ORDER_SHIFT, shape.flags]);
        varint::push(&mut self.operands, u64::from(shape.site.wrapping_add(1)));
        (new, template_code::NEW)
    }

    /// The old and the new value of an access.
    fn put_values(
        &mut self,
        state: &mut State,
        thread: u32,
        slot: usize,
        shape: Shape,
        parts: &Parts,
    ) -> u8 {
        let (true, Some(variable)) = (shape.op.is_access(), parts.object) else { return 0 };
        if let Some(old) = parts.old {
            let current = state.current[variable as usize];
            if shape.flags & flag::OLD_GIVEN != 0 {
                put_delta(&mut self.operands, old.wrapping_sub(current));
            }
            state.saw_value(variable as usize, old);
        }
        let Some(value) = parts.value else { return 0 };
        let values = Values {
            current: &mut state.current[variable as usize],
            in_thread: &mut state.threads[thread as usize].value,
            fresh: &mut state.fresh_value,
        };
        put_value(&mut self.operands, &mut state.slots[slot], values, value)
    }

    /// The payload of the chunk, which starts at event `first`; the batch is empty after it.
    pub(super) fn take(&mut self, state: &mut State, first: u64) -> Vec<u8> {
        self.end_run(state);
        let mut payload = Vec::with_capacity(self.size() + 20);
        varint::push(&mut payload, first);
        varint::push(&mut payload, self.events as u64);
        varint::push(&mut payload, self.runs.len() as u64);
        payload.append(&mut self.runs);
        payload.append(&mut self.heads);
        payload.append(&mut self.operands);
        self.events = 0;
        payload
    }
}

/// Writes the object of an event; `before` is the thread's object before it, `fresh` one more than
/// the largest so far.
#[inline]
fn put_object(
    operands: &mut Vec<u8>,
    slot: &mut Slot,
    before: &mut u32,
    fresh: &mut u32,
    object: u32,
) -> u8 {
    let Slot { object: last, stride, relative, .. } = *slot;
    let code = if object == last {
        object_code::SAME
    } else if object == last.wrapping_add(stride) {
        object_code::STRIDE
    } else if object == before.wrapping_add(relative) {
        object_code::RELATIVE
    } else if object == *fresh {
        object_code::FRESH
    } else {
        let distances = [object.wrapping_sub(last), object.wrapping_sub(*before)];
        let shorter = shortest(&distances);
        put_delta(operands, distances[shorter]);
        [object_code::FROM_SLOT, object_code::FROM_THREAD][shorter]
    };
    slot.saw_object(object, *before);
    *before = object;
    *fresh = (*fresh).max(object.wrapping_add(1));
    code
}

/// Values from which a value is guessed.
struct Values<'a> {
    current: &'a mut u32,
    in_thread: &'a mut u32,
    fresh: &'a mut u32,
}

/// Gives the value of an access.
#[inline]
fn put_value(operands: &mut Vec<u8>, slot: &mut Slot, values: Values<'_>, value: u32) -> u8 {
    let Values { current, in_thread, fresh } = values;
    let Slot { value: last, step, .. } = *slot;
    let code = if value == *current {
        value_code::CURRENT
    } else if value == current.wrapping_add(step) {
        value_code::STEP
    } else if value == last {
        value_code::SAME
    } else if value == *in_thread {
        value_code::THREAD
    } else if value == *fresh {
        value_code::FRESH
    } else {
        let distances = [*current, last, *in_thread].map(|guess| value.wrapping_sub(guess));
        let shorter = shortest(&distances);
        put_delta(operands, distances[shorter]);
        [value_code::FROM_CURRENT, value_code::FROM_SLOT, value_code::FROM_THREAD][shorter]
    };
    slot.saw_value(value, *current);
    *current = value;
    *in_thread = value;
    *fresh = (*fresh).max(value.wrapping_add(1));
    code
}

fn shape_of(state: &State, op: Op, parts: &Parts, site: u32) -> Shape {
    let has = |present: bool, bit: u8| if present { bit } else { 0 };
    let mut flags = has(parts.value.is_some(), flag::VALUE)
        | has(parts.register.is_some(), flag::REGISTER)
        | has(parts.expr.is_some(), flag::EXPR);
    if let Op::Begin | Op::End = op {
        flags |= has(parts.object.is_some(), flag::LABEL);
    }
    if let (Some(old), Some(variable)) = (parts.old, parts.object) {
        let is_current = state.current[variable as usize] == old;
        flags |= if is_current { flag::OLD_CURRENT } else { flag::OLD_GIVEN };
    }
    Shape { op, flags, site, order: MemoryOrder::default() }
}

/// The position of the difference that takes the fewest bytes.
#[inline]
fn shortest(differences: &[u32]) -> usize {
    let key = |&i: &usize| varint::zigzag32(differences[i]);
    (0..differences.len()).min_by_key(key).unwrap_or(0)
}
