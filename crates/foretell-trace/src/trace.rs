//! The trace itself: events in columns, names and values interned, and the builder that fills it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::expr::{Exprs, Sort};
use crate::{
    BarrierId, CondId, Event, EventId, EventKind, ExprId, LabelId, LockId, Names, ObjectKind, Op,
    RegId, SemId, SiteId, ThreadId, ValueId, Values, VarId,
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
    pub(crate) locations: Names,
    pub(crate) sites: Vec<Site>,
    pub(crate) site_index: FxHashMap<Site, SiteId>,
    /// The site without a caller of each location that was asked for, else `NONE`: a shorter way to
    /// what `site_index` says of them.
    bare_sites: Vec<u32>,
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
    pub(crate) meta: BTreeMap<String, String>,
}

impl Tables {
    /// The identifier of a site that may be new.
    fn add_site(&mut self, site: Site) -> SiteId {
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
        };
        Event { id, thread: self.threads[i], kind, site: self.site(id) }
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

/// Makes a [`Trace`], one event after the other.
///
/// Objects are interned first (`builder.variable("x")`), then events are pushed.
#[derive(Clone, Default, Debug)]
pub struct TraceBuilder {
    pub(crate) trace: Trace,
}

macro_rules! interners {
    ($($(#[$doc:meta])* $name:ident $id:ident $field:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, name: &str) -> $id {
            $id(self.trace.tables.$field.intern(name))
        }
    )*};
}

impl TraceBuilder {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for `events` more events.
    pub fn reserve(&mut self, events: usize) {
        self.trace.ops.reserve(events);
        self.trace.threads.reserve(events);
        self.trace.objects.reserve(events);
        self.trace.extras.reserve(events);
        self.trace.values.reserve(events);
        self.trace.sites.reserve(events);
    }

    interners! {
        /// The thread with this name.
        thread ThreadId thread_names;
        /// The variable with this name.
        variable VarId variables;
        /// The lock with this name.
        lock LockId locks;
        /// The condition variable with this name.
        condition CondId conditions;
        /// The semaphore with this name.
        semaphore SemId semaphores;
        /// The barrier with this name.
        barrier BarrierId barriers;
        /// The block label with this text.
        label LabelId labels;
    }

    /// The site for a location and the call that led there.
    #[inline]
    pub fn site(&mut self, location: &str, caller: Option<SiteId>) -> SiteId {
        let tables = &mut self.trace.tables;
        let location = tables.locations.intern(location);
        match (caller, tables.bare_sites.get(location as usize)) {
            (None, Some(&site)) if site != NONE => SiteId(site),
            _ => tables.add_site(Site { location, caller }),
        }
    }

    /// The register of `thread` with this name (without the `%`).
    pub fn register(&mut self, thread: ThreadId, name: &str) -> RegId {
        let register = Register { thread, name: self.trace.tables.register_names.intern(name) };
        let registers = &mut self.trace.tables.registers;
        *self.trace.tables.register_index.entry(register).or_insert_with(|| {
            registers.push(register);
            RegId::from_index(registers.len() - 1)
        })
    }

    /// Notes that a value goes to a register; the first one fixes the register's sort.
    ///
    /// Pushing an event does this by itself. A reader calls it before it parses the expression of
    /// the very update that fills the register.
    pub fn note_register(&mut self, r: RegId, value: Option<ValueId>) {
        let sort = value.and_then(|v| self.trace.tables.values.get(v)).map_or(Sort::Int, Sort::of);
        self.trace.tables.register_sorts.entry(r).or_insert(sort);
    }

    /// The value table, to intern values in.
    #[inline]
    pub fn values(&mut self) -> &mut Values {
        &mut self.trace.tables.values
    }

    /// The expression table, to intern expressions in.
    pub fn exprs(&mut self) -> &mut Exprs {
        &mut self.trace.tables.exprs
    }

    /// Declares a name for people.
    pub fn set_display_name(&mut self, t: ThreadId, name: &str) {
        self.trace.tables.display_names.insert(t, name.to_owned());
    }

    /// Declares the initial value of a variable.
    pub fn set_initial_value(&mut self, v: VarId, value: ValueId) {
        self.trace.tables.initial_values.insert(v, value);
    }

    /// Declares the initial count of a semaphore.
    pub fn set_initial_count(&mut self, s: SemId, count: u64) {
        self.trace.tables.initial_counts.insert(s, count);
    }

    /// Declares the parties of a barrier.
    pub fn set_parties(&mut self, b: BarrierId, parties: u32) {
        self.trace.tables.parties.insert(b, parties);
    }

    /// Declares a variable opaque: also written by code that was not recorded.
    pub fn set_opaque(&mut self, v: VarId) {
        self.trace.tables.opaque.insert(v, ());
    }

    /// Says something about the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        self.trace.tables.meta.insert(key.to_owned(), value.to_owned());
    }

    /// Adds an event at the end.
    #[inline]
    pub fn push(&mut self, thread: ThreadId, kind: EventKind, site: Option<SiteId>) -> EventId {
        let id = EventId::from_index(self.trace.len());
        let (object, extra, value) = self.columns(id, kind);
        self.trace.ops.push(kind.op());
        self.trace.threads.push(thread);
        self.trace.objects.push(object);
        self.trace.extras.push(extra);
        self.trace.values.push(value);
        self.trace.sites.push(site.map_or(NONE, |s| s.0));
        id
    }

    /// Makes an event of the same thread something else.
    pub(crate) fn replace(&mut self, id: EventId, kind: EventKind, site: Option<SiteId>) {
        self.trace.symbolic_updates.remove(&id);
        let (object, extra, value) = self.columns(id, kind);
        let i = id.index();
        self.trace.ops[i] = kind.op();
        self.trace.objects[i] = object;
        self.trace.extras[i] = extra;
        self.trace.values[i] = value;
        self.trace.sites[i] = site.map_or(NONE, |s| s.0);
    }

    /// Renames every thread `t` to `into[t]`; a thread that gets the name of another is removed.
    ///
    /// # Panics
    /// If `into` does not have one thread for each, each of them its own.
    pub(crate) fn merge_threads(&mut self, into: &[ThreadId]) {
        let tables = &mut self.trace.tables;
        let mut names = Names::new();
        let mut ids = vec![ThreadId(NONE); into.len()];
        for (t, name) in tables.thread_names.iter().enumerate() {
            if into[t].index() == t {
                ids[t] = ThreadId(names.intern(name));
            }
        }
        let new = |t: ThreadId| ids[into[t.index()].index()];
        tables.thread_names = names;
        // A name declared for the thread itself comes before one that it takes over.
        let (own, taken): (Vec<_>, Vec<_>) =
            tables.display_names.drain().partition(|&(t, _)| into[t.index()] == t);
        let renamed = taken.into_iter().chain(own).map(|(t, name)| (new(t), name));
        tables.display_names = renamed.collect();
        tables.registers.iter_mut().for_each(|r| r.thread = new(r.thread));
        tables.register_index =
            (0u32..).zip(&tables.registers).map(|(i, &register)| (register, RegId(i))).collect();
        self.trace.threads.iter_mut().for_each(|t| *t = new(*t));
        for (op, object) in self.trace.ops.iter().zip(&mut self.trace.objects) {
            if op.object_kind() == ObjectKind::Thread {
                *object = new(ThreadId(*object)).0;
            }
        }
    }

    /// Object, extra and value columns of an event.
    #[inline]
    fn columns(&mut self, id: EventId, kind: EventKind) -> (u32, u32, u32) {
        let (object, extra, value) = match kind {
            EventKind::Read { var, value, register, .. } => {
                if let Some(r) = register {
                    self.note_register(r, value);
                }
                (var.0, register.map(|r| r.0), value)
            }
            EventKind::Write { var, value, expr, .. } => (var.0, expr.map(|e| e.0), value),
            EventKind::Update { var, old, new, register, expr } => {
                if register.is_some() || expr.is_some() {
                    self.trace.symbolic_updates.insert(id, (register, expr));
                    register.into_iter().for_each(|r| self.note_register(r, old));
                }
                (var.0, new.map(|v| v.0), old)
            }
            EventKind::Acquire { lock }
            | EventKind::Release { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock }
            | EventKind::TryFailedShared { lock } => (lock.0, None, None),
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => (cond.0, Some(lock.0), None),
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => (cond.0, None, None),
            EventKind::Post { sem } | EventKind::Down { sem } => (sem.0, None, None),
            EventKind::Arrive { barrier } | EventKind::Leave { barrier } => (barrier.0, None, None),
            EventKind::Fork { thread } | EventKind::Join { thread } => (thread.0, None, None),
            EventKind::Begin { label } | EventKind::End { label } => {
                (label.map_or(NONE, |l| l.0), None, None)
            }
            EventKind::Guard { expr } => (expr.0, None, None),
        };
        (object, extra.unwrap_or(NONE), value.map_or(NONE, |v| v.0))
    }

    /// The trace built so far.
    #[inline]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The trace.
    pub fn build(self) -> Trace {
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn every_kind_of_event_comes_back() {
        let mut b = TraceBuilder::new();
        let (t, u) = (b.thread("T1"), b.thread("T2"));
        let (var, lock, cond) = (b.variable("x"), b.lock("x"), b.condition("x"));
        let (sem, barrier, label) = (b.semaphore("s"), b.barrier("b"), b.label("x"));
        let value = Some(b.values().intern(Value::Int(5)));
        let new = Some(b.values().intern(Value::Int(1 << 40)));
        let register = Some(b.register(t, "1"));
        let expr = b.exprs().intern(crate::expr::Expr::Bool(true));
        let caller = b.site("main.c:3", None);
        let deep = b.site("bank.c:41", Some(caller));
        let site = Some(deep);
        let kinds = [
            EventKind::Read { var, atomic: false, value, register },
            EventKind::Read { var, atomic: true, value: None, register: None },
            EventKind::Write { var, atomic: false, value, expr: Some(expr) },
            EventKind::Write { var, atomic: true, value: None, expr: None },
            EventKind::Update { var, old: value, new, register, expr: Some(expr) },
            EventKind::Update { var, old: None, new: None, register: None, expr: None },
            EventKind::Acquire { lock },
            EventKind::Release { lock },
            EventKind::AcquireShared { lock },
            EventKind::ReleaseShared { lock },
            EventKind::TryFailed { lock },
            EventKind::TryFailedShared { lock },
            EventKind::TryAcquire { lock },
            EventKind::TryAcquireShared { lock },
            EventKind::Wait { cond, lock },
            EventKind::Woken { cond, lock },
            EventKind::TimedOut { cond, lock },
            EventKind::Notify { cond },
            EventKind::NotifyAll { cond },
            EventKind::Post { sem },
            EventKind::Down { sem },
            EventKind::Arrive { barrier },
            EventKind::Leave { barrier },
            EventKind::Fork { thread: u },
            EventKind::Join { thread: u },
            EventKind::Begin { label: Some(label) },
            EventKind::End { label: None },
            EventKind::Guard { expr },
        ];
        for (i, kind) in kinds.into_iter().enumerate() {
            let site = if i % 2 == 0 { site } else { None };
            let id = b.push(t, kind, site);
            let event = Event { id, thread: t, kind, site };
            assert_eq!(b.trace().event(id), event);
        }
        let trace = b.build();
        assert_eq!(trace.len(), kinds.len());
        assert_eq!(trace.events().map(|e| e.kind).collect::<Vec<_>>(), kinds);
        assert_eq!(trace.location(deep), "bank.c:41");
        assert_eq!(trace.site_node(deep).caller.map(|c| trace.location(c)), Some("main.c:3"));
        assert_eq!(trace.read_value(EventId(4)), value);
        assert_eq!(trace.written_value(EventId(4)), new);
        assert_eq!(trace.written_value(EventId(2)), value);
        assert_eq!(trace.written_value(EventId(0)), None);
    }
}
