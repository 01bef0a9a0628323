//! Variables of a Java trace: fields, elements of arrays, values of atomic objects.

use foretell_trace::{EventKind, LockId, TraceBuilder, VarId};
use rustc_hash::FxHashMap;

use super::event_writer::EventWriter;
use super::survey::{ATOMIC, Access, ELEMENT, Key, Survey};
use crate::action::Action;
use crate::failed_rmw;
use crate::names::UniqueNames;

/// Content of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Never written; the value that was read, if one was.
    Initial(Option<i64>),
    Known(i64),
}

/// A variable of the trace.
struct Variable {
    id: VarId,
    content: Content,
    opaque: bool,
    /// The lock around failed updates of the variable, if it has any.
    failed_update_lock: Option<LockId>,
}

impl Variable {
    /// Notes an access. The variable becomes opaque if no write explains the value that was read.
    fn apply(&mut self, builder: &mut TraceBuilder, access: &Access) {
        if let Some(seen) = access.old.filter(|_| access.action.reads()) {
            let explained = match self.content {
                Content::Initial(first) => {
                    self.content = Content::Initial(Some(first.unwrap_or(seen)));
                    first.is_none_or(|first| first == seen)
                }
                Content::Known(value) => {
                    self.content = Content::Known(seen);
                    value == seen
                }
            };
            if !explained && !self.opaque {
                self.opaque = true;
                builder.set_opaque(self.id);
            }
        }
        if let Some(new) = access.new.filter(|_| access.action.writes()) {
            self.content = Content::Known(new);
        }
    }
}

/// Returns the text of a key as a part of a name, which has no brackets and separators.
pub(super) fn readable_key(key: &str) -> String {
    let plain = |c: char| if "|(),=\n\r".contains(c) { '_' } else { c };
    key.chars().take(40).map(plain).collect()
}

/// The variables of a run so far.
#[derive(Default)]
pub(super) struct Variables {
    names: UniqueNames,
    by_key: FxHashMap<Key, Variable>,
}

impl Variables {
    /// Returns the event of an access, and the lock around failed updates of its variable.
    pub(super) fn access(
        &mut self,
        out: &mut EventWriter<'_>,
        survey: &mut Survey,
        access: &Access,
    ) -> (EventKind, Option<LockId>) {
        if !self.by_key.contains_key(&access.key) {
            let name = self.name(out, survey, access.key);
            let builder = &mut out.trace.builder;
            let id = builder.variable(&name);
            let failed = survey.has_failed_updates(&access.key);
            let failed_update_lock = failed.then(|| failed_rmw::lock(builder, &name));
            let initial = survey.initial_value(&access.key, out.tables);
            // A read that comes first tells the value itself.
            let initial = initial.filter(|_| !access.action.reads());
            if let Some(value) = initial {
                let value = out.trace.value(value);
                out.trace.builder.set_initial_value(id, value);
            }
            let content = initial.map_or(Content::Initial(None), Content::Known);
            let opaque = survey.is_rewritten(&access.key);
            if opaque {
                out.trace.builder.set_opaque(id);
            }
            let variable = Variable { id, content, opaque, failed_update_lock };
            self.by_key.insert(access.key, variable);
        }
        let (mut var, mut lock) = (VarId(0), None);
        if let Some(variable) = self.by_key.get_mut(&access.key) {
            variable.apply(&mut out.trace.builder, access);
            (var, lock) = (variable.id, variable.failed_update_lock);
        }
        let old = access.old.map(|v| out.trace.value(v));
        let new = access.new.map(|v| out.trace.value(v));
        let atomic = access.atomic;
        let event = match access.action {
            Action::Read | Action::FailedUpdate => {
                EventKind::Read { var, atomic, value: old, register: None }
            }
            Action::Write => EventKind::Write { var, atomic, value: new, expr: None },
            Action::Update => EventKind::Update { var, old, new, register: None, expr: None },
        };
        (event, lock)
    }

    fn name(&mut self, out: &EventWriter<'_>, survey: &mut Survey, key: Key) -> String {
        let (object, field, index) = key;
        let mut object_name = || survey.objects.name(object, out.tables);
        let name = match (field, object) {
            (ELEMENT, _) => format!("{}[{index}]", object_name()),
            (ATOMIC, _) => {
                let name = object_name();
                match (index.checked_sub(1), survey.keys.get(&(object, index))) {
                    (_, Some(key)) => format!("{name}[{}]", readable_key(key)),
                    (Some(index), None) => format!("{name}[{index}]"),
                    (None, None) => name,
                }
            }
            (_, 0) => {
                let (class, field) = survey.fields.name(field);
                format!("{class}.{field}")
            }
            _ => {
                let owner = object_name();
                format!("{owner}.{}", survey.fields.name(field).1)
            }
        };
        self.names.unique(name)
    }
}
