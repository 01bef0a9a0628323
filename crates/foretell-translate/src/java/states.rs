//! State of threads, tasks and executors that a program looks at without waiting: whether a thread
//! is alive or interrupted, whether a task is done, whether an executor has terminated.
//!
//! The state of an object is hidden state: an opaque variable, `hidden:` and the object. A change
//! is an update of it, a look a read. So a thread that has looked goes on only where it sees what
//! it saw. States that one thread alone uses, or that no thread looks at, have no variable.

use foretell_trace::{EventKind, VarId};
use rustc_hash::FxHashMap;

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use super::record::{Effect, Record};

/// Use of an object's state in a run.
#[derive(Clone, Copy)]
struct StateUse {
    /// The thread that used it first.
    thread: u32,
    shared: bool,
    looked: bool,
    changed: bool,
}

/// Returns the object whose state the record of an access or an operation changes: an atomic
/// object or a map, whose state a lookup inside `updateAndGet` or `compute`, or `size`, looks at.
pub(super) fn changed(record: &Record<'_>) -> Option<u32> {
    match *record {
        Record::Atomic { object, effect, .. } | Record::Operation { object, effect, .. } => {
            matches!(effect, Effect::Write(_) | Effect::Update(..)).then_some(object)
        }
        _ => None,
    }
}

/// The states that a run uses; made by the first pass.
#[derive(Default)]
pub(super) struct StateUses(FxHashMap<u32, StateUse>);

impl StateUses {
    /// Notes a look or a change.
    pub(super) fn touch(&mut self, thread: u32, object: u32, change: bool) {
        let new = StateUse { thread, shared: false, looked: false, changed: false };
        let used = self.0.entry(object).or_insert(new);
        used.shared |= used.thread != thread;
        used.looked |= !change;
        used.changed |= change;
    }

    fn is_shared(&self, object: u32) -> bool {
        self.0.get(&object).is_some_and(|u| u.shared && u.looked && u.changed)
    }
}

/// Variables of the states so far, with their values.
#[derive(Default)]
pub(super) struct States(FxHashMap<u32, (VarId, i64)>);

impl States {
    /// Adds the event of a look or a change.
    pub(super) fn access(
        &mut self,
        out: &mut EventWriter<'_>,
        (uses, objects): (&StateUses, &mut Objects),
        entry: &Entry<'_>,
        (object, change, is_step): (u32, bool, bool),
    ) {
        if !uses.is_shared(object) {
            return;
        }
        let (var, value) = self.0.entry(object).or_insert_with(|| {
            let name = format!("hidden:{}", objects.name(object, out.tables));
            let builder = &mut out.trace.builder;
            let var = builder.variable(&name);
            builder.set_opaque(var);
            let zero = out.trace.value(0);
            out.trace.builder.set_initial_value(var, zero);
            (var, 0)
        });
        let (var, old) = (*var, Some(out.trace.value(*value)));
        let event = if change {
            *value += 1;
            let new = Some(out.trace.value(*value));
            EventKind::Update { var, old, new, register: None, expr: None }
        } else {
            EventKind::Read { var, atomic: true, value: old, register: None }
        };
        if is_step {
            out.push(entry, event);
            return;
        }
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }

    /// Adds a change of the state that the record of an access or an operation changes, if a thread
    /// looks at it. It comes before the event of the record and after it.
    pub(super) fn around(
        &mut self,
        out: &mut EventWriter<'_>,
        uses: (&StateUses, &mut Objects),
        entry: &Entry<'_>,
    ) {
        if let Some(object) = changed(&entry.record) {
            self.access(out, uses, entry, (object, true, false));
        }
    }
}
