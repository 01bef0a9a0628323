//! Locks of Rust crates that are made of atomics (`lock_api`, `parking_lot`, `spin`).
//!
//! The compiler's wrapper edits these crates (`foretell-build/rust/crates`): each operation on a lock
//! comes here, with the address of the lock and a function that performs it. The function runs inside
//! the runtime, so that the lock word leaves no events; a lock is known by its address, as one of the
//! C library is.
//!
//! | operation | record |
//! |---|---|
//! | acquire, and its shared form | a lock is taken; the thread waits in the scheduler |
//! | try, and its shared form | a lock is taken, or a try failed |
//! | release, and its shared form | a lock is released |
//! | upgradable | a second lock, the *slot*, is taken and released |
//! | upgrade | the lock itself is taken, too |
//! | downgrade | the reader side is taken while the thread is the writer |
//!
//! Upgradable readers exclude each other and writers. Writers take the slot before the lock, once a
//! thread has used the lock so; a thread that does so for the first time comes after what the other
//! threads have done, since earlier writers did not take the slot.
//!
//! A guard that is sent to another thread and dropped there ends the model of the lock: from then on
//! a thread that takes it comes after what the other threads have done.

use super::*;
use crate::annotations::{give_back, give_back_any, holds, is_held, take};
use crate::lock::Guarded;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

/// Performs the operation on the real lock; `waits`: in its own way, which may wait. Returns whether
/// it has succeeded.
type Perform = unsafe extern "C-unwind" fn(data: usize, waits: bool) -> bool;

/// Locks that threads use with upgradable readers, with these threads.
static UPGRADABLE: Guarded<BTreeSet<(usize, u32)>> = Guarded::new(BTreeSet::new());
/// Locks that a thread has released which did not hold them.
static HANDED_OVER: Guarded<BTreeSet<usize>> = Guarded::new(BTreeSet::new());

/// Number of notifications of all conditions, for waits that are not modelled.
static NOTIFICATIONS: AtomicU32 = AtomicU32::new(0);

/// An operation on a lock.
#[derive(Clone, Copy)]
struct Operation {
    lock: usize,
    perform: Perform,
    data: usize,
    pc: usize,
}

impl Operation {
    /// Performs it without waiting.
    fn attempt(&self) -> bool {
        // SAFETY: the function and the data of the edited crate.
        unsafe { (self.perform)(self.data, false) }
    }

    /// Performs it in its own way.
    fn wait(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.perform)(self.data, true) }
    }

    /// Performs it again and again until it succeeds.
    fn insist(&self) {
        while !self.attempt() {
            // SAFETY: takes no arguments.
            unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
        }
    }

    /// The lock of upgradable readers.
    fn slot(&self) -> usize {
        self.lock + 1
    }

    fn acquires(&self, reads: bool) -> (Kind, SyncKind, SyncKind, WaitingFor) {
        match reads {
            true => {
                (Kind::ReadLock, SyncKind::ReadLock, SyncKind::TryReadFailed, WaitingFor::ReadLock)
            }
            false => (Kind::Lock, SyncKind::Lock, SyncKind::TryFailed, WaitingFor::Lock),
        }
    }

    /// Acquires the lock or its reader side. Returns whether the thread has it.
    fn acquire(&self, t: Baton, reads: bool, patience: Patience) -> bool {
        let lock = self.lock;
        if HANDED_OVER.lock().contains(&lock) {
            return self.acquire_unmodelled(t, patience);
        }
        if reads && holds(t, lock) && self.attempt() {
            take(t, lock, true);
            return true;
        }
        let attempt = || {
            if self.attempt() {
                return 0;
            }
            let is_held = is_held(lock, reads) || is_held(self.slot(), false);
            if is_held || patience.ends() {
                return EBUSY;
            }
            // Code that is not recorded holds the lock, and will release it unseen.
            blocking_call::call(t, "a lock of a crate", self.pc, &|| self.insist());
            put_after_others(t);
            0
        };
        self.model(t, lock, reads, patience, &attempt)
    }

    /// Acquires an object of the model.
    fn model(
        &self,
        t: Baton,
        lock: usize,
        reads: bool,
        patience: Patience,
        attempt: &dyn Fn() -> c_int,
    ) -> bool {
        let (kind, done, failed, waiting) = self.acquires(reads);
        if t.parallel() && !patience.ends() {
            step(t, kind, self.pc);
            self.insist();
            put(t, done, lock, 0, self.pc);
            take(t, lock, reads);
            return true;
        }
        let a = Acquire { kind, done, failed, waiting, owner_at: 0, attempt };
        let taken = acquire(t, lock, self.pc, &a, patience) == 0;
        if taken {
            take(t, lock, reads);
        }
        taken
    }

    /// Acquires a lock that is not modelled any longer.
    fn acquire_unmodelled(&self, t: Baton, patience: Patience) -> bool {
        let (what, object, pc) = (WaitingFor::Lock, self.lock, self.pc);
        while !self.attempt() {
            if patience.ends() {
                return false;
            }
            let w = Waiting { what, object, pc, owner_at: 0, between: false };
            if block(t, w, None) == Wake::Interrupt {
                crate::signal::deliver(t);
            }
        }
        put_after_others(t);
        true
    }

    /// Acquires the slot of upgradable readers.
    fn acquire_slot(&self, t: Baton, patience: Patience) -> bool {
        let slot = self.slot();
        self.model(t, slot, false, patience, &|| if is_held(slot, false) { EBUSY } else { 0 })
    }

    /// Acquires the lock as a writer, with the slot if upgradable readers use the lock.
    fn write(&self, t: Baton, patience: Patience) -> bool {
        let first = (self.lock, 0);
        let has_slot = !t.parallel()
            && UPGRADABLE.lock().range(first..).next().is_some_and(|(lock, _)| *lock == self.lock);
        if !has_slot || holds(t, self.slot()) {
            return self.acquire(t, false, patience);
        }
        if !self.acquire_slot(t, patience) {
            return false;
        }
        let taken = self.acquire(t, false, patience);
        if !taken {
            self.give_back_slot(t);
        }
        taken
    }

    /// Acquires the lock or its reader side within a time that the function knows.
    fn timed(&self, t: Baton, reads: bool) -> bool {
        crate::other_wakes::note(t);
        let modelled = !HANDED_OVER.lock().contains(&self.lock);
        if (reads && holds(t, self.lock)) || !modelled {
            let taken = blocking_call::call(t, "a lock of a crate", self.pc, &|| self.wait());
            match modelled {
                true if taken => drop(take(t, self.lock, reads)),
                true => {}
                false => put_after_others(t),
            }
            return taken;
        }
        let (kind, done, failed, _) = self.acquires(reads);
        access_step(t, kind, self.pc, (self.lock, 1));
        let taken =
            self.attempt() || blocking_call::call(t, "a lock of a crate", self.pc, &|| self.wait());
        put(t, if taken { done } else { failed }, self.lock, usize::from(taken), self.pc);
        if taken {
            take(t, self.lock, reads);
        }
        taken
    }

    /// Releases the lock or its reader side.
    fn release(&self, t: Baton, reads: bool) -> bool {
        let lock = self.lock;
        if crate::annotations::holds_once(t, lock) {
            access_step(t, Kind::Unlock, self.pc, (lock, 1));
        }
        let before = give_back(t, lock);
        match before.times {
            0 if give_back_any(lock) => {
                HANDED_OVER.lock().insert(lock);
            }
            1 => {
                let kind = if reads { SyncKind::ReadUnlock } else { SyncKind::Unlock };
                put(t, kind, lock, 0, self.pc);
            }
            _ => {}
        }
        self.attempt();
        wake_waiters(&LOCKERS, lock, usize::MAX);
        if !reads {
            self.give_back_slot(t);
        }
        true
    }

    fn give_back_slot(&self, t: Baton) {
        let slot = self.slot();
        if holds(t, slot) {
            access_step(t, Kind::Unlock, self.pc, (slot, 1));
            give_back(t, slot);
            put(t, SyncKind::Unlock, slot, 0, self.pc);
            wake_waiters(&LOCKERS, slot, usize::MAX);
        }
    }

    /// Acquires the lock as an upgradable reader.
    fn read_upgradable(&self, t: Baton, patience: Patience) -> bool {
        if UPGRADABLE.lock().insert((self.lock, t.index())) {
            put_after_others(t);
        }
        if t.parallel() {
            return self.model(t, self.slot(), false, patience, &|| {
                if self.attempt() { 0 } else { EBUSY }
            });
        }
        let slot = self.slot();
        let attempt = || {
            let is_free = !is_held(slot, false) && self.attempt();
            if is_free { 0 } else { EBUSY }
        };
        self.model(t, slot, false, patience, &attempt)
    }

    fn release_upgradable(&self, t: Baton) -> bool {
        self.attempt();
        self.give_back_slot(t);
        wake_waiters(&LOCKERS, self.lock, usize::MAX);
        true
    }

    /// Makes the writer a reader. It has both sides for a moment, so no other writer comes between.
    fn downgrade(&self, t: Baton) -> bool {
        if give_back(t, self.lock).times == 0 {
            return self.attempt();
        }
        access_step(t, Kind::ReadLock, self.pc, (self.lock, 1));
        put(t, SyncKind::ReadLock, self.lock, 1, self.pc);
        take(t, self.lock, true);
        access_step(t, Kind::Unlock, self.pc, (self.lock, 1));
        put(t, SyncKind::Unlock, self.lock, 0, self.pc);
        self.attempt();
        wake_waiters(&LOCKERS, self.lock, usize::MAX);
        self.give_back_slot(t);
        true
    }

    /// Makes an upgradable reader a reader, before it gives up the slot.
    fn downgrade_upgradable(&self, t: Baton) -> bool {
        access_step(t, Kind::ReadLock, self.pc, (self.lock, 1));
        self.attempt();
        put(t, SyncKind::ReadLock, self.lock, 1, self.pc);
        take(t, self.lock, true);
        self.give_back_slot(t);
        wake_waiters(&LOCKERS, self.lock, usize::MAX);
        true
    }

    /// Makes the writer an upgradable reader.
    fn downgrade_to_upgradable(&self, t: Baton) -> bool {
        if UPGRADABLE.lock().insert((self.lock, t.index())) {
            put_after_others(t);
        }
        if !holds(t, self.slot()) {
            self.acquire_slot(t, Patience::None);
        }
        access_step(t, Kind::Unlock, self.pc, (self.lock, 1));
        give_back(t, self.lock);
        put(t, SyncKind::Unlock, self.lock, 0, self.pc);
        self.attempt();
        wake_waiters(&LOCKERS, self.lock, usize::MAX);
        true
    }

    /// Looks at the state of the lock: the rest of the thread comes after what it may have seen.
    fn look(&self, t: Baton) -> bool {
        let seen = self.attempt();
        put_after_others(t);
        seen
    }
}

/// Performs an operation; `foretell-build/rust/crates/hooks.rs` has the numbers.
extern "C-unwind" fn lock_operation(
    number: usize,
    lock: usize,
    perform: Perform,
    data: usize,
    pc: usize,
) -> bool {
    let o = Operation { lock, perform, data, pc };
    let Some(t) = enter() else {
        return match number {
            0 | 3 | 6 | 9 => {
                o.insist();
                true
            }
            15.. => o.attempt() || o.wait(),
            _ => o.attempt(),
        };
    };
    let result = match number {
        0 => o.write(t, Patience::Forever),
        1 => o.write(t, Patience::None),
        2 => o.release(t, false),
        3 => o.acquire(t, true, Patience::Forever),
        4 => o.acquire(t, true, Patience::None),
        5 => o.release(t, true),
        6 => o.read_upgradable(t, Patience::Forever),
        7 => o.read_upgradable(t, Patience::None),
        8 => o.release_upgradable(t),
        9 => o.acquire(t, false, Patience::Forever),
        10 => o.acquire(t, false, Patience::None),
        11 => o.downgrade(t),
        12 => o.downgrade_upgradable(t),
        13 => o.downgrade_to_upgradable(t),
        14 => o.look(t),
        15 => o.timed(t, false),
        16 => o.timed(t, true),
        _ => o.attempt(),
    };
    leave(t);
    result
}

/// Waits for a condition without the lock, at most `ns` nanoseconds unless that is the greatest
/// number. Returns whether the time was not over.
extern "C-unwind" fn condition_wait(
    condition: usize,
    lock: usize,
    perform: Perform,
    data: usize,
    ns: u64,
    pc: usize,
) -> bool {
    // The operation is to take the lock; in its own way, to release it.
    let o = Operation { lock, perform, data, pc };
    let between = || {
        let seen = NOTIFICATIONS.load(Ordering::SeqCst);
        o.wait();
        let end = sys::futex_wait(&NOTIFICATIONS, seen, (ns != u64::MAX).then_some(ns));
        o.insist();
        end != sys::Wait::TimedOut
    };
    let Some(t) = enter() else { return between() };
    let woken = if t.parallel() || HANDED_OVER.lock().contains(&lock) {
        // A wait may end without a reason: any notification ends it.
        step(t, Kind::Unlock, pc);
        put(t, SyncKind::Unlock, lock, 0, pc);
        step(t, Kind::Lock, pc);
        let woken = blocking_call::call(t, "Condvar::wait", pc, &between);
        put(t, SyncKind::Lock, lock, 0, pc);
        woken
    } else {
        let mut deadline = None;
        if ns != u64::MAX {
            put(t, SyncKind::TimeLimit, condition, 0, pc);
            crate::other_wakes::note(t);
            deadline = Some(Deadline::after(ns));
        }
        let lock =
            library_lock::WaitLock { lock, release: &|| _ = o.wait(), tries: &|| o.attempt() };
        library_lock::wait_without(t, condition, &lock, pc, deadline)
    };
    leave(t);
    woken
}

/// Wakes one waiter of a condition, or all. Returns their number.
extern "C-unwind" fn condition_notify(condition: usize, all: bool, pc: usize) -> usize {
    NOTIFICATIONS.fetch_add(1, Ordering::SeqCst);
    sys::futex_wake_all(&NOTIFICATIONS);
    let Some(t) = enter() else { return 0 };
    let (kind, done, max) = match all {
        true => (Kind::Broadcast, SyncKind::Broadcast, usize::MAX),
        false => (Kind::Signal, SyncKind::Signal, 1),
    };
    step(t, kind, pc);
    put(t, done, condition, 0, pc);
    let woken = wake_waiters(&[WaitingFor::Condition], condition, max);
    leave(t);
    woken
}

entries! {
    __foretell_lock_operation => lock_operation, "r8";
    __foretell_condition_wait => condition_wait, "r9";
    __foretell_condition_notify => condition_notify, "rdx";
}
