//! Translates the log of a Java run.
//!
//! Two passes over the log, as for native programs: the first ([`survey`](super::survey)) finds
//! which variables are shared and which lock scopes are blocks, the second writes the events. A
//! variable is a field of an object, a static field, an element of an array, or the value of an
//! atomic object. Volatile fields are accessed atomically. Writes of class initialisers are not in
//! the log: reads find their values as initial values. A read-modify-write that failed is a read
//! in a section of a lock ([`failed_rmw`](super::failed_rmw)).

use foretell_rt_format::{SyncKind, ThreadOrigin};
use foretell_trace::EventKind;

use super::blind_puts::MapOrders;
use super::end::Uncaught;
use super::ended::EndedThreads;
use super::event_writer::EventWriter;
use super::failed_rmw::Sections;
use super::failure::FailureSigns;
use super::hidden::Hidden;
use super::log::{Entry, Log};
use super::mutex_semaphores::TRIED;
use super::record::Record;
use super::resources::Resources;
use super::states::States;
use super::survey::{Access, Survey};
use super::sync::SyncObjects;
use super::tables::Tables;
use super::variables::Variables;
use crate::Translated;
use crate::blocks::{BlockScopes, Blocks, Scope};

/// Maximum number of events for one call on a semaphore.
const MAX_PERMITS: u64 = 1000;

/// Translates a log.
pub(super) fn translate(log: &Log<'_>, tables: &Tables, blocks: &Blocks) -> Translated {
    let mut translation = Translation::new(Survey::of(log, tables, blocks), tables);
    let mut entries = log.entries();
    for entry in &mut entries {
        if translation.out.trace.is_full() {
            translation.damaged = true;
            break;
        }
        translation.entry(&entry);
    }
    translation.damaged |= entries.damaged;
    translation.finish(log)
}

/// A translation under way.
struct Translation<'a> {
    survey: Survey,
    out: EventWriter<'a>,
    variables: Variables,
    sync: SyncObjects,
    map_orders: MapOrders,
    states: States,
    hidden: Hidden,
    resources: Resources,
    scopes: BlockScopes,
    /// Accesses in the log.
    accesses: u64,
    /// Accesses without events: to variables that one thread uses, or that no thread writes, and
    /// reads whose values the program discards.
    private: u64,
    /// Whether events are missing at the end.
    damaged: bool,
    failure: FailureSigns,
    ended: EndedThreads,
}

impl<'a> Translation<'a> {
    fn new(mut survey: Survey, tables: &'a Tables) -> Self {
        Translation {
            scopes: BlockScopes::new(std::mem::take(&mut survey.scopes)),
            hidden: Hidden::new(std::mem::take(&mut survey.hidden)),
            survey,
            out: EventWriter::new(tables),
            variables: Variables::default(),
            sync: SyncObjects::default(),
            map_orders: MapOrders::default(),
            states: States::default(),
            resources: Resources::default(),
            accesses: 0,
            private: 0,
            damaged: false,
            failure: FailureSigns::default(),
            ended: EndedThreads::default(),
        }
    }

    /// Adds the events of a record, between those of the hidden state that it uses.
    fn entry(&mut self, entry: &Entry<'_>) {
        self.out.note_step(entry);
        self.ended.take(&self.survey, entry);
        if entry.record.kind().is_some() && self.survey.is_after_others(entry.thread, entry.ordinal)
        {
            self.hidden.after_others(&mut self.out, entry.thread, entry.record.site());
        }
        let kind = match entry.record {
            Record::Sync { kind, .. } => Some(kind),
            _ => None,
        };
        // A thread that waits has no event before it is woken.
        if !matches!(kind, Some(SyncKind::Woken | SyncKind::TimedOut)) {
            self.around(entry, false);
        }
        let before = self.out.events_of(entry.thread);
        self.events(entry);
        // A step without an event of its own is in the order of the hidden state all the same.
        let silent = before == self.out.events_of(entry.thread) && entry.record.kind().is_some();
        if kind != Some(SyncKind::Wait) {
            self.around(entry, silent);
        }
    }

    /// Adds uses of the hidden state that a record uses, perhaps as its step.
    fn around(&mut self, entry: &Entry<'_>, is_step: bool) {
        let Translation { out, survey, hidden, states, .. } = self;
        hidden.around(out, &mut survey.objects, entry, is_step);
        states.around(out, (&survey.states, &mut survey.objects), entry);
    }

    fn events(&mut self, entry: &Entry<'_>) {
        let Translation { out, sync, survey, hidden, states, resources, .. } = self;
        match entry.record {
            Record::Node(node) => out.calls.set_current(entry.thread, node),
            Record::Frame { node, parent, call, method } => {
                out.calls.add(node, parent, call, method);
            }
            Record::ThreadName { thread, name } => {
                let t = out.trace.thread(thread);
                out.trace.builder.set_display_name(t, &name.replace(['\n', '\r'], " "));
            }
            Record::Fork { thread, nth, .. } => {
                let parent = entry.thread;
                out.trace.steps.threads.push(ThreadOrigin { thread, parent, nth });
                let thread = out.trace.thread(thread);
                out.push(entry, EventKind::Fork { thread });
            }
            Record::Join { thread, .. } => {
                hidden.joined(thread);
                let thread = out.trace.thread(thread);
                out.push(entry, EventKind::Join { thread });
            }
            Record::End => {
                self.failure.end_of_thread(entry.thread);
                out.end_thread(entry.thread);
            }
            Record::Semaphore { number, .. } if survey.mutexes.lock(number).is_some() => {}
            Record::Semaphore { number, count, name } => {
                sync.add_semaphore(out, &mut survey.objects, (number, count, name));
            }
            Record::Barrier { object, parties } => {
                sync.add_barrier(out, &mut survey.objects, (object, parties));
            }
            Record::Sync { kind, object, other, .. } => self.sync(entry, (kind, object, other)),
            Record::Order { post, down, semaphore, .. } => {
                let Some(sem) = sync.semaphore(semaphore) else { return };
                if down {
                    out.push_marker(entry.thread, EventKind::Down { sem }, entry.record.site());
                }
                if post {
                    out.push_marker(entry.thread, EventKind::Post { sem }, entry.record.site());
                }
            }
            Record::State { change, object, is_step, .. } => {
                let access = (object, change, is_step);
                states.access(out, (&survey.states, &mut survey.objects), entry, access);
            }
            Record::Hidden { .. } => {
                let discards = survey.discards(entry);
                let of_resources = (&survey.resources, &mut survey.objects);
                let closes = resources.hidden_call(out, of_resources, entry);
                let names = (&mut survey.objects, &survey.keys, sync);
                hidden.call(out, names, entry, (discards, closes));
            }
            Record::Resource { .. } => {
                resources.take(out, (&survey.resources, &mut survey.objects), entry);
            }
            Record::Fence { order, .. } => out.push_fence(entry, order),
            Record::AfterOthers => hidden.after_others(out, entry.thread, 0),
            Record::Begin { method } => {
                let name = out.tables.method(method);
                let label = Some(out.trace.builder.label(name));
                out.push_marker(entry.thread, EventKind::Begin { label }, 0);
            }
            Record::EndBlock => {
                out.push_marker(entry.thread, EventKind::End { label: None }, 0);
            }
            Record::AllBlocked { ref threads } => self.failure.waiting(threads),
            Record::Deadlock { ref threads } => {
                self.failure.deadlock(out, (sync, &mut survey.objects), threads);
            }
            Record::Uncaught { thread, class, message, ref frames } => {
                let e = Uncaught::new(class, message, frames);
                self.failure.uncaught(out, thread, &e);
            }
            Record::Latch { semaphore, count, .. } => {
                let Some(sem) = sync.semaphore(semaphore) else { return };
                for _ in 0..count.min(MAX_PERMITS) {
                    out.push(entry, EventKind::Down { sem });
                }
                for _ in 0..count.min(MAX_PERMITS) {
                    out.push(entry, EventKind::Post { sem });
                }
            }
            Record::Permit { down, post, .. } => {
                sync.push_down(out, entry, down);
                sync.push_post(out, entry, post);
            }
            Record::Operation { object, down, post, .. } => {
                // The semaphores do not count what hidden calls put in and take out.
                let counts = !hidden.is_used(object);
                self.operation(entry, if counts { down } else { 0 }, if counts { post } else { 0 });
            }
            Record::Access { .. }
            | Record::Element { .. }
            | Record::Atomic { .. }
            | Record::AtomicElement { .. }
            | Record::Handled { .. }
            | Record::HandledPlain { .. } => self.operation(entry, 0, 0),
            Record::Range { .. } => {
                let discards = self.survey.discards(entry);
                for access in Access::of_range(&entry.record) {
                    self.accesses += 1;
                    let discarded = discards && access.is_plain_read();
                    if self.survey.is_shared(&access.key) && !discarded {
                        self.access(entry, &access, 0, 0);
                    } else {
                        self.private += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the events of a synchronisation operation, with the block that a lock scope is.
    fn sync(&mut self, entry: &Entry<'_>, operation: (SyncKind, u32, u64)) {
        let (kind, _, other) = operation;
        if self.survey.optimistic.skips(kind, other, (entry.thread, entry.ordinal)) {
            return;
        }
        let operation = self.operation_of_mutex(operation);
        let (kind, _, other) = operation;
        self.failure.sync(entry.thread, operation);
        let (thread, site) = (entry.thread, entry.record.site());
        let scope = self.scopes.step(thread, entry.ordinal, kind);
        let Translation { out, sync, survey, hidden, .. } = self;
        match kind {
            SyncKind::Wait => hidden.waits(out, thread),
            SyncKind::Woken | SyncKind::TimedOut => hidden.woken(thread),
            _ => {}
        }
        let Some(event) = sync.event(out, &mut survey.objects, operation) else { return };
        if scope == Scope::Opens {
            out.push_marker(thread, EventKind::Begin { label: None }, site);
        }
        let times = match kind {
            SyncKind::Post | SyncKind::Down => other.min(MAX_PERMITS),
            _ => 1,
        };
        for _ in 0..times {
            out.push(entry, event);
        }
        if scope == Scope::Closes {
            out.push_marker(thread, EventKind::End { label: None }, site);
        }
    }

    /// Returns the operation on a lock that an operation on a semaphore is, or the operation.
    fn operation_of_mutex(
        &self,
        (kind, object, other): (SyncKind, u32, u64),
    ) -> (SyncKind, u32, u64) {
        match self.survey.mutexes.lock_of(kind, object) {
            Some((lock, true)) => (SyncKind::Lock, lock, u64::from(other & TRIED != 0)),
            Some((lock, false)) => (SyncKind::Unlock, lock, 0),
            None => (kind, object, other & !TRIED),
        }
    }

    /// Returns the access that a record is, if its variable is shared.
    fn shared_access(&mut self, entry: &Entry<'_>) -> Option<Access> {
        self.accesses += 1;
        let access = Access::of(&entry.record, &mut self.survey.fields, self.out.tables);
        let access = access.filter(|a| self.survey.is_shared(&a.key));
        let access = access.filter(|a| !(a.is_plain_read() && self.survey.discards(entry)));
        self.private += u64::from(access.is_none());
        access
    }

    /// Adds the events of an access. An operation on a collection is between a `down` and a `post`
    /// of semaphores (0: none).
    fn operation(&mut self, entry: &Entry<'_>, down: u32, post: u32) {
        match self.shared_access(entry) {
            Some(access) => self.access(entry, &access, down, post),
            None => {
                self.sync.push_down(&mut self.out, entry, down);
                self.sync.push_post(&mut self.out, entry, post);
            }
        }
    }

    /// Adds the events of an access to a shared variable, between a `down` and a `post`.
    fn access(&mut self, entry: &Entry<'_>, access: &Access, down: u32, post: u32) {
        let Translation { out, survey, variables, sync, .. } = self;
        let (event, lock) = variables.access(out, survey, access);
        let sections = Sections::of(lock, access.action, down, post);
        let (thread, site) = (entry.thread, entry.record.site());
        if let Some([acquire, _]) = sections.around {
            out.push_marker(thread, acquire, site);
        }
        sync.push_down(out, entry, down);
        out.push_ordered(entry, event, access.order);
        if let Some([_, release]) = sections.around {
            out.push_marker(thread, release, site);
        }
        for event in sections.after.into_iter().flatten() {
            out.push_marker(thread, event, site);
        }
        sync.push_post(out, entry, post);
        if let Record::Operation { object, key: 0, .. } = entry.record {
            let operation = (object, access.action);
            self.map_orders.after_operation(out, (survey, sync), entry, operation);
        }
    }

    fn finish(self, log: &Log<'_>) -> Translated {
        let mut out = self.out;
        let (failure, living) = self.failure.finish(&mut out);
        let mut trace = out.trace;
        if !self.damaged {
            self.ended.declare(&mut trace);
        }
        let builder = &mut trace.builder;
        builder.set_meta("recorded", "serialized");
        builder.set_meta("language", "java");
        builder.set_meta("seed", &log.seed.to_string());
        builder.set_meta("quantum", &log.quantum.to_string());
        builder.set_meta("accesses", &self.accesses.to_string());
        builder.set_meta("private accesses", &self.private.to_string());
        for (key, value) in self.hidden.kept.properties() {
            builder.set_meta(&key, &value);
        }
        let (trace, steps, repairs) = trace.finish(Vec::new());
        Translated {
            trace,
            steps,
            accesses: self.accesses,
            private: self.private,
            repairs,
            damaged: self.damaged,
            failure,
            living,
            waits: Vec::new(),
            limited: Vec::new(),
            symbolic: None,
        }
    }
}
