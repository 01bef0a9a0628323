//! Locks, conditions, semaphores and barriers, and what is done with them.

use foretell_rt_format::SyncKind;
use foretell_trace::{BarrierId, CondId, EventKind, LockId, SemId};

use super::{At, Translation};
use crate::blocks::Scope;
use crate::regions::RegionId;

impl Translation<'_> {
    pub(super) fn object(&mut self, addr: u64) -> (RegionId, u64) {
        (self.regions.of(addr), addr)
    }

    pub(super) fn object_name(&mut self, key: (RegionId, u64)) -> String {
        self.object_names.name(&self.regions, &mut self.symbols, key.0, key.1)
    }

    pub(super) fn lock(&mut self, addr: u64) -> LockId {
        let key = self.object(addr);
        if let Some(&id) = self.locks.get(&key) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.lock(&name);
        self.locks.insert(key, id);
        id
    }

    pub(super) fn condition(&mut self, addr: u64) -> CondId {
        let key = self.object(addr);
        if let Some(&id) = self.conditions.get(&key) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.condition(&name);
        self.conditions.insert(key, id);
        id
    }

    /// The semaphore at an address; one that is initialised starts a new life.
    pub(super) fn semaphore(&mut self, addr: u64, count: Option<u64>) -> SemId {
        let key = self.object(addr);
        if let (Some(&id), None) = (self.semaphores.get(&key), count) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.semaphore(&name);
        self.builder.set_initial_count(id, count.unwrap_or(0));
        self.semaphores.insert(key, id);
        id
    }

    pub(super) fn barrier(&mut self, addr: u64, parties: Option<u64>) -> BarrierId {
        let key = self.object(addr);
        if let (Some(&id), None) = (self.barriers.get(&key), parties) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.barrier(&name);
        let parties = parties.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        self.builder.set_parties(id, parties.max(1));
        self.barriers.insert(key, id);
        id
    }

    pub(super) fn sync(&mut self, at: &At<'_>, kind: SyncKind, object: u64, other: u64) {
        let scope = self.depths.step(at.thread, kind);
        let opens = scope == Scope::Opens && self.survey.scopes.opens(at.thread, at.ordinal);
        let event = match kind {
            SyncKind::Lock => EventKind::Acquire { lock: self.lock(object) },
            SyncKind::Unlock => EventKind::Release { lock: self.lock(object) },
            SyncKind::TryFailed | SyncKind::TryReadFailed => {
                EventKind::TryFailed { lock: self.lock(object) }
            }
            SyncKind::ReadLock => EventKind::AcquireShared { lock: self.lock(object) },
            SyncKind::ReadUnlock => EventKind::ReleaseShared { lock: self.lock(object) },
            SyncKind::Wait => {
                EventKind::Wait { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::Woken => {
                EventKind::Woken { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::TimedOut => {
                EventKind::TimedOut { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::Signal => EventKind::Notify { cond: self.condition(object) },
            SyncKind::Broadcast => EventKind::NotifyAll { cond: self.condition(object) },
            SyncKind::Post => EventKind::Post { sem: self.semaphore(object, None) },
            SyncKind::Down => EventKind::Down { sem: self.semaphore(object, None) },
            SyncKind::Arrive => EventKind::Arrive { barrier: self.barrier(object, None) },
            SyncKind::Leave => EventKind::Leave { barrier: self.barrier(object, None) },
            SyncKind::SemInit => {
                self.semaphore(object, Some(other));
                return;
            }
            SyncKind::BarrierInit => {
                self.barrier(object, Some(other));
                return;
            }
            SyncKind::DownFailed => return self.tried_in_vain(at, object),
            SyncKind::Init | SyncKind::Destroy => return,
            SyncKind::SystemCall => return self.system_call(at),
            SyncKind::Sent | SyncKind::Received | SyncKind::Looked | SyncKind::Unsure => {
                return self.channel(at, kind, object, other);
            }
        };
        if let EventKind::Post { .. } = event {
            self.count_changes(at, object, 1);
        }
        if opens {
            self.in_scope.insert(at.thread);
            self.push_marker(at, EventKind::Begin { label: None }, at.pc);
        }
        self.push(at, event);
        if let EventKind::Down { .. } = event {
            self.count_changes(at, object, -1);
        }
        if scope == Scope::Closes && self.in_scope.remove(&at.thread) {
            self.push_marker(at, EventKind::End { label: None }, at.pc);
        }
    }
}
