//! The trace itself: events in columns, names and values interned.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::expr::{Exprs, Sort};
use crate::{
    BarrierId, CondId, Event, EventId, EventKind, ExprId, LabelId, LockId, MemBlockId, MemoryOrder,
    Names, Op, RegId, SemId, SiteId, ThreadId, TraceBuilder, ValueId, Values, VarId,
};

/// "Nothing here" in a 32-bit column.
pub(crate) const NONE: u32 = u32::MAX;

/// The events of one execution in observed order, with everything they name.
///
/// Columns of 32-bit identifiers and one byte for the operation: 21 bytes an event. A trace is
/// immutable; [`TraceBuilder`] makes one. Nothing here says that the trace is a legal execution:
/// that is for the legality check, and everything downstream of a reader may
/// assume it.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    pub(crate) ops: Vec<Op>,
    pub(crate) threads: Vec<ThreadId>,
    /// Index of the object, its kind given by the operation; `NONE` for a block without label.
    pub(crate) objects: Vec<u32>,
    /// The lock of a wait, the new value of an update, the register of a read, the expression of
    /// a write.
    pub(crate) extras: Vec<u32>,
    /// The value of a read or write, the old value of an update.
    pub(crate) values: Vec<u32>,
    pub(crate) sites: Vec<u32>,
    /// Memory orders up to the last event whose order is not the default.
    pub(crate) orders: Vec<MemoryOrder>,
    /// Register and expression of symbolic updates: the one operation with four operands.
    pub(crate) symbolic_updates: FxHashMap<EventId, (Option<RegId>, Option<ExprId>)>,
    pub(crate) tables: Tables,
}

/// Tables of the things that the events of a trace name.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tables {
    pub(crate) thread_names: Names,
    /// Names for people, from `#! name` declarations.
    pub(crate) display_names: FxHashMap<ThreadId, String>,
    pub(crate) variables: Names,
    pub(crate) locks: Names,
    pub(crate) conditions: Names,
    pub(crate) semaphores: Names,
    pub(crate) barriers: Names,
    pub(crate) labels: Names,
    pub(crate) mem_blocks: Names,
    pub(crate) locations: Names,
    pub(crate) sites: Vec<Site>,
    pub(crate) site_index: FxHashMap<Site, SiteId>,
    /// The site without a caller of each location that was asked for, else `NONE`: a shorter way to
    /// what `site_index` says of them.
    pub(crate) bare_sites: Vec<u32>,
    pub(crate) registers: Vec<Register>,
    pub(crate) register_names: Names,
    pub(crate) register_index: FxHashMap<Register, RegId>,
    /// The sort of the value first put in each register; integer where absent.
    pub(crate) register_sorts: FxHashMap<RegId, Sort>,
    pub(crate) values: Values,
    pub(crate) exprs: Exprs,
    /// Declared initial values of variables.
    pub(crate) initial_values: FxHashMap<VarId, ValueId>,
    /// Declared initial counts of semaphores; 0 where absent.
    pub(crate) initial_counts: FxHashMap<SemId, u64>,
    pub(crate) parties: FxHashMap<BarrierId, u32>,
    pub(crate) opaque: FxHashMap<VarId, ()>,
    pub(crate) parts: Parts,
    /// Locks that synchronise nothing.
    pub(crate) order_only: FxHashMap<LockId, ()>,
    /// Threads that had ended when the recording did.
    pub(crate) ended: FxHashMap<ThreadId, ()>,
    pub(crate) meta: BTreeMap<String, String>,
}

impl Tables {
    /// The identifier of a site that may be new.
    pub(crate) fn add_site(&mut self, site: Site) -> SiteId {
        let next = SiteId::from_index(self.sites.len());
        let id = *self.site_index.entry(site).or_insert(next);
        if id == next {
            self.sites.push(site);
        }
        if site.caller.is_none() {
            let location = site.location as usize;
            if location >= self.bare_sites.len() {
                self.bare_sites.resize(location + 1, NONE);
            }
            self.bare_sites[location] = id.0;
        }
        id
    }
}

/// The memory blocks that variables, locks and conditions lie in.
#[derive(Clone, Default, Debug)]
pub(crate) struct Parts {
    pub(crate) variables: FxHashMap<VarId, MemBlockId>,
    pub(crate) locks: FxHashMap<LockId, MemBlockId>,
    pub(crate) conditions: FxHashMap<CondId, MemBlockId>,
    /// The variables in each block.
    contents: Vec<Vec<VarId>>,
}

impl Parts {
    pub(crate) fn add_variable(&mut self, v: VarId, block: MemBlockId) {
        let before = self.variables.insert(v, block);
        if before == Some(block) {
            return;
        }
        if let Some(before) = before {
            self.contents[before.index()].retain(|&x| x != v);
        }
        if self.contents.len() <= block.index() {
            self.contents.resize(block.index() + 1, Vec::new());
        }
        self.contents[block.index()].push(v);
    }
}

/// A location in the source together with the call that led there: a node of a call tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// The location: an index for [`Trace::location`].
    pub(crate) location: u32,
    /// The site of the call, if the stack is known.
    pub caller: Option<SiteId>,
}

/// A register of a symbolic trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register {
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// An index for [`Trace::register_name`].
    pub(crate) name: u32,
}

macro_rules! name_getters {
    ($($(#[$doc:meta])* $count:ident $name:ident $find:ident $id:ident $field:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self, id: $id) -> &str {
            self.tables.$field.get(id.0).unwrap_or("?")
        }

        #[doc = concat!("How many there are of what [`Trace::", stringify!($name), "`] names.")]
        pub fn $count(&self) -> usize {
            self.tables.$field.len()
        }

        #[doc = concat!("The inverse of [`Trace::", stringify!($name), "`].")]
        pub fn $find(&self, name: &str) -> Option<$id> {
            self.tables.$field.find(name).map($id)
        }
    )*};
}

impl Trace {
    /// Number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The identifiers of all events, in observed order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(EventId)
    }

    /// All events, decoded, in observed order.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = Event> + ExactSizeIterator + '_ {
        self.ids().map(|e| self.event(e))
    }

    /// The operation of an event.
    #[inline]
    pub fn op(&self, e: EventId) -> Op {
        self.ops[e.index()]
    }

    /// The thread of an event.
    #[inline]
    pub fn thread(&self, e: EventId) -> ThreadId {
        self.threads[e.index()]
    }

    /// The variable of an event, if it is an access.
    #[inline]
    pub fn variable(&self, e: EventId) -> Option<VarId> {
        self.op(e).is_access().then(|| VarId(self.objects[e.index()]))
    }

    /// The variables that an event accesses: one for an access, every variable in the block for
    /// `free` (a plain write of an unknown value), none for other operations.
    #[inline]
    pub fn accessed_variables(&self, e: EventId) -> impl Iterator<Item = VarId> + Clone + '_ {
        let many = self.freed_block(e).map_or(&[][..], |b| self.variables_in(b));
        self.variable(e).into_iter().chain(many.iter().copied())
    }

    /// The block that an event frees, if it is a `free`.
    #[inline]
    pub fn freed_block(&self, e: EventId) -> Option<MemBlockId> {
        (self.op(e) == Op::Free).then(|| MemBlockId(self.objects[e.index()]))
    }

    /// The memory order of an event; the default where it has none.
    #[inline]
    pub fn order(&self, e: EventId) -> MemoryOrder {
        self.orders.get(e.index()).copied().unwrap_or_default()
    }

    /// Where in the source an event happened, if known.
    #[inline]
    pub fn site(&self, e: EventId) -> Option<SiteId> {
        some(self.sites[e.index()]).map(SiteId)
    }

    /// The value that an access observed, if it observes and the value is known.
    #[inline]
    pub fn read_value(&self, e: EventId) -> Option<ValueId> {
        if self.op(e).reads() { some(self.values[e.index()]).map(ValueId) } else { None }
    }

    /// The value that an access wrote, if it writes and the value is known.
    #[inline]
    pub fn written_value(&self, e: EventId) -> Option<ValueId> {
        let column = match self.op(e) {
            Op::Write | Op::AtomicWrite => &self.values,
            Op::AtomicUpdate => &self.extras,
            _ => return None,
        };
        some(column[e.index()]).map(ValueId)
    }

    /// An event, decoded.
    ///
    /// # Panics
    /// If there is no such event.
    pub fn event(&self, id: EventId) -> Event {
        let i = id.index();
        let object = self.objects[i];
        let extra = some(self.extras[i]);
        let value = some(self.values[i]).map(ValueId);
        let (var, lock, cond) = (VarId(object), LockId(object), CondId(object));
        let condition_lock = || LockId(self.extras[i]);
        let kind = match self.ops[i] {
            op @ (Op::Read | Op::AtomicRead) => {
                EventKind::Read { var, atomic: op.is_atomic(), value, register: extra.map(RegId) }
            }
            op @ (Op::Write | Op::AtomicWrite) => {
                EventKind::Write { var, atomic: op.is_atomic(), value, expr: extra.map(ExprId) }
            }
            Op::AtomicUpdate => {
                let (register, expr) =
                    self.symbolic_updates.get(&id).copied().unwrap_or((None, None));
                EventKind::Update { var, old: value, new: extra.map(ValueId), register, expr }
            }
            Op::Acquire => EventKind::Acquire { lock },
            Op::Release => EventKind::Release { lock },
            Op::AcquireShared => EventKind::AcquireShared { lock },
            Op::TryAcquire => EventKind::TryAcquire { lock },
            Op::TryAcquireShared => EventKind::TryAcquireShared { lock },
            Op::ReleaseShared => EventKind::ReleaseShared { lock },
            Op::TryFailed => EventKind::TryFailed { lock },
            Op::TryFailedShared => EventKind::TryFailedShared { lock },
            Op::Wait => EventKind::Wait { cond, lock: condition_lock() },
            Op::Woken => EventKind::Woken { cond, lock: condition_lock() },
            Op::TimedOut => EventKind::TimedOut { cond, lock: condition_lock() },
            Op::Notify => EventKind::Notify { cond },
            Op::NotifyAll => EventKind::NotifyAll { cond },
            Op::Post => EventKind::Post { sem: SemId(object) },
            Op::Down => EventKind::Down { sem: SemId(object) },
            Op::Arrive => EventKind::Arrive { barrier: BarrierId(object) },
            Op::Leave => EventKind::Leave { barrier: BarrierId(object) },
            Op::Fork => EventKind::Fork { thread: ThreadId(object) },
            Op::Join => EventKind::Join { thread: ThreadId(object) },
            Op::Begin => EventKind::Begin { label: some(object).map(LabelId) },
            Op::End => EventKind::End { label: some(object).map(LabelId) },
            Op::Guard => EventKind::Guard { expr: ExprId(object) },
            Op::Fence => EventKind::Fence,
            Op::Alloc => EventKind::Alloc { block: MemBlockId(object) },
            Op::Free => EventKind::Free { block: MemBlockId(object) },
        };
        Event { id, thread: self.threads[i], kind, site: self.site(id), order: self.order(id) }
    }

    name_getters! {
        /// The name of a thread, as the trace's text writes it.
        thread_count thread_name find_thread ThreadId thread_names;
        /// The name of a variable.
        variable_count variable_name find_variable VarId variables;
        /// The name of a lock.
        lock_count lock_name find_lock LockId locks;
        /// The name of a condition variable.
        condition_count condition_name find_condition CondId conditions;
        /// The name of a semaphore.
        semaphore_count semaphore_name find_semaphore SemId semaphores;
        /// The name of a barrier.
        barrier_count barrier_name find_barrier BarrierId barriers;
        /// The label of an atomic block.
        label_count label_name find_label LabelId labels;
        /// The name of a memory block.
        mem_block_count mem_block_name find_mem_block MemBlockId mem_blocks;
    }

    /// The declared name of a thread for people to read, if there is one.
    pub(crate) fn declared_display_name(&self, t: ThreadId) -> Option<&str> {
        self.tables.display_names.get(&t).map(String::as_str)
    }

    /// The name of a thread for people: the declared one, else the one in the trace.
    pub fn display_name(&self, t: ThreadId) -> &str {
        self.declared_display_name(t).unwrap_or_else(|| self.thread_name(t))
    }

    /// Number of sites.
    pub fn site_count(&self) -> usize {
        self.tables.sites.len()
    }

    /// The site behind an identifier of this trace.
    pub fn site_node(&self, s: SiteId) -> Site {
        self.tables.sites[s.index()]
    }

    /// The location of a site, as written in the trace (`file:line` where known).
    pub fn location(&self, s: SiteId) -> &str {
        self.tables.locations.get(self.site_node(s).location).unwrap_or("?")
    }

    /// A number for the location of a site: equal for sites that differ only in their callers.
    pub fn location_index(&self, s: SiteId) -> u32 {
        self.site_node(s).location
    }

    /// Number of registers.
    pub fn register_count(&self) -> usize {
        self.tables.registers.len()
    }

    /// The register behind an identifier of this trace.
    pub fn register(&self, r: RegId) -> Register {
        self.tables.registers[r.index()]
    }

    /// The name of a register, without the `%`.
    pub fn register_name(&self, r: RegId) -> &str {
        self.tables.register_names.get(self.register(r).name).unwrap_or("?")
    }

    /// The sort of a register: that of the value first put in it, or integer if that is not known.
    pub(crate) fn register_sort(&self, r: RegId) -> Sort {
        self.tables.register_sorts.get(&r).copied().unwrap_or(Sort::Int)
    }

    /// The values of this trace.
    pub fn values(&self) -> &Values {
        &self.tables.values
    }

    /// The expressions of this trace.
    pub fn exprs(&self) -> &Exprs {
        &self.tables.exprs
    }

    /// The declared initial value of a variable, if there is one.
    pub fn declared_initial_value(&self, v: VarId) -> Option<ValueId> {
        self.tables.initial_values.get(&v).copied()
    }

    /// The initial count of a semaphore: the declared one, else 0.
    pub fn initial_count(&self, s: SemId) -> u64 {
        self.tables.initial_counts.get(&s).copied().unwrap_or(0)
    }

    /// Whether the initial count of a semaphore was declared.
    pub(crate) fn has_declared_count(&self, s: SemId) -> bool {
        self.tables.initial_counts.contains_key(&s)
    }

    /// The number of parties of a barrier, if declared.
    pub fn parties(&self, b: BarrierId) -> Option<u32> {
        self.tables.parties.get(&b).copied()
    }

    /// Whether a variable is also written by code that was not recorded.
    #[inline]
    pub fn is_opaque(&self, v: VarId) -> bool {
        !self.tables.opaque.is_empty() && self.tables.opaque.contains_key(&v)
    }

    /// Whether a lock only excludes interleavings: one that the recorder added, whose releases
    /// happen before no acquire.
    #[inline]
    pub fn is_order_only(&self, l: LockId) -> bool {
        !self.tables.order_only.is_empty() && self.tables.order_only.contains_key(&l)
    }

    /// Whether a thread had ended when the recording did.
    pub fn has_ended(&self, t: ThreadId) -> bool {
        self.tables.ended.contains_key(&t)
    }

    /// Whether the recorder said of some thread that it had ended.
    pub fn knows_ended(&self) -> bool {
        !self.tables.ended.is_empty()
    }

    /// The variables in a memory block, in the order of their declaration.
    #[inline]
    pub fn variables_in(&self, b: MemBlockId) -> &[VarId] {
        self.tables.parts.contents.get(b.index()).map_or(&[], Vec::as_slice)
    }

    /// The memory block that a variable lies in, if it was declared.
    pub fn block_of_variable(&self, v: VarId) -> Option<MemBlockId> {
        self.tables.parts.variables.get(&v).copied()
    }

    /// The memory block that a lock lies in, if it was declared.
    pub fn block_of_lock(&self, l: LockId) -> Option<MemBlockId> {
        self.tables.parts.locks.get(&l).copied()
    }

    /// The memory block that a condition variable lies in, if it was declared.
    pub fn block_of_condition(&self, c: CondId) -> Option<MemBlockId> {
        self.tables.parts.conditions.get(&c).copied()
    }

    /// Notes of the recorder on the execution as a whole, by key; `ended` is the end of the program
    /// (`exit 0`, `signal 11`).
    pub fn meta(&self) -> &BTreeMap<String, String> {
        &self.tables.meta
    }

    /// A builder that goes on where this trace ends.
    pub fn into_builder(self) -> TraceBuilder {
        TraceBuilder { trace: self }
    }

    /// A builder with this trace's names and declarations, and no events: identifiers of this
    /// trace stay valid in what it builds.
    pub fn builder_with_names(&self) -> TraceBuilder {
        TraceBuilder { trace: Trace { tables: self.tables.clone(), ..Trace::default() } }
    }
}

#[inline]
fn some(column: u32) -> Option<u32> {
    (column != NONE).then_some(column)
}
