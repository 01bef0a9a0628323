//! The builder that fills a trace.

use crate::expr::{Exprs, Sort};
use crate::trace::{NONE, Register, Site, Trace};
use crate::{
    BarrierId, CondId, EventId, EventKind, LabelId, LockId, MemBlockId, MemoryOrder, Names,
    ObjectKind, RegId, SemId, SiteId, ThreadId, ValueId, Values, VarId,
};

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
        /// The memory block with this name.
        mem_block MemBlockId mem_blocks;
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

    /// Declares a lock order-only: it excludes interleavings, and synchronises nothing.
    pub fn set_order_only(&mut self, l: LockId) {
        self.trace.tables.order_only.insert(l, ());
    }

    /// Declares that a thread had ended when the recording did.
    pub fn set_ended(&mut self, t: ThreadId) {
        self.trace.tables.ended.insert(t, ());
    }

    /// Declares that a variable lies in a memory block.
    pub fn set_variable_part(&mut self, v: VarId, block: MemBlockId) {
        self.trace.tables.parts.add_variable(v, block);
    }

    /// Declares that a lock lies in a memory block.
    pub fn set_lock_part(&mut self, l: LockId, block: MemBlockId) {
        self.trace.tables.parts.locks.insert(l, block);
    }

    /// Declares that a condition variable lies in a memory block.
    pub fn set_condition_part(&mut self, c: CondId, block: MemBlockId) {
        self.trace.tables.parts.conditions.insert(c, block);
    }

    /// Says something about the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        self.trace.tables.meta.insert(key.to_owned(), value.to_owned());
    }

    /// Adds an event with a memory order at the end.
    #[inline]
    pub fn push_ordered(
        &mut self,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) -> EventId {
        let id = self.push(thread, kind, site);
        self.set_order(id, order);
        id
    }

    /// Sets the memory order of an event; no effect on an operation that has none.
    pub fn set_order(&mut self, id: EventId, order: MemoryOrder) {
        let trace = &mut self.trace;
        if order == trace.order(id) || !trace.op(id).has_order() {
            return;
        }
        if trace.orders.len() <= id.index() {
            trace.orders.resize(id.index() + 1, MemoryOrder::default());
        }
        trace.orders[id.index()] = order;
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
        if let Some(order) = self.trace.orders.get_mut(id.index()) {
            *order = MemoryOrder::default();
        }
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
        tables.ended = tables.ended.drain().map(|(t, ())| (new(t), ())).collect();
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
            EventKind::Fence => (NONE, None, None),
            EventKind::Alloc { block } | EventKind::Free { block } => (block.0, None, None),
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
    use crate::{Event, Value};

    #[test]
    fn every_kind_of_event_comes_back() {
        let mut b = TraceBuilder::new();
        let (t, u) = (b.thread("T1"), b.thread("T2"));
        let (var, lock, cond) = (b.variable("x"), b.lock("x"), b.condition("x"));
        let (sem, barrier, label) = (b.semaphore("s"), b.barrier("b"), b.label("x"));
        let block = b.mem_block("b");
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
            EventKind::Fence,
            EventKind::Alloc { block },
            EventKind::Free { block },
        ];
        for (i, kind) in kinds.into_iter().enumerate() {
            let site = if i % 2 == 0 { site } else { None };
            let id = b.push(t, kind, site);
            let event = Event { id, thread: t, kind, site, order: MemoryOrder::default() };
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
