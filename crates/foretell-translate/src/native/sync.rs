//! Synchronisation objects of a native run: locks, conditions, semaphores and barriers.

mod semaphore_counts;

use foretell_rt_format::{SyncKind, WaitingFor};
use foretell_trace::{BarrierId, CondId, EventKind, LockId, SemId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::Context;
use super::event_writer::EventWriter;
use super::lifetimes::objects_of;
use super::names::MemoryNames;
use super::regions::{RegionId, Regions};
use crate::thread_wait::ThreadWait;
use semaphore_counts::SemaphoreCounts;

/// Region and address of a synchronisation object.
pub(super) type ObjectKey = (RegionId, u64);

/// The synchronisation objects of a run so far.
pub(super) struct SyncObjects {
    names: MemoryNames,
    locks: FxHashMap<ObjectKey, LockId>,
    conditions: FxHashMap<ObjectKey, CondId>,
    semaphores: FxHashMap<ObjectKey, SemId>,
    counts: SemaphoreCounts,
    barriers: FxHashMap<ObjectKey, BarrierId>,
}

impl SyncObjects {
    /// Returns no objects; `tried` are the semaphores that a thread of the run fails to take.
    pub(super) fn new(tried: FxHashSet<ObjectKey>) -> SyncObjects {
        SyncObjects {
            names: MemoryNames::default(),
            locks: FxHashMap::default(),
            conditions: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            counts: SemaphoreCounts::new(tried),
            barriers: FxHashMap::default(),
        }
    }

    fn name(&mut self, out: &mut EventWriter, regions: &Regions, key: ObjectKey) -> String {
        self.names.name(regions, &mut out.locations, key)
    }

    /// Returns the name of an object that a thread waits for.
    pub(super) fn name_of(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        what: WaitingFor,
        addr: u64,
    ) -> String {
        let key = (regions.of(addr), addr);
        let trace = out.trace.builder.trace();
        let known = match what {
            WaitingFor::Condition => self.conditions.get(&key).map(|&id| trace.condition_name(id)),
            WaitingFor::Semaphore => self.semaphores.get(&key).map(|&id| trace.semaphore_name(id)),
            WaitingFor::Barrier => self.barriers.get(&key).map(|&id| trace.barrier_name(id)),
            _ => self.locks.get(&key).map(|&id| trace.lock_name(id)),
        };
        match known {
            Some(name) => name.to_owned(),
            None => self.name(out, regions, key),
        }
    }

    /// Returns the operation of a thread that waits for an object.
    pub(super) fn wait(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        what: WaitingFor,
        addr: u64,
    ) -> ThreadWait {
        match what {
            WaitingFor::Lock => ThreadWait::Lock(self.lock(out, regions, addr)),
            WaitingFor::ReadLock => ThreadWait::ReadLock(self.lock(out, regions, addr)),
            WaitingFor::Condition => ThreadWait::Condition(self.condition(out, regions, addr)),
            WaitingFor::Semaphore => {
                ThreadWait::Semaphore(self.semaphore(out, regions, addr, None))
            }
            WaitingFor::Join => ThreadWait::Join(out.trace.thread(addr as u32)),
            _ => ThreadWait::Other,
        }
    }

    fn lock(&mut self, out: &mut EventWriter, regions: &mut Regions, addr: u64) -> LockId {
        let key = (regions.of(addr), addr);
        if let Some(&id) = self.locks.get(&key) {
            return id;
        }
        let name = self.name(out, regions, key);
        let id = out.trace.builder.lock(&name);
        out.place_lock(regions, key, id);
        self.locks.insert(key, id);
        id
    }

    fn condition(&mut self, out: &mut EventWriter, regions: &mut Regions, addr: u64) -> CondId {
        let key = (regions.of(addr), addr);
        if let Some(&id) = self.conditions.get(&key) {
            return id;
        }
        let name = self.name(out, regions, key);
        let id = out.trace.builder.condition(&name);
        out.place_condition(regions, key, id);
        self.conditions.insert(key, id);
        id
    }

    /// Returns the semaphore at an address. Initialising it with a count makes a new one.
    fn semaphore(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        addr: u64,
        count: Option<u64>,
    ) -> SemId {
        let key = (regions.of(addr), addr);
        if let (Some(&id), None) = (self.semaphores.get(&key), count) {
            return id;
        }
        let name = self.name(out, regions, key);
        let id = out.trace.builder.semaphore(&name);
        out.trace.builder.set_initial_count(id, count.unwrap_or(0));
        self.semaphores.insert(key, id);
        id
    }

    /// Returns the barrier at an address. Initialising it with its parties makes a new one.
    fn barrier(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        addr: u64,
        parties: Option<u64>,
    ) -> BarrierId {
        let key = (regions.of(addr), addr);
        if let (Some(&id), None) = (self.barriers.get(&key), parties) {
            return id;
        }
        let name = self.name(out, regions, key);
        let id = out.trace.builder.barrier(&name);
        let parties = parties.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        out.trace.builder.set_parties(id, parties.max(1));
        self.barriers.insert(key, id);
        id
    }

    /// Forgets the objects at the addresses of an operation that begins new ones.
    fn renew(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        operation: (SyncKind, u64, u64),
    ) {
        for addr in objects_of(operation) {
            let key = (regions.of(addr), addr);
            if out.lifetimes.renews(key, operation.0) {
                self.locks.remove(&key);
                self.conditions.remove(&key);
            }
        }
    }

    /// Returns the event of an operation. `None`: it has no event of its own, because it only
    /// changes the object, or because it is an operation on no synchronisation object.
    pub(super) fn event(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        (kind, object, other): (SyncKind, u64, u64),
    ) -> Option<EventKind> {
        self.renew(out, regions, (kind, object, other));
        Some(match kind {
            SyncKind::Lock => {
                let lock = self.lock(out, regions, object);
                if other == 0 {
                    EventKind::Acquire { lock }
                } else {
                    EventKind::TryAcquire { lock }
                }
            }
            SyncKind::Unlock => EventKind::Release { lock: self.lock(out, regions, object) },
            SyncKind::TryFailed => EventKind::TryFailed { lock: self.lock(out, regions, object) },
            SyncKind::TryReadFailed => {
                EventKind::TryFailedShared { lock: self.lock(out, regions, object) }
            }
            SyncKind::ReadLock => {
                let lock = self.lock(out, regions, object);
                if other == 0 {
                    EventKind::AcquireShared { lock }
                } else {
                    EventKind::TryAcquireShared { lock }
                }
            }
            SyncKind::ReadUnlock => {
                EventKind::ReleaseShared { lock: self.lock(out, regions, object) }
            }
            SyncKind::Wait | SyncKind::Woken | SyncKind::TimedOut => {
                let cond = self.condition(out, regions, object);
                let lock = self.lock(out, regions, other);
                match kind {
                    SyncKind::Wait => EventKind::Wait { cond, lock },
                    SyncKind::Woken => EventKind::Woken { cond, lock },
                    _ => EventKind::TimedOut { cond, lock },
                }
            }
            SyncKind::Signal => EventKind::Notify { cond: self.condition(out, regions, object) },
            SyncKind::Broadcast => {
                EventKind::NotifyAll { cond: self.condition(out, regions, object) }
            }
            SyncKind::Post => EventKind::Post { sem: self.semaphore(out, regions, object, None) },
            SyncKind::Down => EventKind::Down { sem: self.semaphore(out, regions, object, None) },
            SyncKind::Arrive => {
                EventKind::Arrive { barrier: self.barrier(out, regions, object, None) }
            }
            SyncKind::Leave => {
                EventKind::Leave { barrier: self.barrier(out, regions, object, None) }
            }
            SyncKind::SemInit => {
                self.semaphore(out, regions, object, Some(other));
                return None;
            }
            SyncKind::BarrierInit => {
                self.barrier(out, regions, object, Some(other));
                return None;
            }
            SyncKind::Destroy if other == 0 => {
                let key = (regions.of(object), object);
                EventKind::Free { block: out.block_of_object(regions, key)? }
            }
            SyncKind::DownFailed
            | SyncKind::Init
            | SyncKind::Destroy
            | SyncKind::OtherWake
            | SyncKind::SystemCall
            | SyncKind::Sent
            | SyncKind::Received
            | SyncKind::Looked
            | SyncKind::Unsure
            | SyncKind::FutexWoken
            | SyncKind::TimeLimit
            | SyncKind::Fence => return None,
        })
    }

    /// Adds the change of a semaphore's count, if a thread of the run fails to take the semaphore.
    pub(super) fn change_count(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        at: &Context<'_>,
        object: u64,
        by: i64,
    ) {
        if self.counts.has((regions.of(object), object)) {
            let sem = self.semaphore(out, regions, object, None);
            self.counts.change(out, at, sem, by);
        }
    }

    /// Adds a failed try to take a semaphore.
    pub(super) fn failed_down(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        at: &Context<'_>,
        object: u64,
    ) {
        if self.counts.has((regions.of(object), object)) {
            let sem = self.semaphore(out, regions, object, None);
            self.counts.observe_zero(out, at, sem);
        }
    }
}
