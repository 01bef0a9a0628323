//! Blind puts: puts into a map whose results the program ignores.
//!
//! Such a put is a write of the map's version: it depends on no earlier content. But it does not
//! make the whole map: the puts of other threads remain, so a thread that looks at the map after
//! it sees those puts too. The trace has a variable for that, *order of* the map, which every
//! operation on the map reads or updates right after its access to the version. The variable is
//! opaque: its accesses keep their recorded order, and are part of no finding. So a put can come
//! earlier or later than it did, and be the end of a finding; but its thread, and a thread that has
//! looked, goes on only where the same puts come before. Maps without blind puts have no such
//! variable.

use foretell_trace::{EventKind, VarId};
use rustc_hash::FxHashMap;

use super::event_writer::EventWriter;
use super::log::Entry;
use super::survey::Survey;
use super::sync::SyncObjects;
use crate::action::Action;

/// Orders of the maps with blind puts.
#[derive(Default)]
pub(super) struct MapOrders(FxHashMap<u32, VarId>);

impl MapOrders {
    /// Adds the access to a map's order after an operation on the map.
    pub(super) fn after_operation(
        &mut self,
        out: &mut EventWriter<'_>,
        (survey, sync): (&mut Survey, &mut SyncObjects),
        entry: &Entry<'_>,
        (map, action): (u32, Action),
    ) {
        if !survey.blind_puts.contains(&map) {
            return;
        }
        let var = *self.0.entry(map).or_insert_with(|| {
            let name = format!("order of {}", sync.name(out, &mut survey.objects, map));
            let var = out.trace.builder.variable(&name);
            out.trace.builder.set_opaque(var);
            var
        });
        let event = match action {
            Action::Read | Action::FailedUpdate => {
                EventKind::Read { var, atomic: true, value: None, register: None }
            }
            Action::Write | Action::Update => {
                EventKind::Update { var, old: None, new: None, register: None, expr: None }
            }
        };
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }
}
