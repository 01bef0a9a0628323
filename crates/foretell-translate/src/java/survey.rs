//! First pass over a log: which variables are shared, and which lock scopes are blocks.

use foretell_rt_format::{Entry as RawEntry, Record as RawRecord, SyncKind};
use foretell_trace::MemoryOrder;
use rustc_hash::{FxHashMap, FxHashSet};

use super::hidden::HiddenSurvey;
use super::log::{Entry, Log};
use super::mutex_semaphores::MutexSemaphores;
use super::objects::Objects;
use super::optimistic_reads::{OPTIMISTIC, OptimisticReads};
use super::provenance::Provenance;
use super::record::{Effect, Mode, Record};
use super::resources::ResourceSurvey;
use super::states::{self, StateUses};
use super::tables::{FieldKind, Tables};
use super::unexplained::Content;
use crate::action::Action;
use crate::blocks::{Blocks, ScopeFinder, Scopes};

/// Key of a variable: an object (0 for a static field), a field, an index.
pub(crate) type Key = (u32, u32, u32);
/// Field number of an element of an array.
pub(crate) const ELEMENT: u32 = 0;
/// Field number of the value of an atomic object.
pub(crate) const ATOMIC: u32 = 1;
/// First number of a field of a class.
const FIRST_FIELD: u32 = 2;

/// Fields of the program, numbered.
#[derive(Default)]
pub(crate) struct Fields {
    by_site: FxHashMap<u32, (u32, bool)>,
    by_handle: FxHashMap<u32, u32>,
    numbers: FxHashMap<(String, String), u32>,
    names: Vec<(String, String)>,
    kinds: Vec<FieldKind>,
}

impl Fields {
    /// Returns the field accessed at a location, and whether it is volatile.
    pub(crate) fn at(&mut self, site: u32, tables: &Tables) -> (u32, bool) {
        if let Some(&known) = self.by_site.get(&site) {
            return known;
        }
        let (class, field, kind) = tables.field(site).unwrap_or_default();
        let number = self.number(class, field, kind);
        self.by_site.insert(site, (number, kind.volatile));
        (number, kind.volatile)
    }

    fn number(&mut self, class: &str, field: &str, kind: FieldKind) -> u32 {
        let key = (class.to_owned(), field.to_owned());
        let next = FIRST_FIELD + self.names.len() as u32;
        let number = *self.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.names.push(key);
            self.kinds.push(kind);
        }
        number
    }

    /// Returns the kind of a field.
    fn kind(&self, number: u32) -> FieldKind {
        let at = number.checked_sub(FIRST_FIELD).map(|at| at as usize);
        at.and_then(|at| self.kinds.get(at)).copied().unwrap_or_default()
    }

    /// Adds a handle for a field.
    pub(super) fn handle(&mut self, handle: u32, class: &str, field: &str, tables: &Tables) {
        let class = class.replace('.', "/");
        let (class, field, kind) = tables.declared(&class, field);
        let number = self.number(class, field, kind);
        self.by_handle.insert(handle, number);
    }

    /// Returns the class of a field, with its package.
    fn class(&self, number: u32) -> Option<&str> {
        let at = number.checked_sub(FIRST_FIELD)? as usize;
        self.names.get(at).map(|(class, _)| class.as_str())
    }

    /// Returns the class, without its package, and the name of a field.
    pub(crate) fn name(&self, number: u32) -> (&str, &str) {
        match self.names.get((number - FIRST_FIELD) as usize) {
            Some((class, field)) => (class.rsplit('/').next().unwrap_or(class), field),
            None => ("", ""),
        }
    }
}

/// Use of a variable in a run.
struct VariableUse {
    /// The thread that used it first.
    thread: u32,
    shared: bool,
    written: bool,
    /// Whether a read-modify-write of it failed.
    failed_update: bool,
    content: Content,
    /// Thread of the last write, and its time as provenance counts it.
    written_by: Option<(u32, u32)>,
}

/// Properties of a whole run that the translation needs before the first event.
pub(crate) struct Survey {
    pub(crate) fields: Fields,
    pub(crate) objects: Objects,
    variables: FxHashMap<Key, VariableUse>,
    /// Maps with blind puts that belong to no key; see [`super::blind_puts`].
    pub(crate) blind_puts: FxHashSet<u32>,
    /// Texts of the keys of maps.
    pub(crate) keys: FxHashMap<(u32, u32), String>,
    provenance: Provenance,
    /// Steps that come after everything that other threads have done: thread, ordinal, and the
    /// variable of a read that nothing explains.
    after_others: FxHashMap<(u32, u64), Option<Key>>,
    pub(super) states: StateUses,
    /// Values that code without events has written before the first access with an event.
    initial: FxHashMap<Key, i64>,
    /// Variables that code without events has written later.
    rewritten: FxHashSet<Key>,
    pub(crate) scopes: Scopes,
    pub(super) hidden: HiddenSurvey,
    pub(super) mutexes: MutexSemaphores,
    pub(super) optimistic: OptimisticReads,
    pub(super) resources: ResourceSurvey,
}

impl Survey {
    pub(crate) fn of(log: &Log<'_>, tables: &Tables, blocks: &Blocks) -> Survey {
        let mut survey = Survey {
            fields: Fields::default(),
            objects: Objects::default(),
            variables: FxHashMap::default(),
            blind_puts: FxHashSet::default(),
            keys: FxHashMap::default(),
            provenance: Provenance::default(),
            after_others: FxHashMap::default(),
            states: StateUses::default(),
            initial: FxHashMap::default(),
            rewritten: FxHashSet::default(),
            scopes: Scopes::default(),
            hidden: HiddenSurvey::default(),
            mutexes: MutexSemaphores::default(),
            optimistic: OptimisticReads::default(),
            resources: ResourceSurvey::default(),
        };
        let mut scopes = ScopeFinder::default();
        for entry in log.entries() {
            survey.hidden.take(&entry);
            survey.mutexes.take(&entry);
            survey.optimistic.take(&entry);
            survey.resources.take(&entry);
            if survey.provenance.take(&mut survey.hidden, &entry) {
                survey.after_others.insert((entry.thread, entry.ordinal), None);
            }
            match entry.record {
                Record::Object { id, class } => survey.objects.object(id, class),
                Record::ClassName { class, name } => survey.objects.class_name(class, name),
                Record::Made { id, site, .. } => survey.objects.made(id, site, tables),
                Record::Key { map, key, text } => {
                    survey.keys.insert((map, key), text.to_owned());
                }
                Record::Handle { number, class, field } => {
                    survey.fields.handle(number, class, field, tables);
                }
                Record::State { object, change, .. } => {
                    survey.states.touch(entry.thread, object, change);
                }
                Record::Initial { site, object, index, value } => {
                    let key = match index {
                        Some(index) => (object, ELEMENT, index),
                        None => (object, survey.fields.at(site, tables).0, 0),
                    };
                    survey.initial(key, value);
                }
                Record::Sync { other: OPTIMISTIC, kind: SyncKind::ReadLock, .. }
                | Record::Sync { other: OPTIMISTIC, kind: SyncKind::ReadUnlock, .. } => {}
                Record::Sync { kind, object, other, .. } if blocks.locks => {
                    let record = RawRecord::Sync { kind, pc: 0, object: u64::from(object), other };
                    let (thread, ordinal) = (entry.thread, entry.ordinal);
                    scopes.take(&RawEntry { thread, ordinal, record });
                }
                _ => {
                    if let Record::Operation { object, key: 0, effect: Effect::Write(_), .. } =
                        entry.record
                    {
                        survey.blind_puts.insert(object);
                    }
                    if let Some(object) = states::changed(&entry.record) {
                        survey.states.touch(entry.thread, object, true);
                    }
                    if let Some(access) = Access::of(&entry.record, &mut survey.fields, tables) {
                        survey.touch((entry.thread, entry.ordinal), &access, tables);
                    }
                    let step = (entry.thread, entry.ordinal.saturating_sub(1));
                    for access in Access::of_range(&entry.record) {
                        survey.touch(step, &access, tables);
                    }
                }
            }
        }
        survey.scopes = scopes.finish();
        survey.optimistic.finish();
        survey.finish();
        survey
    }

    /// Completes the survey.
    fn finish(&mut self) {
        let Survey { hidden, rewritten, after_others, resources, .. } = self;
        hidden.finish(resources);
        // What hidden calls do with arrays and modelled objects is in order with their accesses.
        after_others.retain(|_, read| match *read {
            Some(key @ (object, ELEMENT | ATOMIC, _)) if hidden.is_used(object) => {
                rewritten.insert(key);
                false
            }
            Some(key) => {
                rewritten.insert(key);
                true
            }
            None => true,
        });
        if !after_others.is_empty() {
            hidden.has_after_others();
        }
    }

    /// Whether a step comes after everything that other threads have done.
    pub(super) fn is_after_others(&self, thread: u32, ordinal: u64) -> bool {
        self.after_others.contains_key(&(thread, ordinal))
    }

    /// Whether the program discards the values of the plain reads of a record.
    pub(super) fn discards(&self, entry: &Entry<'_>) -> bool {
        // A record that is no step belongs to the step before it.
        let after = u64::from(entry.record.kind().is_none());
        self.optimistic.discards(entry.thread, entry.ordinal.saturating_sub(after))
    }

    fn touch(&mut self, (thread, ordinal): (u32, u64), access: &Access, tables: &Tables) {
        if !self.variables.contains_key(&access.key) {
            let content = Content::new(self.initial_value(&access.key, tables));
            let new = VariableUse {
                thread,
                shared: false,
                written: false,
                failed_update: false,
                content,
                written_by: None,
            };
            self.variables.insert(access.key, new);
        }
        let is_reference = self.is_reference(&access.key);
        let Some(used) = self.variables.get_mut(&access.key) else { return };
        used.shared |= used.thread != thread;
        used.written |= access.action.writes();
        used.failed_update |= access.action == Action::FailedUpdate;
        if let Some(seen) = access.old.filter(|_| access.action.reads()) {
            let unexplained = used.content.read(thread, seen);
            // Code that is not recorded returns arrays that a function of the program has made.
            let own = access.key.1 == ELEMENT && self.provenance.has_made(thread, access.key.0);
            if unexplained && !own {
                self.after_others.insert((thread, ordinal), Some(access.key));
                self.provenance.knows_all(thread);
            } else if let Some(writer) = used.written_by.filter(|_| is_reference && seen != 0) {
                self.provenance.reads(thread, seen, writer);
            }
        }
        if let Some(new) = access.new.filter(|_| access.action.writes()) {
            used.content.write(new);
            used.written_by = Some((thread, self.provenance.time(thread)));
            if is_reference && access.key.1 < FIRST_FIELD {
                self.provenance.stores(&mut self.hidden, thread, access.key.0);
            }
        }
    }

    /// Whether a variable holds a reference.
    fn is_reference(&self, key: &Key) -> bool {
        let (object, field, _) = *key;
        match field {
            ELEMENT => self.objects.holds_references(object),
            ATOMIC => self.objects.is_atomic_reference(object),
            field => self.fields.kind(field).reference,
        }
    }

    fn initial(&mut self, key: Key, value: i64) {
        if let Some(used) = self.variables.get_mut(&key) {
            used.content.write(value);
            self.rewritten.insert(key);
        } else {
            self.initial.insert(key, value);
        }
    }

    /// Returns the value that a variable has before its first access, if it is known otherwise
    /// than by a read: a value that code without events has written, or the default value.
    pub(crate) fn initial_value(&self, key: &Key, tables: &Tables) -> Option<i64> {
        let (object, field, _) = *key;
        if let Some(&value) = self.initial.get(key) {
            return Some(value);
        }
        let default = match (object, field) {
            (_, ATOMIC) => false,
            (_, ELEMENT) => self.objects.is_made(object),
            (_, field) if !self.fields.kind(field).has_default => false,
            (0, field) => self.fields.class(field).is_some_and(|class| tables.has(class)),
            _ => self.objects.is_made(object),
        };
        default.then_some(0)
    }

    /// Whether code without events has written a variable after the first access to it.
    pub(crate) fn is_rewritten(&self, key: &Key) -> bool {
        self.rewritten.contains(key)
    }

    pub(crate) fn is_shared(&self, key: &Key) -> bool {
        self.variables.get(key).is_some_and(|t| t.shared && t.written)
    }

    pub(crate) fn has_failed_updates(&self, key: &Key) -> bool {
        self.variables.get(key).is_some_and(|t| t.failed_update)
    }
}

/// An access to a variable.
pub(crate) struct Access {
    pub(crate) key: Key,
    pub(crate) action: Action,
    pub(crate) atomic: bool,
    pub(crate) order: MemoryOrder,
    pub(crate) old: Option<i64>,
    pub(crate) new: Option<i64>,
}

impl Access {
    /// Returns an access of one value, which it reads or writes.
    fn simple(key: Key, write: bool, atomic: bool, value: i64) -> Access {
        let action = if write { Action::Write } else { Action::Read };
        let value = Some(value);
        Access { key, action, atomic, order: MemoryOrder::SeqCst, old: value, new: value }
    }

    fn atomic(key: Key, mode: Mode, effect: Effect) -> Access {
        let (action, old, new) = match effect {
            Effect::Read(old) => (Action::Read, Some(old), None),
            Effect::Write(new) => (Action::Write, None, Some(new)),
            Effect::Update(old, new) => (Action::Update, Some(old), Some(new)),
            Effect::FailedUpdate(old) => (Action::FailedUpdate, Some(old), None),
        };
        let order = mode.order();
        let (acquires, releases) =
            (order.acquires() && action.reads(), order.releases() && action.writes());
        let order = match (order, acquires, releases) {
            (MemoryOrder::SeqCst, ..) => order,
            (_, true, true) => MemoryOrder::AcqRel,
            (_, true, false) => MemoryOrder::Acquire,
            (_, false, true) => MemoryOrder::Release,
            (_, false, false) => MemoryOrder::Relaxed,
        };
        Access { key, action, atomic: mode != Mode::Plain, order, old, new }
    }

    pub(super) fn is_plain_read(&self) -> bool {
        self.action == Action::Read && !self.atomic
    }

    /// Returns the accesses of a record that has several.
    pub(crate) fn of_range(record: &Record<'_>) -> Vec<Access> {
        let Record::Range { write, array, first, values, .. } = record else { return Vec::new() };
        let access =
            |(index, &value)| Access::simple((*array, ELEMENT, index), *write, false, value);
        (*first..).zip(values).map(access).collect()
    }

    pub(crate) fn of(record: &Record<'_>, fields: &mut Fields, tables: &Tables) -> Option<Access> {
        Some(match *record {
            Record::Access { write, site, object, value } => {
                let (field, volatile) = fields.at(site, tables);
                Access::simple((object, field, 0), write, volatile, value)
            }
            Record::Element { write, array, index, value, .. } => {
                Access::simple((array, ELEMENT, index), write, false, value)
            }
            Record::Atomic { object, index, mode, effect, .. } => {
                Access::atomic((object, ATOMIC, index), mode, effect)
            }
            Record::AtomicElement { array, index, mode, effect, .. } => {
                Access::atomic((array, ELEMENT, index), mode, effect)
            }
            Record::HandledPlain { write, object, handle, value, .. } => {
                Access::simple((object, *fields.by_handle.get(&handle)?, 0), write, false, value)
            }
            Record::Handled { object, handle, mode, effect, .. } => {
                Access::atomic((object, *fields.by_handle.get(&handle)?, 0), mode, effect)
            }
            Record::Operation { object, key, effect, .. } => {
                Access::atomic((object, ATOMIC, key), Mode::VOLATILE, effect)
            }
            _ => return None,
        })
    }
}
