//! The log of a Java run becomes a trace.
//!
//! As for native programs (`translate.rs`), in two passes: the first finds out what is shared and which lock scopes are blocks,
//! the second writes the events. A variable is a field of an object, a static field, an element of an array, or
//! the value of an atomic object. Fields that are volatile are accessed atomically. What a class initialiser writes is not
//! in the log: reads find it as initial values. What was attempted in vain is a read in a section of a lock (see `vain`).

mod blindly;
#[cfg(test)]
mod tests;
mod vain;

use foretell_rt_format::{Step, SyncKind, ThreadOrigin};
use foretell_trace::{
    BarrierId, CondId, EventKind, LockId, Op, SemId, SiteId, ThreadId, TraceBuilder, Value,
    ValueId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::log::{Entry, Log, Record};
use super::survey::{ATOMIC, Access, ELEMENT, Key, Survey};
use super::tables::Tables;
use crate::attempts::{self, Action};
use crate::blocks::{Blocks, Depths, Scope};
use crate::legal::legal;
use crate::names::Namer;
use crate::steps::Steps;
use crate::{Kept, Translated};

/// Identifiers of events have 32 bits; one record can be many events, so stop well before.
const MOST_EVENTS: usize = u32::MAX as usize / 2;
/// More operations of one call on a semaphore are not spelled out.
const MOST_PERMITS: u64 = 1000;

/// Translates a log.
pub(crate) fn translate(log: &Log<'_>, tables: &Tables, blocks: &Blocks) -> Translated {
    let survey = Survey::of(log, tables, blocks);
    let mut t = Translation::new(survey, tables);
    let mut entries = log.entries();
    for entry in &mut entries {
        if t.builder.trace().len() >= MOST_EVENTS {
            t.damaged = true;
            break;
        }
        t.entry(&entry);
    }
    t.damaged |= entries.damaged;
    t.finish(log)
}

/// What is known of a variable's content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Never written; what was read, if it was.
    Initial(Option<i64>),
    Known(i64),
}

struct Variable {
    id: VarId,
    content: Content,
    opaque: bool,
    /// The lock of the attempts at it, if there are any.
    attempts: Option<LockId>,
}

/// A node of the tree of calls.
#[derive(Clone, Copy, Default)]
struct Node {
    parent: u32,
    call: u32,
    method: u32,
    site: Option<SiteId>,
}

struct Translation<'a> {
    survey: Survey,
    tables: &'a Tables,
    builder: TraceBuilder,
    namer: Namer,
    sync_namer: Namer,
    variables: FxHashMap<Key, Variable>,
    locks: FxHashMap<u32, LockId>,
    conditions: FxHashMap<u32, CondId>,
    semaphores: FxHashMap<u32, SemId>,
    /// See `blindly`.
    orders: FxHashMap<u32, VarId>,
    barriers: FxHashMap<u32, BarrierId>,
    threads: Vec<Option<ThreadId>>,
    nodes: Vec<Node>,
    /// The node of each thread.
    at: FxHashMap<u32, u32>,
    sites: FxHashMap<(u32, u32), SiteId>,
    modules: FxHashMap<String, u32>,
    depths: Depths,
    in_scope: FxHashSet<u32>,
    last_steps: FxHashMap<u32, Step>,
    /// Threads that have events, the last of which observes nothing.
    settled: FxHashSet<u32>,
    steps: Steps,
    accesses: u64,
    private: u64,
    damaged: bool,
    deadlock: bool,
}

impl<'a> Translation<'a> {
    fn new(survey: Survey, tables: &'a Tables) -> Self {
        Translation {
            survey,
            tables,
            builder: TraceBuilder::new(),
            namer: Namer::default(),
            sync_namer: Namer::default(),
            variables: FxHashMap::default(),
            locks: FxHashMap::default(),
            conditions: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            orders: FxHashMap::default(),
            barriers: FxHashMap::default(),
            threads: Vec::new(),
            nodes: Vec::new(),
            at: FxHashMap::default(),
            sites: FxHashMap::default(),
            modules: FxHashMap::default(),
            depths: Depths::default(),
            in_scope: FxHashSet::default(),
            last_steps: FxHashMap::default(),
            settled: FxHashSet::default(),
            steps: Steps::default(),
            accesses: 0,
            private: 0,
            damaged: false,
            deadlock: false,
        }
    }

    fn thread(&mut self, index: u32) -> ThreadId {
        let i = index as usize;
        if self.threads.len() <= i {
            self.threads.resize(i + 1, None);
        }
        let builder = &mut self.builder;
        *self.threads[i].get_or_insert_with(|| builder.thread(&format!("T{index}")))
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        if let Some(kind) = entry.record.kind() {
            let place = self.step_place(entry.record.site());
            let (thread, ordinal) = (entry.thread, entry.ordinal);
            self.last_steps.insert(thread, Step { thread, ordinal, kind, place });
        }
        match entry.record {
            Record::Node(node) => {
                self.at.insert(entry.thread, node);
            }
            Record::Frame { node, parent, call, method } => {
                // Nodes are numbered as they come: another number is that of a damaged log.
                let at = node as usize;
                if self.nodes.len() == at || self.nodes.is_empty() && at == 1 {
                    self.nodes.resize(at + 1, Node::default());
                }
                if let Some(known) = self.nodes.get_mut(at) {
                    *known = Node { parent, call, method, site: None };
                }
            }
            Record::ThreadName { thread, name } => {
                let t = self.thread(thread);
                self.builder.set_display_name(t, &name.replace(['\n', '\r'], " "));
            }
            Record::Fork { thread, nth, .. } => {
                let parent = entry.thread;
                self.steps.threads.push(ThreadOrigin { thread, parent, nth });
                let thread = self.thread(thread);
                self.push(entry, EventKind::Fork { thread });
            }
            Record::Join { thread, .. } => {
                let thread = self.thread(thread);
                self.push(entry, EventKind::Join { thread });
            }
            Record::End => self.thread_end(entry.thread),
            Record::Semaphore { number, count, name } => self.semaphore(number, count, name),
            Record::Barrier { object, parties } => self.barrier(object, parties),
            Record::Sync { kind, object, other, .. } => self.sync(entry, kind, object, other),
            Record::Order { post, down, semaphore, .. } => {
                let Some(&sem) = self.semaphores.get(&semaphore) else { return };
                if down {
                    self.push_marker(entry.thread, EventKind::Down { sem }, entry.record.site());
                }
                if post {
                    self.push_marker(entry.thread, EventKind::Post { sem }, entry.record.site());
                }
            }
            Record::Begin { method } => {
                let name = self.tables.method(method);
                let label = Some(self.builder.label(name));
                self.push_marker(entry.thread, EventKind::Begin { label }, 0);
            }
            Record::EndBlock => {
                self.push_marker(entry.thread, EventKind::End { label: None }, 0);
            }
            Record::Deadlock { .. } => self.deadlock = true,
            Record::Latch { semaphore, count, .. } => {
                let Some(&sem) = self.semaphores.get(&semaphore) else { return };
                for _ in 0..count.min(MOST_PERMITS) {
                    self.push(entry, EventKind::Down { sem });
                }
                for _ in 0..count.min(MOST_PERMITS) {
                    self.push(entry, EventKind::Post { sem });
                }
            }
            Record::Permit { down, post, .. } => {
                self.semaphore_event(entry, down, true);
                self.semaphore_event(entry, post, false);
            }
            Record::Operation { down, post, .. } => self.operation(entry, down, post),
            Record::Access { .. }
            | Record::Element { .. }
            | Record::Atomic { .. }
            | Record::AtomicElement { .. }
            | Record::Handled { .. } => self.operation(entry, 0, 0),
            _ => {}
        }
    }

    fn semaphore_event(&mut self, entry: &Entry<'_>, number: u32, down: bool) {
        if let Some(&sem) = self.semaphores.get(&number) {
            let kind = if down { EventKind::Down { sem } } else { EventKind::Post { sem } };
            self.push(entry, kind);
        }
    }

    /// Class and place of a step, for the schedule.
    fn step_place(&mut self, site: u32) -> Option<(u32, u64)> {
        let place = self.tables.place(site)?;
        let class = &self.tables.class(place.class)?.name;
        let module = match self.modules.get(class) {
            Some(&module) => module,
            None => {
                let module = self.steps.modules.len() as u32;
                self.steps.modules.push(class.clone());
                self.modules.insert(class.clone(), module);
                module
            }
        };
        Some((module, place.ordinal))
    }

    /// Adds an event that is a step of the program.
    fn push(&mut self, entry: &Entry<'_>, kind: EventKind) {
        let thread = self.thread(entry.thread);
        let site = self.site(entry.thread, entry.record.site());
        self.builder.push(thread, kind, site);
        self.steps.events.push(self.last_steps.get(&entry.thread).copied());
        let op = kind.op();
        if op.reads() || op == Op::TryFailed {
            self.settled.remove(&entry.thread);
        } else {
            self.settled.insert(entry.thread);
        }
    }

    /// Adds an event that is no step of its own.
    fn push_marker(&mut self, thread: u32, kind: EventKind, site: u32) {
        let t = self.thread(thread);
        let site = self.site(thread, site);
        self.builder.push(t, kind, site);
        self.steps.events.push(None);
        self.settled.insert(thread);
    }

    fn site(&mut self, thread: u32, site: u32) -> Option<SiteId> {
        let node = self.at.get(&thread).copied().unwrap_or(0);
        if let Some(&known) = self.sites.get(&(site, node)) {
            return Some(known);
        }
        let place = self.tables.location(site)?;
        let caller = self.node_site(node);
        let id = self.builder.site(&place, caller);
        self.sites.insert((site, node), id);
        Some(id)
    }

    /// The site of a node of the tree of calls: the method, and from where it was called.
    fn node_site(&mut self, node: u32) -> Option<SiteId> {
        let mut path = Vec::new();
        let mut next = node;
        let mut site = None;
        // A damaged log may say that a node is its own ancestor.
        while path.len() < self.nodes.len() {
            let known = *self.nodes.get(next as usize).filter(|_| next != 0)?;
            if known.site.is_some() {
                site = known.site;
                break;
            }
            path.push(next);
            next = known.parent;
            if next == 0 {
                break;
            }
        }
        for &at in path.iter().rev() {
            let node = self.nodes[at as usize];
            let method = self.tables.method(node.method);
            let text = match self.tables.location(node.call) {
                Some(call) => format!("{method} {call}"),
                None => method.to_owned(),
            };
            site = Some(self.builder.site(&text, site));
            self.nodes[at as usize].site = site;
        }
        site
    }

    fn thread_end(&mut self, thread: u32) {
        self.steps.last.extend(self.last_steps.get(&thread));
        if thread != 0 && !self.settled.contains(&thread) {
            let sem = self.builder.semaphore(&format!("exit of T{thread}"));
            self.push_marker(thread, EventKind::Post { sem }, 0);
        }
    }

    fn object_name(&mut self, object: u32) -> String {
        let name = self.survey.objects.name(object, self.tables);
        self.sync_namer.unique(name)
    }

    fn lock(&mut self, object: u32) -> LockId {
        if let Some(&id) = self.locks.get(&object) {
            return id;
        }
        let name = self.object_name(object);
        let id = self.builder.lock(&name);
        self.locks.insert(object, id);
        id
    }

    fn condition(&mut self, object: u32) -> CondId {
        if let Some(&id) = self.conditions.get(&object) {
            return id;
        }
        let name = self.survey.objects.name(object, self.tables);
        let id = self.builder.condition(&name);
        self.conditions.insert(object, id);
        id
    }

    /// A semaphore is made; in its name, `@` and a number stand for an object.
    fn semaphore(&mut self, number: u32, count: u64, name: &str) {
        let object = name.split_once('@').and_then(|(what, id)| Some((what, id.parse().ok()?)));
        let name = match object {
            Some((what, id)) => format!("{what}{}", self.survey.objects.name(id, self.tables)),
            None => name.to_owned(),
        };
        let name = self.sync_namer.unique(name);
        let id = self.builder.semaphore(&name);
        self.builder.set_initial_count(id, count);
        self.semaphores.insert(number, id);
    }

    fn barrier(&mut self, object: u32, parties: u64) {
        let name = self.object_name(object);
        let id = self.builder.barrier(&name);
        self.builder.set_parties(id, u32::try_from(parties).unwrap_or(1).max(1));
        self.barriers.insert(object, id);
    }

    fn sync(&mut self, entry: &Entry<'_>, kind: SyncKind, object: u32, other: u64) {
        let scope = self.depths.step(entry.thread, kind);
        let opens = scope == Scope::Opens && self.survey.scopes.opens(entry.thread, entry.ordinal);
        let Some(event) = self.sync_event(kind, object, other) else { return };
        if opens {
            self.in_scope.insert(entry.thread);
            let begin = EventKind::Begin { label: None };
            self.push_marker(entry.thread, begin, entry.record.site());
        }
        let times = match kind {
            SyncKind::Post | SyncKind::Down => other.min(MOST_PERMITS),
            _ => 1,
        };
        for _ in 0..times {
            self.push(entry, event);
        }
        if scope == Scope::Closes && self.in_scope.remove(&entry.thread) {
            let end = EventKind::End { label: None };
            self.push_marker(entry.thread, end, entry.record.site());
        }
    }

    fn sync_event(&mut self, kind: SyncKind, object: u32, other: u64) -> Option<EventKind> {
        let lock_of_wait = u32::try_from(other).unwrap_or(0);
        Some(match kind {
            SyncKind::Lock => EventKind::Acquire { lock: self.lock(object) },
            SyncKind::Unlock => EventKind::Release { lock: self.lock(object) },
            SyncKind::TryFailed | SyncKind::TryReadFailed => {
                EventKind::TryFailed { lock: self.lock(object) }
            }
            SyncKind::ReadLock => EventKind::AcquireShared { lock: self.lock(object) },
            SyncKind::ReadUnlock => EventKind::ReleaseShared { lock: self.lock(object) },
            SyncKind::Wait => {
                EventKind::Wait { cond: self.condition(object), lock: self.lock(lock_of_wait) }
            }
            SyncKind::Woken => {
                EventKind::Woken { cond: self.condition(object), lock: self.lock(lock_of_wait) }
            }
            SyncKind::TimedOut => {
                EventKind::TimedOut { cond: self.condition(object), lock: self.lock(lock_of_wait) }
            }
            SyncKind::Signal => EventKind::Notify { cond: self.condition(object) },
            SyncKind::Broadcast => EventKind::NotifyAll { cond: self.condition(object) },
            SyncKind::Post => EventKind::Post { sem: *self.semaphores.get(&object)? },
            SyncKind::Down => EventKind::Down { sem: *self.semaphores.get(&object)? },
            SyncKind::Arrive => EventKind::Arrive { barrier: *self.barriers.get(&object)? },
            SyncKind::Leave => EventKind::Leave { barrier: *self.barriers.get(&object)? },
            // What is no event by itself, or never written by the agent.
            _ => return None,
        })
    }

    /// The access that a record is, if others access the same.
    fn access(&mut self, entry: &Entry<'_>) -> Option<Access> {
        self.accesses += 1;
        let access = Access::of(&entry.record, &mut self.survey.fields, self.tables);
        let access = access.filter(|a| self.survey.is_shared(&a.key));
        self.private += u64::from(access.is_none());
        access
    }

    fn access_event(&mut self, access: &Access) -> EventKind {
        let var = self.variable(access);
        let old = access.old.map(|v| self.value(v));
        let new = access.new.map(|v| self.value(v));
        let atomic = access.atomic;
        match access.action {
            Action::Read | Action::Attempt => {
                EventKind::Read { var, atomic, value: old, register: None }
            }
            Action::Write => EventKind::Write { var, atomic, value: new, expr: None },
            Action::Update => EventKind::Update { var, old, new, register: None, expr: None },
        }
    }

    fn value(&mut self, value: i64) -> ValueId {
        self.builder.values().intern(Value::Int(value))
    }

    fn variable_name(&mut self, key: Key) -> String {
        let (object, field, index) = key;
        let name = match field {
            ELEMENT => format!("{}[{index}]", self.survey.objects.name(object, self.tables)),
            ATOMIC => {
                let name = self.survey.objects.name(object, self.tables);
                match index.checked_sub(1) {
                    Some(index) => format!("{name}[{index}]"),
                    None => name,
                }
            }
            _ => {
                let owner = match object {
                    0 => None,
                    _ => Some(self.survey.objects.name(object, self.tables)),
                };
                let (class, field) = self.survey.fields.name(field);
                format!("{}.{field}", owner.as_deref().unwrap_or(class))
            }
        };
        self.namer.unique(name)
    }

    /// The variable of an access; opaque if that saw what nobody wrote.
    fn variable(&mut self, access: &Access) -> VarId {
        if !self.variables.contains_key(&access.key) {
            let name = self.variable_name(access.key);
            let id = self.builder.variable(&name);
            let attempted = self.survey.is_attempted(&access.key);
            let attempts = attempted.then(|| attempts::lock(&mut self.builder, &name));
            let content = Content::Initial(None);
            self.variables.insert(access.key, Variable { id, content, opaque: false, attempts });
        }
        let Some(variable) = self.variables.get_mut(&access.key) else { return VarId(0) };
        if let Some(seen) = access.old.filter(|_| access.action.reads()) {
            let explained = match variable.content {
                Content::Initial(first) => {
                    variable.content = Content::Initial(Some(first.unwrap_or(seen)));
                    first.is_none_or(|first| first == seen)
                }
                Content::Known(value) => value == seen,
            };
            if !explained && !variable.opaque {
                variable.opaque = true;
                self.builder.set_opaque(variable.id);
            }
        }
        if let Some(new) = access.new.filter(|_| access.action.writes()) {
            variable.content = Content::Known(new);
        }
        variable.id
    }

    fn finish(mut self, log: &Log<'_>) -> Translated {
        let mut builder = self.builder;
        builder.set_meta("recorded", "serialized");
        builder.set_meta("language", "java");
        builder.set_meta("seed", &log.seed.to_string());
        builder.set_meta("quantum", &log.quantum.to_string());
        builder.set_meta("accesses", &self.accesses.to_string());
        builder.set_meta("private accesses", &self.private.to_string());
        let (trace, repairs) = legal(builder.build(), &mut self.steps.events);
        let mut numbers = FxHashMap::default();
        for (number, id) in (0u32..).zip(&self.threads) {
            numbers.extend(id.map(|id| (id, number)));
        }
        for event in trace.events() {
            if let EventKind::Join { thread } = event.kind {
                let number = numbers.get(&thread).map(|&number| (event.id.0, number));
                self.steps.joins.extend(number);
            }
        }
        Translated {
            trace: Kept::Whole(trace),
            steps: self.steps,
            accesses: self.accesses,
            private: self.private,
            repairs,
            damaged: self.damaged,
            deadlock: self.deadlock,
            symbolic: None,
        }
    }
}
