//! Lifetimes: blocks of memory and synchronisation objects that end while several threads use them.
//!
//! | ends | block of the trace | in it |
//! |---|---|---|
//! | heap block that is freed | one for each allocation | shared variables, locks, conditions |
//! | lock or condition that is destroyed | one for each life of the object | the object alone |
//!
//! Only blocks that concern more than one thread are in the trace: those with shared variables, and
//! those whose locks and conditions are used by a thread that does not end them. The first pass
//! finds them ([`LifetimeFinder`]), the second gives them their events ([`Lifetimes`]).
//!
//! An address may be that of several objects, one after the other. An operation on a destroyed
//! object, other than one that failed, is on a new object: a static initialiser leaves no record.
//! A lock or condition that is used after its memory was freed is in no block: the filter may have
//! skipped the allocation of a new block there.

use foretell_rt_format::SyncKind;
use foretell_trace::{CondId, LockId, MemBlockId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event_writer::EventWriter;
use super::names::MemoryNames;
use super::regions::{RegionId, RegionKind, Regions};
use super::survey::Users;
use super::sync::ObjectKey;

/// An object at an address, and the number of objects that were destroyed there before.
type ObjectLife = (ObjectKey, u32);

/// Number of an object in memory that was freed.
const IN_FREED_MEMORY: u32 = u32::MAX;

/// Lives of the objects that were destroyed, or whose memory was freed.
#[derive(Default)]
struct ObjectLives {
    /// Number of each object that was destroyed, and whether it still is.
    destroyed: FxHashMap<ObjectKey, (u32, bool)>,
    /// Regions that were freed.
    freed: FxHashSet<RegionId>,
    /// Objects that were used after their region was freed.
    in_freed_memory: FxHashSet<ObjectKey>,
}

impl ObjectLives {
    /// Takes an operation. Returns the object, and whether it is the first on a new one.
    fn take(&mut self, key: ObjectKey, kind: SyncKind) -> (ObjectLife, bool) {
        if self.freed.contains(&key.0) {
            return ((key, IN_FREED_MEMORY), self.in_freed_memory.insert(key));
        }
        if kind == SyncKind::Destroy {
            let life = self.destroyed.entry(key).or_default();
            life.1 = true;
            return ((key, life.0), false);
        }
        let Some(life) = self.destroyed.get_mut(&key) else { return ((key, 0), false) };
        let renewed = life.1 && !matches!(kind, SyncKind::TryFailed | SyncKind::TryReadFailed);
        if renewed {
            *life = (life.0 + 1, false);
        }
        ((key, life.0), renewed)
    }

    fn current(&self, key: ObjectKey) -> ObjectLife {
        match self.freed.contains(&key.0) {
            true => (key, IN_FREED_MEMORY),
            false => (key, self.destroyed.get(&key).map_or(0, |life| life.0)),
        }
    }
}

/// Whether an operation is on a lock or a condition.
fn is_on_lock_or_condition(kind: SyncKind) -> bool {
    use SyncKind::*;
    let on_lock = matches!(kind, Lock | Unlock | TryFailed | ReadLock | ReadUnlock | TryReadFailed);
    on_lock || matches!(kind, Wait | Woken | TimedOut | Signal | Broadcast)
}

/// Returns the addresses of the objects with lifetimes that an operation is on: a lock or
/// condition, and the mutex of a wait.
pub(super) fn objects_of((kind, object, other): (SyncKind, u64, u64)) -> impl Iterator<Item = u64> {
    let first = match kind {
        SyncKind::Destroy => other == 0,
        kind => kind == SyncKind::Init || is_on_lock_or_condition(kind),
    };
    let waits = matches!(kind, SyncKind::Wait | SyncKind::Woken | SyncKind::TimedOut);
    [first.then_some(object), waits.then_some(other)].into_iter().flatten()
}

/// Finds the lifetimes of a run in the first pass.
#[derive(Default)]
pub(super) struct LifetimeFinder {
    lives: ObjectLives,
    /// Threads that use each lock and condition.
    users: FxHashMap<ObjectLife, Users>,
    /// Threads that destroy each object.
    destroyers: FxHashMap<ObjectLife, Users>,
    /// Threads that free each region.
    freers: FxHashMap<RegionId, Users>,
}

impl LifetimeFinder {
    /// Takes a synchronisation operation of a thread.
    pub(super) fn sync(
        &mut self,
        regions: &mut Regions,
        thread: u32,
        operation: (SyncKind, u64, u64),
    ) {
        for addr in objects_of(operation) {
            let (life, _) = self.lives.take((regions.of(addr), addr), operation.0);
            match operation.0 {
                SyncKind::Init => {}
                SyncKind::Destroy => self.destroyers.entry(life).or_default().add(thread),
                _ => self.users.entry(life).or_default().add(thread),
            }
        }
    }

    /// Takes the free of a region by a thread.
    pub(super) fn free(&mut self, region: RegionId, thread: u32) {
        self.freers.entry(region).or_default().add(thread);
        self.lives.freed.insert(region);
    }

    pub(super) fn finish(self, regions: &Regions) -> Lifetimes {
        let LifetimeFinder { users, destroyers, mut freers, .. } = self;
        freers.retain(|&region, _| matches!(regions.kind(region).0, RegionKind::Heap { .. }));
        let mut concerned = freers.clone();
        for (&((region, _), life), users) in &users {
            if let Some(all) = concerned.get_mut(&region).filter(|_| life != IN_FREED_MEMORY) {
                all.join(*users);
            }
        }
        let several = |users: &Users| *users == Users::Many;
        let locked = concerned.iter().filter(|(_, users)| several(users)).map(|(&r, _)| r);
        let destroyed = destroyers.into_iter().filter_map(|(life, mut all)| {
            all.join(*users.get(&life)?);
            (several(&all) && life.1 != IN_FREED_MEMORY).then_some(life)
        });
        Lifetimes {
            locked: locked.collect(),
            freed: freers.into_keys().collect(),
            destroyed: destroyed.collect(),
            ..Lifetimes::default()
        }
    }
}

/// Lifetimes of a run in the second pass, and their blocks in the trace.
#[derive(Default)]
pub(super) struct Lifetimes {
    /// Regions of the heap that are freed.
    freed: FxHashSet<RegionId>,
    /// Freed regions in which more than one thread uses locks or conditions, or frees.
    locked: FxHashSet<RegionId>,
    /// Objects that are destroyed, and used by another thread than the one that destroys them.
    destroyed: FxHashSet<ObjectLife>,
    lives: ObjectLives,
    of_regions: FxHashMap<RegionId, MemBlockId>,
    of_objects: FxHashMap<ObjectLife, MemBlockId>,
    names: MemoryNames,
}

impl Lifetimes {
    /// Takes an operation on the object at an address. Returns whether the object is a new one.
    pub(super) fn renews(&mut self, key: ObjectKey, kind: SyncKind) -> bool {
        self.lives.take(key, kind).1
    }

    /// Takes the free of a region.
    pub(super) fn free(&mut self, region: RegionId) {
        self.lives.freed.insert(region);
    }

    /// Whether a region is freed at some time.
    pub(super) fn is_freed(&self, region: RegionId) -> bool {
        self.freed.contains(&region)
    }
}

impl EventWriter {
    /// Returns the block of a region, if it is freed and concerns more than one thread; `shared`:
    /// it has shared variables.
    pub(super) fn block_of_region(
        &mut self,
        regions: &Regions,
        region: RegionId,
        shared: bool,
    ) -> Option<MemBlockId> {
        let EventWriter { lifetimes, trace, locations, .. } = self;
        if let Some(&block) = lifetimes.of_regions.get(&region) {
            return Some(block);
        }
        if !lifetimes.freed.contains(&region) || !(shared || lifetimes.locked.contains(&region)) {
            return None;
        }
        let name = lifetimes.names.block(regions, locations, region);
        let block = trace.builder.mem_block(&name);
        lifetimes.of_regions.insert(region, block);
        Some(block)
    }

    /// Returns the block of the object at an address, if it is destroyed and concerns more than
    /// one thread.
    pub(super) fn block_of_object(
        &mut self,
        regions: &Regions,
        key: ObjectKey,
    ) -> Option<MemBlockId> {
        let EventWriter { lifetimes, trace, locations, .. } = self;
        let life = lifetimes.lives.current(key);
        if !lifetimes.destroyed.contains(&life) {
            return None;
        }
        if let Some(&block) = lifetimes.of_objects.get(&life) {
            return Some(block);
        }
        let name = lifetimes.names.name(regions, locations, key);
        let block = trace.builder.mem_block(&name);
        lifetimes.of_objects.insert(life, block);
        Some(block)
    }

    /// Returns the block that a lock or condition is in.
    fn block_around(&mut self, regions: &Regions, key: ObjectKey) -> Option<MemBlockId> {
        let own = self.block_of_object(regions, key);
        if self.lifetimes.lives.current(key).1 == IN_FREED_MEMORY {
            return None;
        }
        own.or_else(|| self.block_of_region(regions, key.0, false))
    }

    /// Declares the block that a new lock is in.
    pub(super) fn place_lock(&mut self, regions: &Regions, key: ObjectKey, lock: LockId) {
        if let Some(block) = self.block_around(regions, key) {
            self.trace.builder.set_lock_part(lock, block);
        }
    }

    /// Declares the block that a new condition is in.
    pub(super) fn place_condition(&mut self, regions: &Regions, key: ObjectKey, cond: CondId) {
        if let Some(block) = self.block_around(regions, key) {
            self.trace.builder.set_condition_part(cond, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_on_a_destroyed_object_begins_a_new_one() {
        let mut lives = ObjectLives::default();
        let key = (1, 100);
        assert_eq!(lives.take(key, SyncKind::Lock), ((key, 0), false));
        assert_eq!(lives.take(key, SyncKind::Destroy), ((key, 0), false));
        // It fails because the object is destroyed.
        assert_eq!(lives.take(key, SyncKind::TryFailed), ((key, 0), false));
        assert_eq!(lives.take(key, SyncKind::Init), ((key, 1), true));
        assert_eq!(lives.take(key, SyncKind::Lock), ((key, 1), false));
        assert_eq!(lives.current(key), (key, 1));
        lives.freed.insert(1);
        assert_eq!(lives.take(key, SyncKind::Lock), ((key, IN_FREED_MEMORY), true));
        assert_eq!(lives.take(key, SyncKind::Unlock), ((key, IN_FREED_MEMORY), false));
    }

    #[test]
    fn only_objects_of_several_threads_have_blocks() {
        let mut regions = Regions::new();
        let mut finder = LifetimeFinder::default();
        for (thread, kind, object) in [
            (1, SyncKind::Lock, 100),
            (0, SyncKind::Destroy, 100),
            (0, SyncKind::Lock, 200),
            (0, SyncKind::Destroy, 200),
            (1, SyncKind::Post, 300),
            (0, SyncKind::Destroy, 300),
        ] {
            finder.sync(&mut regions, thread, (kind, object, 0));
        }
        // It was in use, and is not destroyed.
        finder.sync(&mut regions, 1, (SyncKind::Lock, 400, 0));
        finder.sync(&mut regions, 0, (SyncKind::Destroy, 400, 16));
        let lifetimes = finder.finish(&regions);
        assert_eq!(lifetimes.destroyed, FxHashSet::from_iter([((0, 100), 0)]));
    }
}
