//! Hidden state of a Java run: order that code which is not recorded makes between threads.
//!
//! A call of a method that is not recorded uses the state of its receiver and its arguments, and
//! perhaps that of a class or of the kernel. Objects that share state (a list and its iterators, a
//! stream and its reader) are one group, found by the [survey](HiddenSurvey). Each group is an
//! opaque variable, and each use an update of it: in every feasible interleaving the uses keep
//! their recorded order, and none is skipped. A group that one thread alone uses has no events.
//!
//! | variable | stands for |
//! |---|---|
//! | `hidden:OBJECT` | the state of a group of objects, named after the first |
//! | `hidden:class NAME` | static state of a class |
//! | `hidden:excluded classes` | state of the program's classes that are not recorded |
//! | `hidden:kernel` | what passes through the kernel |
//! | `hidden:closed in …` | resources closed so far that use the state |
//! | `hidden:after THREAD` | the end of a thread so far, after which another thread comes |
//!
//! Recorded code uses some of these objects too: elements of arrays, and objects that the runtime
//! models. Such a use updates the variable before its own event and after it.
//!
//! Calls whose accesses are known ([`plain`](super::plain)) are not in this order among themselves.
//! Where other calls use the same group, a plain access follows those that came before it: it reads
//! the group's variable. Those that come after it follow it: it writes a variable of its thread,
//! `hidden:uses of OBJECT by THREAD`, which they read.
//!
//! The `close` of a [resource](super::resources) returns nothing, so that a thread gets to it and
//! beyond it whatever others have done with the state. It updates the variable `hidden:closed in …`
//! alone. All other uses of the state read that variable: they do not move across the `close`.

use foretell_rt_format::SyncKind;
use foretell_trace::{EventKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use super::plain::{ObjectUse, PlainSurvey, PlainVariables};
use super::record::Record;
use super::resources::ResourceSurvey;
use super::sync::{LOCK_OBJECT, SyncObjects};
use crate::kept_order::KeptOrder;
use crate::names::UniqueNames;

/// Bits of [`Record::HiddenMethod`]: state besides that of objects.
const CLASS_STATE: u32 = 1;
const KERNEL_STATE: u32 = 2;
const EXCLUDED_STATE: u32 = 4;

/// State that calls use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum State {
    /// The group of objects with this representative.
    Group(u32),
    /// Static state of the class with this number.
    Class(u32),
    Excluded,
    Kernel,
}

/// Threads that use a state.
#[derive(Clone, Copy)]
struct Users {
    first: u32,
    shared: bool,
    /// Whether code that is not recorded uses it.
    hidden: bool,
}

impl Users {
    fn add(&mut self, thread: u32, hidden: bool) {
        self.shared |= self.first != thread;
        self.hidden |= hidden;
    }

    fn merge(&mut self, other: Users) {
        self.shared |= other.shared || self.first != other.first;
        self.hidden |= other.hidden;
    }
}

/// A method that is not recorded.
struct Method {
    state: u32,
    class: u32,
    name: String,
}

/// Returns the object of a lock that is no monitor.
fn lock_object(lock: u32) -> Option<u32> {
    (lock & LOCK_OBJECT != 0).then_some(lock & !LOCK_OBJECT)
}

/// Groups of objects, and the states that several threads use.
#[derive(Default)]
pub(super) struct HiddenSurvey {
    /// Parent of each object in the forest of groups; the representative is the oldest object.
    parents: FxHashMap<u32, u32>,
    users: FxHashMap<State, Users>,
    methods: FxHashMap<u32, Method>,
    classes: Vec<String>,
    class_numbers: FxHashMap<String, u32>,
    /// Objects that semaphores stand for, by the number of the semaphore.
    semaphores: FxHashMap<u32, u32>,
    /// Whether some thread follows all others at a point.
    after_others: bool,
    /// Groups that hidden calls use.
    used: FxHashSet<u32>,
    plain: PlainSurvey,
    /// Resource that the next hidden call of each thread closes.
    closing: FxHashMap<u32, u32>,
    /// States that calls use which close a resource.
    closed: Vec<(State, u32)>,
    /// States of resources with blocks.
    with_ends: FxHashSet<State>,
}

impl HiddenSurvey {
    /// Notes a record.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        let thread = entry.thread;
        match &entry.record {
            Record::HiddenMethod { number, state, class, name } => {
                let (class, name) = (self.class(class), (*name).to_owned());
                self.methods.insert(*number, Method { state: *state, class, name });
            }
            Record::Resource { closes: true, is_step: false, object, .. } => {
                self.closing.insert(thread, *object);
            }
            Record::Hidden { method, uses, .. } => {
                if let Some(resource) = self.closing.remove(&thread) {
                    let groups = uses.iter().filter(|used| !used.locks());
                    let states = groups.map(|used| State::Group(used.object));
                    let states = states.chain(self.states_of(*method));
                    let closed: Vec<(State, u32)> = states.map(|s| (s, resource)).collect();
                    self.closed.extend(closed);
                }
                for &used in uses.iter().filter(|used| !used.locks()) {
                    self.use_state(State::Group(used.object), thread, used.is_opaque());
                    self.plain.take(thread, used);
                }
                for state in self.states_of(*method) {
                    self.use_state(state, thread, true);
                }
            }
            Record::HiddenJoin { object, objects } => {
                for other in objects {
                    self.join(*object, *other);
                }
            }
            Record::Semaphore { number, name, .. } => {
                let object = name.split_once('@').and_then(|(_, id)| id.parse().ok());
                self.semaphores.extend(object.map(|object| (*number, object)));
            }
            Record::AfterOthers => self.after_others = true,
            record => {
                if let Some(object) = self.object(record) {
                    self.use_state(State::Group(object), thread, false);
                }
            }
        }
    }

    /// Returns the object that a record of recorded code uses and hidden calls may use as well: an
    /// array, or an object that the runtime models.
    fn object(&self, record: &Record<'_>) -> Option<u32> {
        match record {
            Record::Element { array, .. }
            | Record::AtomicElement { array, .. }
            | Record::Range { array, .. } => Some(*array),
            Record::Atomic { object, .. }
            | Record::Operation { object, .. }
            | Record::State { object, change: false, .. } => Some(*object),
            Record::Latch { semaphore, .. } => self.semaphores.get(semaphore).copied(),
            Record::Sync { kind, object, other, .. } => match kind {
                SyncKind::Post | SyncKind::Down => self.semaphores.get(object).copied(),
                SyncKind::Arrive | SyncKind::Leave => Some(*object),
                // A program asks a lock about its state, but not a monitor.
                SyncKind::Wait | SyncKind::Woken | SyncKind::TimedOut => {
                    lock_object(u32::try_from(*other).unwrap_or(0))
                }
                _ => lock_object(*object),
            },
            _ => None,
        }
    }

    fn class(&mut self, name: &str) -> u32 {
        let next = self.classes.len() as u32;
        let number = *self.class_numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.classes.push(name.to_owned());
        }
        number
    }

    /// Returns the state of a method besides that of objects.
    fn states_of(&self, method: u32) -> impl Iterator<Item = State> + use<> {
        let (state, class) = self.methods.get(&method).map_or((0, 0), |m| (m.state, m.class));
        let bits = [
            (CLASS_STATE, State::Class(class)),
            (KERNEL_STATE, State::Kernel),
            (EXCLUDED_STATE, State::Excluded),
        ];
        bits.into_iter().filter(move |(bit, _)| state & bit != 0).map(|(_, state)| state)
    }

    fn use_state(&mut self, state: State, thread: u32, hidden: bool) {
        let new = Users { first: thread, shared: false, hidden };
        self.users.entry(state).or_insert(new).add(thread, hidden);
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.group(a), self.group(b));
        let (old, new) = (a.min(b), a.max(b));
        if old != new {
            self.parents.insert(new, old);
        }
    }

    /// Returns the representative of an object's group.
    pub(super) fn group(&mut self, object: u32) -> u32 {
        let mut root = object;
        while let Some(&parent) = self.parents.get(&root) {
            root = parent;
        }
        let mut at = object;
        while at != root {
            match self.parents.insert(at, root) {
                Some(next) => at = next,
                None => break,
            }
        }
        root
    }

    /// Completes the survey: the users of an object are users of its group.
    pub(super) fn finish(&mut self, resources: &ResourceSurvey) {
        for (state, resource) in std::mem::take(&mut self.closed) {
            if resources.has_block(resource) {
                let state = match state {
                    State::Group(object) => State::Group(self.group(object)),
                    state => state,
                };
                self.with_ends.insert(state);
            }
        }
        for object in self.plain.finish() {
            if let Some(used) = self.users.get_mut(&State::Group(object)) {
                used.hidden = true;
            }
        }
        let users = std::mem::take(&mut self.users);
        for (state, used) in users {
            let state = match state {
                State::Group(object) => State::Group(self.group(object)),
                state => state,
            };
            self.users.entry(state).and_modify(|all| all.merge(used)).or_insert(used);
        }
        for (state, used) in &self.users {
            if let (State::Group(group), true) = (*state, used.hidden) {
                self.used.insert(group);
            }
        }
        self.users.retain(|_, used| used.shared && used.hidden);
    }

    /// Whether hidden calls use an object, or one that shares state with it.
    pub(super) fn is_used(&mut self, object: u32) -> bool {
        let group = self.group(object);
        self.used.contains(&group)
    }

    /// Notes that some thread follows all others at a point.
    pub(super) fn has_after_others(&mut self) {
        self.after_others = true;
    }
}

/// Names of objects, texts of the keys of maps, and locks.
pub(super) type HiddenNames<'a> =
    (&'a mut Objects, &'a FxHashMap<(u32, u32), String>, &'a mut SyncObjects);

/// A variable that every use updates.
struct Chain {
    var: VarId,
    updates: i64,
}

impl Chain {
    /// Returns the next update.
    fn update(&mut self, out: &mut EventWriter<'_>) -> EventKind {
        let (old, new) = (out.trace.value(self.updates), out.trace.value(self.updates + 1));
        self.updates += 1;
        let (var, old, new) = (self.var, Some(old), Some(new));
        EventKind::Update { var, old, new, register: None, expr: None }
    }
}

/// Hidden state of a run so far.
#[derive(Default)]
pub(super) struct Hidden {
    survey: HiddenSurvey,
    names: UniqueNames,
    chains: FxHashMap<State, Chain>,
    /// Variables of the resources that were closed.
    ends_of_resources: FxHashMap<State, Chain>,
    /// End of each thread so far: the variable, the number of writes, the thread's events then.
    ends: FxHashMap<u32, (VarId, i64, u64)>,
    /// Threads that wait for a notification: they have no event before they are woken.
    waiting: FxHashSet<u32>,
    /// Threads that were joined: they have no further events.
    joined: FxHashSet<u32>,
    /// Ends of threads that each thread has come after: the number of the write.
    seen: FxHashMap<(u32, u32), i64>,
    plain: PlainVariables,
    /// Last plain access of each thread to a group that other calls use as well: the variable and
    /// the number of writes.
    plain_ends: FxHashMap<u32, Vec<(u32, VarId, i64)>>,
    /// Ends of plain accesses that each thread has come after: the number of the write.
    plain_seen: FxHashMap<(u32, VarId), i64>,
    /// Order that is kept, for the user.
    pub(super) kept: KeptOrder,
}

impl Hidden {
    pub(super) fn new(survey: HiddenSurvey) -> Hidden {
        Hidden { survey, ..Hidden::default() }
    }

    /// Adds an update of the hidden state that a record of recorded code uses, if it does.
    pub(super) fn around(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        is_step: bool,
    ) {
        if let Some(object) = self.survey.object(&entry.record) {
            let state = State::Group(self.survey.group(object));
            if self.survey.users.contains_key(&state) {
                self.update(out, objects, entry, state, is_step);
            }
        }
    }

    /// Adds the events of a call that is not recorded, or of its end. Plain reads have none if the
    /// program `discards` their values; `closes`: the call ends a resource.
    pub(super) fn call(
        &mut self,
        out: &mut EventWriter<'_>,
        (names, texts, sync): HiddenNames<'_>,
        entry: &Entry<'_>,
        (discards, closes): (bool, bool),
    ) {
        let Record::Hidden { returns, method, uses, .. } = &entry.record else { return };
        let (ordered, plain): (Vec<ObjectUse>, Vec<ObjectUse>) = uses
            .iter()
            .filter(|used| !used.locks())
            .partition(|&&used| self.survey.plain.is_ordered(used));
        let mut states: Vec<State> =
            ordered.iter().map(|used| State::Group(self.survey.group(used.object))).collect();
        states.extend(self.survey.states_of(*method));
        states.retain(|state| self.survey.users.contains_key(state));
        states.sort_unstable();
        states.dedup();
        if let (Some(method), false, false) =
            (self.survey.methods.get(method), *returns, states.is_empty())
        {
            let class = self.survey.classes.get(method.class as usize);
            self.kept.call(class.map_or("?", String::as_str), &method.name);
        }
        let mut groups: Vec<u32> = plain.iter().map(|u| self.survey.group(u.object)).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.retain(|&group| {
            let state = State::Group(group);
            self.survey.users.contains_key(&state) && !states.contains(&state)
        });
        for state in states {
            if closes {
                self.end_resource(out, names, entry, state);
            } else {
                self.update(out, names, entry, state, !returns);
            }
        }
        for &group in &groups {
            self.begin_plain(out, names, entry, group);
        }
        let locks: Vec<u32> =
            uses.iter().filter(|u| u.locks() && !returns).map(|u| u.object).collect();
        for &lock in &locks {
            let event = sync.event(out, names, (SyncKind::Lock, lock, 0));
            event.into_iter().for_each(|event| out.push(entry, event));
        }
        for &used in uses.iter().filter(|used| !(discards && used.is_plain_read())) {
            let Hidden { survey, plain, .. } = self;
            let access = (used, *returns);
            plain.access(out, (&survey.plain, names, texts), entry, access);
        }
        for &lock in locks.iter().rev() {
            let event = sync.event(out, names, (SyncKind::Unlock, lock, 0));
            event.into_iter().for_each(|event| out.push(entry, event));
        }
        for &group in &groups {
            self.end_plain(out, names, entry, group);
        }
    }

    /// Orders a plain access after the other uses of a group so far.
    fn begin_plain(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        group: u32,
    ) {
        let chain = self.chain(out, objects, State::Group(group));
        let (var, value) = (chain.var, Some(out.trace.value(chain.updates)));
        let event = EventKind::Read { var, atomic: true, value, register: None };
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }

    /// Marks the end of a plain access for the other uses of a group that follow.
    fn end_plain(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        group: u32,
    ) {
        let thread = entry.thread;
        let ends = self.plain_ends.entry(group).or_default();
        let at = ends.iter().position(|&(t, ..)| t == thread).unwrap_or_else(|| {
            let object = objects.name(group, out.tables);
            let name = self.names.unique(format!("hidden:uses of {object} by T{thread}"));
            ends.push((thread, opaque_variable(out, &name), 0));
            ends.len() - 1
        });
        let (_, var, writes) = &mut ends[at];
        *writes += 1;
        let (var, value) = (*var, Some(out.trace.value(*writes)));
        let event = EventKind::Write { var, atomic: true, value, expr: None };
        out.push_marker(thread, event, entry.record.site());
    }

    /// Orders a use of a group after the plain accesses of other threads to it.
    fn after_plain(&mut self, out: &mut EventWriter<'_>, entry: &Entry<'_>, group: u32) {
        for &(thread, var, writes) in self.plain_ends.get(&group).into_iter().flatten() {
            let seen = self.plain_seen.insert((entry.thread, var), writes);
            if thread == entry.thread || seen == Some(writes) {
                continue;
            }
            let value = Some(out.trace.value(writes));
            let event = EventKind::Read { var, atomic: true, value, register: None };
            out.push_marker(entry.thread, event, entry.record.site());
            out.trace.set_observed_last(entry.thread, true);
        }
    }

    /// Returns the variable of a state.
    fn chain(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        state: State,
    ) -> &mut Chain {
        let Hidden { survey, names, .. } = self;
        self.chains.entry(state).or_insert_with(|| {
            let name = match state {
                State::Group(object) => objects.name(object, out.tables),
                State::Class(class) => {
                    let class = survey.classes.get(class as usize);
                    format!("class {}", class.map_or("?", String::as_str))
                }
                State::Excluded => "excluded classes".to_owned(),
                State::Kernel => "kernel".to_owned(),
            };
            let name = names.unique(format!("hidden:{name}"));
            Chain { var: opaque_variable(out, &name), updates: 0 }
        })
    }

    /// Returns the variable of the resources that were closed, of those that use a state.
    fn ends(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        state: State,
    ) -> &mut Chain {
        let var = self.chain(out, objects, state).var;
        let Hidden { names, ends_of_resources, .. } = self;
        ends_of_resources.entry(state).or_insert_with(|| {
            let name = out.trace.builder.trace().variable_name(var);
            let name = name.strip_prefix("hidden:").unwrap_or(name);
            let name = names.unique(format!("hidden:closed in {name}"));
            Chain { var: opaque_variable(out, &name), updates: 0 }
        })
    }

    /// Adds the end of a resource that uses a state, which follows other ends alone.
    fn end_resource(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        state: State,
    ) {
        let event = self.ends(out, objects, state).update(out);
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }

    fn update(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        state: State,
        is_step: bool,
    ) {
        if let State::Group(group) = state {
            self.after_plain(out, entry, group);
        }
        if self.survey.with_ends.contains(&state) {
            let ends = self.ends(out, objects, state);
            let (var, value) = (ends.var, Some(out.trace.value(ends.updates)));
            let event = EventKind::Read { var, atomic: true, value, register: None };
            out.push_marker(entry.thread, event, entry.record.site());
            out.trace.set_observed_last(entry.thread, true);
        }
        let event = self.chain(out, objects, state).update(out);
        if is_step {
            out.push(entry, event);
        } else {
            out.push_marker(entry.thread, event, entry.record.site());
            out.trace.set_observed_last(entry.thread, true);
        }
    }

    /// Whether hidden calls use an object, or one that shares state with it.
    pub(super) fn is_used(&mut self, object: u32) -> bool {
        self.survey.is_used(object)
    }

    /// Notes that a thread begins to wait for a notification.
    pub(super) fn waits(&mut self, out: &mut EventWriter<'_>, thread: u32) {
        if self.survey.after_others {
            self.write_end(out, thread);
            self.waiting.insert(thread);
        }
    }

    /// Notes that a thread has been woken.
    pub(super) fn woken(&mut self, thread: u32) {
        self.waiting.remove(&thread);
    }

    /// Notes that a thread was joined.
    pub(super) fn joined(&mut self, thread: u32) {
        self.joined.insert(thread);
    }

    /// Orders the rest of a thread after everything that the other threads have done so far.
    pub(super) fn after_others(&mut self, out: &mut EventWriter<'_>, thread: u32, site: u32) {
        let before = out.events_of(thread);
        for other in out.threads_with_events() {
            if other == thread {
                continue;
            }
            if !self.waiting.contains(&other) && !self.joined.contains(&other) {
                self.write_end(out, other);
            }
            let Some(&(var, writes, _)) = self.ends.get(&other) else { continue };
            if self.joined.contains(&other)
                || self.seen.insert((thread, other), writes) == Some(writes)
            {
                // The thread that has joined it is another one, or this one.
                continue;
            }
            let value = Some(out.trace.value(writes));
            let event = EventKind::Read { var, atomic: true, value, register: None };
            out.push_marker(thread, event, site);
            out.trace.set_observed_last(thread, true);
        }
        self.kept.waits += u64::from(out.events_of(thread) > before);
    }

    /// Adds a write that marks the end of a thread so far.
    fn write_end(&mut self, out: &mut EventWriter<'_>, thread: u32) {
        let events = out.events_of(thread);
        let known = self.ends.get(&thread).copied();
        if known.is_some_and(|(.., then)| then == events) {
            return;
        }
        let (var, writes) = match known {
            Some((var, writes, _)) => (var, writes + 1),
            None => {
                let name = self.names.unique(format!("hidden:after T{thread}"));
                (opaque_variable(out, &name), 1)
            }
        };
        let value = Some(out.trace.value(writes));
        let event = EventKind::Write { var, atomic: true, value, expr: None };
        out.push_marker(thread, event, 0);
        self.ends.insert(thread, (var, writes, out.events_of(thread)));
    }
}

/// Returns a new variable that is part of no finding; zero at first.
fn opaque_variable(out: &mut EventWriter<'_>, name: &str) -> VarId {
    let var = out.trace.builder.variable(name);
    out.trace.builder.set_opaque(var);
    let zero = out.trace.value(0);
    out.trace.builder.set_initial_value(var, zero);
    var
}
