//! Puts into a map whose results nobody looks at.
//!
//! Such a put is a write of the map's version: it depends on nothing that was there. But it does not make the whole
//! map: what others have put is there as well, so who looks at the map after it has seen those puts too. In the trace that is a
//! variable of its own, *order of* the map, which every operation on the map reads or changes right after what it does to the
//! version. It is opaque: its accesses keep the order that they were recorded in, and are part of no finding. So a put can come
//! earlier or later than it did, and be the end of a finding; but its thread goes on, and so does one that has looked, only where
//! the same puts are behind it. Maps that nobody puts into like this have no such variable.

use foretell_trace::{EventKind, VarId};

use super::{Entry, Translation};
use crate::attempts::Action;

impl Translation<'_> {
    /// After an operation on a collection.
    pub(super) fn in_order(&mut self, entry: &Entry<'_>, map: u32, action: Action) {
        let Some(var) = self.order_of(map) else { return };
        let event = match action {
            Action::Read | Action::Attempt => {
                EventKind::Read { var, atomic: true, value: None, register: None }
            }
            Action::Write | Action::Update => {
                EventKind::Update { var, old: None, new: None, register: None, expr: None }
            }
        };
        self.push_marker(entry.thread, event, entry.record.site());
        self.settled.remove(&entry.thread);
    }

    fn order_of(&mut self, map: u32) -> Option<VarId> {
        if !self.survey.blindly.contains(&map) {
            return None;
        }
        if let Some(&var) = self.orders.get(&map) {
            return Some(var);
        }
        let name = format!("order of {}", self.object_name(map));
        let var = self.builder.variable(&name);
        self.builder.set_opaque(var);
        self.orders.insert(map, var);
        Some(var)
    }
}
