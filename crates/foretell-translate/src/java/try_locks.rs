//! Locks that a thread has taken by `tryLock`.
//!
//! A try blocks no thread: it is never part of a deadlock. The trace has only acquires, which wait.
//! A lock that was taken by a try therefore has an opaque variable, `hidden:tries of` the lock,
//! which a try updates before its acquire, every other acquire right after it, and a release before
//! it. Where a try's acquire is next and another thread has the lock, that thread cannot have gone
//! beyond its own update: it waits for nothing. The sections of such a lock keep their order; those
//! of other locks are free.

use foretell_rt_format::SyncKind;
use foretell_trace::{EventKind, VarId};
use rustc_hash::FxHashMap;

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use super::sync::LOCK_OBJECT;

/// Position of the update beside the event of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Before,
    After,
}

/// Variables of the locks taken by tries, with their values.
#[derive(Default)]
pub(super) struct TryLocks(FxHashMap<u32, (VarId, i64)>);

impl TryLocks {
    /// Returns the lock of an operation, and the position of its update.
    pub(super) fn lock((kind, object, other): (SyncKind, u32, u64)) -> Option<(u32, Position)> {
        let of_wait = u32::try_from(other).unwrap_or(0);
        Some(match kind {
            SyncKind::Lock | SyncKind::ReadLock if other != 0 => (object, Position::Before),
            SyncKind::Lock | SyncKind::ReadLock => (object, Position::After),
            SyncKind::Unlock | SyncKind::ReadUnlock => (object, Position::Before),
            SyncKind::Wait => (of_wait, Position::Before),
            SyncKind::Woken | SyncKind::TimedOut => (of_wait, Position::After),
            _ => return None,
        })
    }

    /// Adds the update of a lock's variable.
    pub(super) fn update(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        entry: &Entry<'_>,
        lock: u32,
    ) {
        let (var, value) = self.0.entry(lock).or_insert_with(|| {
            let object = objects.name(lock & !LOCK_OBJECT, out.tables);
            let var = out.trace.builder.variable(&format!("hidden:tries of {object}"));
            out.trace.builder.set_opaque(var);
            let zero = out.trace.value(0);
            out.trace.builder.set_initial_value(var, zero);
            (var, 0)
        });
        let (var, old) = (*var, Some(out.trace.value(*value)));
        *value += 1;
        let new = Some(out.trace.value(*value));
        let event = EventKind::Update { var, old, new, register: None, expr: None };
        out.push_marker(entry.thread, event, entry.record.site());
        out.trace.set_observed_last(entry.thread, true);
    }
}
