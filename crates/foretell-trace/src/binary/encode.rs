//! Events to bytes: one head byte each, and operands where the guesses of [`State`] are wrong.

use super::bytes::{put_delta, put_varint, zigzag32};
use super::predict::{
    RECENT, Shape, Slot, State, flag, object_code, slot_of, template_code, value_code,
};
use crate::trace::NONE;
use crate::{EventKind, SiteId, ThreadId};

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
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock } => parts.object = Some(lock.0),
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
        }
        parts
    }
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

impl Batch {
    /// How many bytes there are so far.
    pub(super) fn size(&self) -> usize {
        self.runs.len() + self.heads.len() + self.operands.len()
    }

    /// Adds an event. Everything it names must be defined.
    pub(super) fn push(
        &mut self,
        state: &mut State,
        thread: ThreadId,
        kind: EventKind,
        site: Option<SiteId>,
    ) {
        self.extend_run(state, thread.0);
        let parts = Parts::of(kind);
        let shape = shape_of(state, kind, &parts, site);
        let (template, template_code) = self.put_template(state, thread, shape);
        let slot = slot_of(template, thread.0);
        let object_code = self.put_object(state, thread, slot, shape, &parts);
        let value_code = self.put_values(state, thread, slot, shape, &parts);
        if let Some(register) = parts.register {
            let last = &mut state.threads[thread.index()].register;
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
        let place = state.recent.place(thread);
        put_varint(&mut self.runs, (length - 1) << 3 | place.unwrap_or(RECENT) as u64);
        if place.is_none() {
            put_varint(&mut self.runs, u64::from(thread));
        }
        state.recent.ran(thread);
    }

    fn put_template(&mut self, state: &mut State, thread: ThreadId, shape: Shape) -> (u32, u8) {
        let before = state.threads[thread.index()].template;
        let next = state.templates[before as usize].next;
        let is = |t: u32| t != 0 && state.templates[t as usize].shape == shape;
        let (template, code) = if is(next[0]) {
            (next[0], template_code::FIRST)
        } else if is(next[1]) {
            (next[1], template_code::SECOND)
        } else if let Some(&known) = state.index.get(&shape) {
            put_delta(&mut self.operands, known.wrapping_sub(before));
            (known, template_code::GIVEN)
        } else {
            let new = state.add_template(shape);
            state.index.insert(shape, new);
            self.operands.extend([shape.op as u8, shape.flags]);
            put_varint(&mut self.operands, u64::from(shape.site.wrapping_add(1)));
            (new, template_code::NEW)
        };
        state.templates[before as usize].followed_by(template);
        state.threads[thread.index()].template = template;
        (template, code)
    }

    fn put_object(
        &mut self,
        state: &mut State,
        thread: ThreadId,
        slot: usize,
        shape: Shape,
        parts: &Parts,
    ) -> u8 {
        let (Some(table), Some(object)) = (shape.object_table(), parts.object) else { return 0 };
        let before = state.threads[thread.index()].objects[table];
        let Slot { object: last, stride, relative, .. } = state.slots[slot];
        let code = if object == last {
            object_code::SAME
        } else if object == last.wrapping_add(stride) {
            object_code::STRIDE
        } else if object == before.wrapping_add(relative) {
            object_code::RELATIVE
        } else if object == state.fresh[table] {
            object_code::FRESH
        } else {
            let distances = [object.wrapping_sub(last), object.wrapping_sub(before)];
            let shorter = shortest(&distances);
            put_delta(&mut self.operands, distances[shorter]);
            [object_code::FROM_SLOT, object_code::FROM_THREAD][shorter]
        };
        state.slots[slot].saw_object(object, before);
        state.threads[thread.index()].objects[table] = object;
        state.fresh[table] = state.fresh[table].max(object.wrapping_add(1));
        code
    }

    fn put_values(
        &mut self,
        state: &mut State,
        thread: ThreadId,
        slot: usize,
        shape: Shape,
        parts: &Parts,
    ) -> u8 {
        let (true, Some(variable)) = (shape.op.is_access(), parts.object) else { return 0 };
        let variable = variable as usize;
        if let Some(old) = parts.old {
            if shape.flags & flag::OLD_GIVEN != 0 {
                put_delta(&mut self.operands, old.wrapping_sub(state.current[variable]));
            }
            state.saw_value(variable, old);
        }
        let Some(value) = parts.value else { return 0 };
        let current = state.current[variable];
        let Slot { value: last, step, .. } = state.slots[slot];
        let in_thread = state.threads[thread.index()].value;
        let code = if value == current {
            value_code::CURRENT
        } else if value == current.wrapping_add(step) {
            value_code::STEP
        } else if value == last {
            value_code::SAME
        } else if value == in_thread {
            value_code::THREAD
        } else if value == state.fresh_value {
            value_code::FRESH
        } else {
            let distances = [current, last, in_thread].map(|guess| value.wrapping_sub(guess));
            let shorter = shortest(&distances);
            put_delta(&mut self.operands, distances[shorter]);
            [value_code::FROM_CURRENT, value_code::FROM_SLOT, value_code::FROM_THREAD][shorter]
        };
        state.slots[slot].saw_value(value, current);
        state.threads[thread.index()].value = value;
        state.saw_value(variable, value);
        code
    }

    /// The payload of the chunk, which starts at event `first`; the batch is empty after it.
    pub(super) fn take(&mut self, state: &mut State, first: u64) -> Vec<u8> {
        self.end_run(state);
        let mut payload = Vec::with_capacity(self.size() + 20);
        put_varint(&mut payload, first);
        put_varint(&mut payload, self.events as u64);
        put_varint(&mut payload, self.runs.len() as u64);
        payload.append(&mut self.runs);
        payload.append(&mut self.heads);
        payload.append(&mut self.operands);
        self.events = 0;
        payload
    }
}

fn shape_of(state: &State, kind: EventKind, parts: &Parts, site: Option<SiteId>) -> Shape {
    let op = kind.op();
    let has = |present: bool, bit: u8| if present { bit } else { 0 };
    let mut flags = has(parts.value.is_some(), flag::VALUE)
        | has(parts.register.is_some(), flag::REGISTER)
        | has(parts.expr.is_some(), flag::EXPR);
    if matches!(kind, EventKind::Begin { .. } | EventKind::End { .. }) {
        flags |= has(parts.object.is_some(), flag::LABEL);
    }
    if let (Some(old), Some(variable)) = (parts.old, parts.object) {
        let is_current = state.current[variable as usize] == old;
        flags |= if is_current { flag::OLD_CURRENT } else { flag::OLD_GIVEN };
    }
    Shape { op, flags, site: site.map_or(NONE, |s| s.0) }
}

/// The place of the difference that takes the fewest bytes.
fn shortest(differences: &[u32]) -> usize {
    let key = |&i: &usize| zigzag32(differences[i]);
    (0..differences.len()).min_by_key(key).unwrap_or(0)
}
