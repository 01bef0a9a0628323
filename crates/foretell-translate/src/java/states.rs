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

/// Use of an object's state in a run.
#[derive(Clone, Copy)]
struct StateUse {
    /// The thread that used it first.
    thread: u32,
    shared: bool,
    looked: bool,
    changed: bool,
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
        (object, change): (u32, bool),
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
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }
}
