//! State that the encoder and the decoder share about the events so far, and the guesses they make
//! from it. An event is written as what the guesses got wrong.
//!
//! Programs repeat themselves: the step after a step is mostly the one that followed it last time,
//! a step touches the object it touched last time in this thread or the one a stride further, a
//! read sees the value that was written last. Both sides hold the same state and change it in the
//! same way after every event, so a guess costs a few bits and never has to be stored.

use rustc_hash::FxHashMap;

use super::bytes::Fault;
use crate::trace::NONE;
use crate::value::TABLE_START;
use crate::{MemoryOrder, ObjectKind, Op};

/// The value identifier of the integer 0: what a variable is guessed to hold before its first
/// known value.
pub(super) const ZERO: u32 = 1 << 30;

/// Which operands the events of a template have.
pub(super) mod flag {
    /// A value: observed by a read, written by a write or an update.
    pub(in super::super) const VALUE: u8 = 1;
    /// A block marker has a label.
    pub(in super::super) const LABEL: u8 = 2;
    /// The value read goes to a register.
    pub(in super::super) const REGISTER: u8 = 4;
    /// The value written, or the condition, is an expression.
    pub(in super::super) const EXPR: u8 = 8;
    /// The old value of an update is the current value of the variable.
    pub(in super::super) const OLD_CURRENT: u8 = 16;
    /// The old value of an update is given.
    pub(in super::super) const OLD_GIVEN: u8 = 32;
}

/// Bits of the operation in the byte that names it in a file; the memory order is above them.
pub(super) const ORDER_SHIFT: u32 = 5;

/// Encoding of the object of an event: three bits of its head.
pub(super) mod object_code {
    pub(in super::super) const SAME: u8 = 0;
    pub(in super::super) const STRIDE: u8 = 1;
    pub(in super::super) const RELATIVE: u8 = 2;
    pub(in super::super) const FRESH: u8 = 3;
    pub(in super::super) const FROM_SLOT: u8 = 4;
    pub(in super::super) const FROM_THREAD: u8 = 5;
}

/// Encoding of the value of an event: three bits of its head.
pub(super) mod value_code {
    pub(in super::super) const CURRENT: u8 = 0;
    pub(in super::super) const STEP: u8 = 1;
    pub(in super::super) const SAME: u8 = 2;
    pub(in super::super) const THREAD: u8 = 3;
    pub(in super::super) const FRESH: u8 = 4;
    pub(in super::super) const FROM_CURRENT: u8 = 5;
    pub(in super::super) const FROM_SLOT: u8 = 6;
    pub(in super::super) const FROM_THREAD: u8 = 7;
}

/// Encoding of the template of an event: the two low bits of its head.
pub(super) mod template_code {
    pub(in super::super) const FIRST: u8 = 0;
    pub(in super::super) const SECOND: u8 = 1;
    pub(in super::super) const GIVEN: u8 = 2;
    pub(in super::super) const NEW: u8 = 3;
}

/// Parts of an event that do not change from one run of a program step to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) op: Op,
    pub(super) flags: u8,
    /// The site, or `NONE`.
    pub(super) site: u32,
    /// The memory order of an atomic access or a fence, else the default.
    pub(super) order: MemoryOrder,
}

impl Shape {
    /// Whether the flags fit the operation.
    pub(super) fn check(self) -> Result<(), Fault> {
        let allowed = match self.op {
            Op::Read | Op::AtomicRead => flag::VALUE | flag::REGISTER,
            Op::Write | Op::AtomicWrite => flag::VALUE | flag::EXPR,
            Op::AtomicUpdate => 0x3f & !flag::LABEL,
            Op::Begin | Op::End => flag::LABEL,
            Op::Guard => flag::EXPR,
            _ => 0,
        };
        let both = flag::OLD_CURRENT | flag::OLD_GIVEN;
        if self.order != MemoryOrder::default() && !self.op.has_order() {
            return Err("has a memory order that does not belong to the operation");
        }
        let guard_without = self.op == Op::Guard && self.flags != flag::EXPR;
        if self.flags & !allowed != 0 || self.flags & both == both || guard_without {
            return Err("has operands that do not belong to the operation");
        }
        Ok(())
    }

    /// The table of the object, if the events have one.
    #[inline]
    pub(super) fn object_table(self) -> Option<usize> {
        match self.op.object_kind() {
            ObjectKind::Label if self.flags & flag::LABEL == 0 => None,
            ObjectKind::Expression | ObjectKind::Nothing => None,
            kind => Some(table_of(kind)),
        }
    }
}

/// The table of variables.
pub(super) const VARIABLES: usize = 1;

/// The table of memory blocks among the tables of objects.
pub(super) const MEM_BLOCKS: usize = 7;

/// The table of a kind of objects: the number of the name table in the file, but for memory
/// blocks.
pub(super) fn table_of(kind: ObjectKind) -> usize {
    match kind {
        ObjectKind::Thread => 0,
        ObjectKind::Variable => VARIABLES,
        ObjectKind::Lock => 2,
        ObjectKind::Condition => 3,
        ObjectKind::Semaphore => 4,
        ObjectKind::Barrier => 5,
        ObjectKind::Label | ObjectKind::Expression | ObjectKind::Nothing => 6,
        ObjectKind::MemoryBlock => MEM_BLOCKS,
    }
}

/// Tables of objects that events name; [`table_of`] numbers them.
pub(super) const OBJECT_TABLES: usize = 8;

/// A shape and what followed it.
#[derive(Clone, Copy)]
pub(super) struct Template {
    pub(super) shape: Shape,
    /// [`Shape::object_table`], or `u8::MAX`; kept because the decoder asks it for every event.
    pub(super) table: u8,
    /// The templates that followed this one in some thread, the most recent first.
    pub(super) next: [u32; 2],
}

/// Last event of a template in a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    pub(super) object: u32,
    /// Distance of the last move of the object.
    pub(super) stride: u32,
    /// Its distance from the thread's object before it.
    pub(super) relative: u32,
    /// Its value, or the lock of its wait.
    pub(super) value: u32,
    /// Distance of the value from the current value of the variable.
    pub(super) step: u32,
}

/// Last event of a thread.
#[derive(Clone, Copy)]
pub(super) struct ThreadState {
    pub(super) template: u32,
    pub(super) objects: [u32; OBJECT_TABLES],
    pub(super) value: u32,
    pub(super) register: u32,
}

/// Threads and templates share this many slots; two that meet in one slot guess badly, no more.
const SLOTS: usize = 1 << 13;

/// Everything both sides know.
pub(super) struct State {
    /// Template 0 stands for the start of a thread and is no event's.
    pub(super) templates: Vec<Template>,
    pub(super) slots: Box<[Slot; SLOTS]>,
    pub(super) threads: Vec<ThreadState>,
    /// The current value of every variable.
    pub(super) current: Vec<u32>,
    /// One more than the largest object number used, by table.
    pub(super) fresh: [u32; OBJECT_TABLES],
    /// One more than the largest value identifier used, from the start of the table on.
    pub(super) fresh_value: u32,
    /// The expression used last.
    pub(super) expr: u32,
    pub(super) recent: Recent,
    /// Shape to template; only the encoder fills it.
    pub(super) index: FxHashMap<Shape, u32>,
}

impl State {
    pub(super) fn new() -> Self {
        let shape = Shape { op: Op::Begin, flags: 0, site: NONE, order: MemoryOrder::default() };
        State {
            templates: vec![Template { shape, table: u8::MAX, next: [0; 2] }],
            slots: Box::new([Slot::default(); SLOTS]),
            threads: Vec::new(),
            current: Vec::new(),
            fresh: [0; OBJECT_TABLES],
            fresh_value: TABLE_START,
            expr: 0,
            recent: Recent::default(),
            index: FxHashMap::default(),
        }
    }

    /// Whether there is no room for a thread or a variable.
    #[inline]
    pub(super) fn lacks(&self, thread: u32, variable: u32) -> bool {
        thread as usize >= self.threads.len() || variable as usize >= self.current.len()
    }

    /// Makes room for threads and variables that have been defined since.
    pub(super) fn grow(&mut self, threads: usize, variables: usize) {
        let start =
            ThreadState { template: 0, objects: [0; OBJECT_TABLES], value: ZERO, register: 0 };
        self.threads.resize(threads, start);
        self.current.resize(variables, ZERO);
    }

    /// Learns what a variable holds.
    #[inline]
    pub(super) fn saw_value(&mut self, variable: usize, value: u32) {
        self.current[variable] = value;
        self.fresh_value = self.fresh_value.max(value.wrapping_add(1));
    }

    /// Adds a template and gives its number.
    pub(super) fn add_template(&mut self, shape: Shape) -> u32 {
        let table = shape.object_table().map_or(u8::MAX, |t| t as u8);
        self.templates.push(Template { shape, table, next: [0; 2] });
        (self.templates.len() - 1) as u32
    }
}

/// The slot of a template in a thread.
#[inline]
pub(super) fn slot_of(template: u32, thread: u32) -> usize {
    (template ^ thread.wrapping_mul(0x9e5)) as usize % SLOTS
}

impl Template {
    /// Learns that `template` came next.
    #[inline]
    pub(super) fn followed_by(&mut self, template: u32) {
        if self.next[0] != template {
            self.next = [template, self.next[0]];
        }
    }
}

impl Slot {
    /// Learns the object of an event; `before` is the thread's object before it.
    #[inline]
    pub(super) fn saw_object(&mut self, object: u32, before: u32) {
        let moved = object.wrapping_sub(self.object);
        self.stride = if moved == 0 { self.stride } else { moved };
        self.relative = object.wrapping_sub(before);
        self.object = object;
    }

    /// Learns the value of an event; `current` is the variable's value before it.
    #[inline]
    pub(super) fn saw_value(&mut self, value: u32, current: u32) {
        self.step = value.wrapping_sub(current);
        self.value = value;
    }
}

/// The threads that ran last, the most recent first, so that going back to one takes three bits.
#[derive(Default)]
pub(super) struct Recent {
    threads: Vec<u32>,
}

/// Places in the list; the number itself stands for "a thread that is given".
pub(super) const RECENT: usize = 7;

impl Recent {
    pub(super) fn position(&self, thread: u32) -> Option<usize> {
        self.threads.iter().position(|&t| t == thread)
    }

    pub(super) fn get(&self, position: usize) -> Option<u32> {
        self.threads.get(position).copied()
    }

    /// Moves `thread` to the front.
    pub(super) fn ran(&mut self, thread: u32) {
        match self.position(thread) {
            Some(position) => self.threads[..=position].rotate_right(1),
            None => {
                self.threads.insert(0, thread);
                self.threads.truncate(RECENT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_threads_move_to_the_front() {
        let mut recent = Recent::default();
        for thread in 0..9 {
            recent.ran(thread);
        }
        assert_eq!(recent.threads, [8, 7, 6, 5, 4, 3, 2]);
        recent.ran(5);
        assert_eq!(recent.threads, [5, 8, 7, 6, 4, 3, 2]);
        assert_eq!((recent.position(4), recent.position(1), recent.get(7)), (Some(4), None, None));
    }

    #[test]
    fn operands_must_fit_the_operation() {
        let order = MemoryOrder::default();
        let check = |op, flags| Shape { op, flags, site: NONE, order }.check().is_ok();
        assert!(check(Op::Read, flag::VALUE | flag::REGISTER));
        assert!(!check(Op::Read, flag::EXPR));
        assert!(check(Op::AtomicUpdate, flag::VALUE | flag::OLD_CURRENT | flag::EXPR));
        assert!(!check(Op::AtomicUpdate, flag::OLD_CURRENT | flag::OLD_GIVEN));
        assert!(check(Op::Guard, flag::EXPR) && !check(Op::Guard, 0));
        assert!(check(Op::Acquire, 0) && !check(Op::Acquire, flag::VALUE));
        assert!(!check(Op::Begin, 64));
        let relaxed =
            |op| Shape { op, flags: 0, site: NONE, order: MemoryOrder::Relaxed }.check().is_ok();
        assert!(relaxed(Op::Fence) && relaxed(Op::AtomicWrite) && !relaxed(Op::Write));
    }
}
