//! Synchronisation objects of a Java run: monitors and locks, conditions, semaphores, barriers.

use foretell_rt_format::SyncKind;
use foretell_trace::{BarrierId, CondId, EventKind, LockId, SemId};
use rustc_hash::FxHashMap;

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use crate::names::UniqueNames;

/// Bit of the number of an object that is a `Lock`, where the lock is meant and not the monitor.
pub(super) const LOCK_OBJECT: u32 = 1 << 31;

/// The synchronisation objects of a run so far.
#[derive(Default)]
pub(super) struct SyncObjects {
    names: UniqueNames,
    locks: FxHashMap<u32, LockId>,
    conditions: FxHashMap<u32, CondId>,
    semaphores: FxHashMap<u32, SemId>,
    barriers: FxHashMap<u32, BarrierId>,
}

impl SyncObjects {
    /// Returns a unique name for an object.
    pub(super) fn name(
        &mut self,
        out: &EventWriter<'_>,
        objects: &mut Objects,
        object: u32,
    ) -> String {
        self.names.unique(objects.name(object, out.tables))
    }

    /// Returns the name of a lock.
    pub(super) fn lock_name(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        object: u32,
    ) -> String {
        let id = self.lock(out, objects, object);
        out.trace.builder.trace().lock_name(id).to_owned()
    }

    fn lock(&mut self, out: &mut EventWriter<'_>, objects: &mut Objects, object: u32) -> LockId {
        if let Some(&id) = self.locks.get(&object) {
            return id;
        }
        // A `Lock` and the monitor of the same object are two locks.
        let name = objects.name(object & !LOCK_OBJECT, out.tables);
        let is_other = self.locks.contains_key(&(object ^ LOCK_OBJECT));
        let name = match (is_other, object & LOCK_OBJECT) {
            (true, 0) => format!("monitor of {name}"),
            (true, _) => format!("lock {name}"),
            (false, _) => name,
        };
        let name = self.names.unique(name);
        let id = out.trace.builder.lock(&name);
        self.locks.insert(object, id);
        id
    }

    fn condition(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        object: u32,
    ) -> CondId {
        if let Some(&id) = self.conditions.get(&object) {
            return id;
        }
        let name = objects.name(object, out.tables);
        let id = out.trace.builder.condition(&name);
        self.conditions.insert(object, id);
        id
    }

    /// Adds a semaphore. In its name, `@` and a number stand for an object.
    pub(super) fn add_semaphore(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        (number, count, name): (u32, u64, &str),
    ) {
        let object = name.split_once('@').and_then(|(what, id)| Some((what, id.parse().ok()?)));
        let name = match object {
            Some((what, id)) => format!("{what}{}", objects.name(id, out.tables)),
            None => name.to_owned(),
        };
        let name = self.names.unique(name);
        let id = out.trace.builder.semaphore(&name);
        out.trace.builder.set_initial_count(id, count);
        self.semaphores.insert(number, id);
    }

    /// Adds a barrier.
    pub(super) fn add_barrier(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        (object, parties): (u32, u64),
    ) {
        let name = self.name(out, objects, object);
        let id = out.trace.builder.barrier(&name);
        out.trace.builder.set_parties(id, u32::try_from(parties).unwrap_or(1).max(1));
        self.barriers.insert(object, id);
    }

    /// Returns the semaphore with a number.
    pub(super) fn semaphore(&self, number: u32) -> Option<SemId> {
        self.semaphores.get(&number).copied()
    }

    /// Adds a `down` of the semaphore with a number, if there is one.
    pub(super) fn push_down(&self, out: &mut EventWriter<'_>, entry: &Entry<'_>, number: u32) {
        if let Some(sem) = self.semaphore(number) {
            out.push(entry, EventKind::Down { sem });
        }
    }

    /// Adds a `post` of the semaphore with a number, if there is one.
    pub(super) fn push_post(&self, out: &mut EventWriter<'_>, entry: &Entry<'_>, number: u32) {
        if let Some(sem) = self.semaphore(number) {
            out.push(entry, EventKind::Post { sem });
        }
    }

    /// Returns the event of an operation, if it has one.
    pub(super) fn event(
        &mut self,
        out: &mut EventWriter<'_>,
        objects: &mut Objects,
        (kind, object, other): (SyncKind, u32, u64),
    ) -> Option<EventKind> {
        Some(match kind {
            SyncKind::Lock => {
                let lock = self.lock(out, objects, object);
                if other == 0 {
                    EventKind::Acquire { lock }
                } else {
                    EventKind::TryAcquire { lock }
                }
            }
            SyncKind::Unlock => EventKind::Release { lock: self.lock(out, objects, object) },
            SyncKind::TryFailed => EventKind::TryFailed { lock: self.lock(out, objects, object) },
            SyncKind::TryReadFailed => {
                EventKind::TryFailedShared { lock: self.lock(out, objects, object) }
            }
            SyncKind::ReadLock => {
                let lock = self.lock(out, objects, object);
                if other == 0 {
                    EventKind::AcquireShared { lock }
                } else {
                    EventKind::TryAcquireShared { lock }
                }
            }
            SyncKind::ReadUnlock => {
                EventKind::ReleaseShared { lock: self.lock(out, objects, object) }
            }
            SyncKind::Wait | SyncKind::Woken | SyncKind::TimedOut => {
                let cond = self.condition(out, objects, object);
                let lock = self.lock(out, objects, u32::try_from(other).unwrap_or(0));
                match kind {
                    SyncKind::Wait => EventKind::Wait { cond, lock },
                    SyncKind::Woken => EventKind::Woken { cond, lock },
                    _ => EventKind::TimedOut { cond, lock },
                }
            }
            SyncKind::Signal => EventKind::Notify { cond: self.condition(out, objects, object) },
            SyncKind::Broadcast => {
                EventKind::NotifyAll { cond: self.condition(out, objects, object) }
            }
            SyncKind::Post => EventKind::Post { sem: self.semaphore(object)? },
            SyncKind::Down => EventKind::Down { sem: self.semaphore(object)? },
            SyncKind::Arrive => EventKind::Arrive { barrier: *self.barriers.get(&object)? },
            SyncKind::Leave => EventKind::Leave { barrier: *self.barriers.get(&object)? },
            // Operations that are no events by themselves, or that the agent never writes.
            _ => return None,
        })
    }
}
