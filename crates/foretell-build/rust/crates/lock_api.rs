//! The operations of raw locks, each through the runtime of foretell. The compiler's wrapper renames
//! their calls: `raw.lock()` becomes `raw.foretell_lock()`.
#![allow(missing_docs, clippy::missing_safety_doc, unused_unsafe)]

#[path = "foretell_hooks.rs"]
mod hooks;

use crate::mutex::{RawMutex, RawMutexFair, RawMutexTimed};
use crate::rwlock::{
    RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed,
    RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair,
    RawRwLockUpgradeTimed,
};
use hooks::*;

pub trait HookedMutex: RawMutex {
    #[inline]
    fn foretell_lock(&self) {
        perform(ACQUIRE, self, |_| self.try_lock());
    }
    #[inline]
    fn foretell_try_lock(&self) -> bool {
        perform(TRY, self, |_| self.try_lock())
    }
    #[inline]
    unsafe fn foretell_unlock(&self) {
        perform(RELEASE, self, |_| {
            unsafe { self.unlock() };
            true
        });
    }
    #[inline]
    fn foretell_is_locked(&self) -> bool {
        perform(LOOK, self, |_| self.is_locked())
    }
}
impl<R: RawMutex> HookedMutex for R {}

pub trait HookedMutexFair: RawMutexFair {
    #[inline]
    unsafe fn foretell_unlock_fair(&self) {
        perform(RELEASE, self, |_| {
            unsafe { self.unlock_fair() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_bump(&self) {
        perform(LOOK, self, |_| {
            unsafe { self.bump() };
            true
        });
    }
}
impl<R: RawMutexFair> HookedMutexFair for R {}

pub trait HookedMutexTimed: RawMutexTimed {
    #[inline]
    fn foretell_try_lock_for(&self, time: Self::Duration) -> bool {
        let mut time = Some(time);
        perform(TIMED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_for(time),
            other => {
                time = other;
                self.try_lock()
            }
        })
    }
    #[inline]
    fn foretell_try_lock_until(&self, time: Self::Instant) -> bool {
        let mut time = Some(time);
        perform(TIMED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_until(time),
            other => {
                time = other;
                self.try_lock()
            }
        })
    }
}
impl<R: RawMutexTimed> HookedMutexTimed for R {}

pub trait HookedRwLock: RawRwLock {
    #[inline]
    fn foretell_lock_shared(&self) {
        perform(ACQUIRE_SHARED, self, |_| self.try_lock_shared());
    }
    #[inline]
    fn foretell_try_lock_shared(&self) -> bool {
        perform(TRY_SHARED, self, |_| self.try_lock_shared())
    }
    #[inline]
    unsafe fn foretell_unlock_shared(&self) {
        perform(RELEASE_SHARED, self, |_| {
            unsafe { self.unlock_shared() };
            true
        });
    }
    #[inline]
    fn foretell_lock_exclusive(&self) {
        perform(ACQUIRE, self, |_| self.try_lock_exclusive());
    }
    #[inline]
    fn foretell_try_lock_exclusive(&self) -> bool {
        perform(TRY, self, |_| self.try_lock_exclusive())
    }
    #[inline]
    unsafe fn foretell_unlock_exclusive(&self) {
        perform(RELEASE, self, |_| {
            unsafe { self.unlock_exclusive() };
            true
        });
    }
    #[inline]
    fn foretell_is_locked(&self) -> bool {
        perform(LOOK, self, |_| self.is_locked())
    }
    #[inline]
    fn foretell_is_locked_exclusive(&self) -> bool {
        perform(LOOK, self, |_| self.is_locked_exclusive())
    }
}
impl<R: RawRwLock> HookedRwLock for R {}

pub trait HookedRwLockFair: RawRwLockFair {
    #[inline]
    unsafe fn foretell_unlock_shared_fair(&self) {
        perform(RELEASE_SHARED, self, |_| {
            unsafe { self.unlock_shared_fair() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_unlock_exclusive_fair(&self) {
        perform(RELEASE, self, |_| {
            unsafe { self.unlock_exclusive_fair() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_bump_shared(&self) {
        perform(LOOK, self, |_| {
            unsafe { self.bump_shared() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_bump_exclusive(&self) {
        perform(LOOK, self, |_| {
            unsafe { self.bump_exclusive() };
            true
        });
    }
}
impl<R: RawRwLockFair> HookedRwLockFair for R {}

pub trait HookedRwLockDowngrade: RawRwLockDowngrade {
    #[inline]
    unsafe fn foretell_downgrade(&self) {
        perform(DOWNGRADE, self, |_| {
            unsafe { self.downgrade() };
            true
        });
    }
}
impl<R: RawRwLockDowngrade> HookedRwLockDowngrade for R {}

pub trait HookedRwLockTimed: RawRwLockTimed {
    #[inline]
    fn foretell_try_lock_shared_for(&self, time: Self::Duration) -> bool {
        let mut time = Some(time);
        perform(TIMED_SHARED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_shared_for(time),
            other => {
                time = other;
                self.try_lock_shared()
            }
        })
    }
    #[inline]
    fn foretell_try_lock_shared_until(&self, time: Self::Instant) -> bool {
        let mut time = Some(time);
        perform(TIMED_SHARED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_shared_until(time),
            other => {
                time = other;
                self.try_lock_shared()
            }
        })
    }
    #[inline]
    fn foretell_try_lock_exclusive_for(&self, time: Self::Duration) -> bool {
        let mut time = Some(time);
        perform(TIMED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_exclusive_for(time),
            other => {
                time = other;
                self.try_lock_exclusive()
            }
        })
    }
    #[inline]
    fn foretell_try_lock_exclusive_until(&self, time: Self::Instant) -> bool {
        let mut time = Some(time);
        perform(TIMED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_exclusive_until(time),
            other => {
                time = other;
                self.try_lock_exclusive()
            }
        })
    }
}
impl<R: RawRwLockTimed> HookedRwLockTimed for R {}

pub trait HookedRwLockRecursive: RawRwLockRecursive {
    #[inline]
    fn foretell_lock_shared_recursive(&self) {
        perform(ACQUIRE_SHARED, self, |_| self.try_lock_shared_recursive());
    }
    #[inline]
    fn foretell_try_lock_shared_recursive(&self) -> bool {
        perform(TRY_SHARED, self, |_| self.try_lock_shared_recursive())
    }
}
impl<R: RawRwLockRecursive> HookedRwLockRecursive for R {}

pub trait HookedRwLockRecursiveTimed: RawRwLockRecursiveTimed {
    #[inline]
    fn foretell_try_lock_shared_recursive_for(&self, time: Self::Duration) -> bool {
        let mut time = Some(time);
        perform(TIMED_SHARED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_shared_recursive_for(time),
            other => {
                time = other;
                self.try_lock_shared_recursive()
            }
        })
    }
    #[inline]
    fn foretell_try_lock_shared_recursive_until(&self, time: Self::Instant) -> bool {
        let mut time = Some(time);
        perform(TIMED_SHARED, self, |waits| match time.take() {
            Some(time) if waits => self.try_lock_shared_recursive_until(time),
            other => {
                time = other;
                self.try_lock_shared_recursive()
            }
        })
    }
}
impl<R: RawRwLockRecursiveTimed> HookedRwLockRecursiveTimed for R {}

pub trait HookedRwLockUpgrade: RawRwLockUpgrade {
    #[inline]
    fn foretell_lock_upgradable(&self) {
        perform(ACQUIRE_UPGRADABLE, self, |_| self.try_lock_upgradable());
    }
    #[inline]
    fn foretell_try_lock_upgradable(&self) -> bool {
        perform(TRY_UPGRADABLE, self, |_| self.try_lock_upgradable())
    }
    #[inline]
    unsafe fn foretell_unlock_upgradable(&self) {
        perform(RELEASE_UPGRADABLE, self, |_| {
            unsafe { self.unlock_upgradable() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_upgrade(&self) {
        perform(UPGRADE, self, |_| unsafe { self.try_upgrade() });
    }
    #[inline]
    unsafe fn foretell_try_upgrade(&self) -> bool {
        perform(TRY_UPGRADE, self, |_| unsafe { self.try_upgrade() })
    }
}
impl<R: RawRwLockUpgrade> HookedRwLockUpgrade for R {}

pub trait HookedRwLockUpgradeFair: RawRwLockUpgradeFair {
    #[inline]
    unsafe fn foretell_unlock_upgradable_fair(&self) {
        perform(RELEASE_UPGRADABLE, self, |_| {
            unsafe { self.unlock_upgradable_fair() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_bump_upgradable(&self) {
        perform(LOOK, self, |_| {
            unsafe { self.bump_upgradable() };
            true
        });
    }
}
impl<R: RawRwLockUpgradeFair> HookedRwLockUpgradeFair for R {}

pub trait HookedRwLockUpgradeDowngrade: RawRwLockUpgradeDowngrade {
    #[inline]
    unsafe fn foretell_downgrade_upgradable(&self) {
        perform(DOWNGRADE_UPGRADABLE, self, |_| {
            unsafe { self.downgrade_upgradable() };
            true
        });
    }
    #[inline]
    unsafe fn foretell_downgrade_to_upgradable(&self) {
        perform(DOWNGRADE_TO_UPGRADABLE, self, |_| {
            unsafe { self.downgrade_to_upgradable() };
            true
        });
    }
}
impl<R: RawRwLockUpgradeDowngrade> HookedRwLockUpgradeDowngrade for R {}

pub trait HookedRwLockUpgradeTimed: RawRwLockUpgradeTimed {
    // A time limit may be over at once.
    #[inline]
    fn foretell_try_lock_upgradable_for(&self, _: Self::Duration) -> bool {
        perform(TRY_UPGRADABLE, self, |_| self.try_lock_upgradable())
    }
    #[inline]
    unsafe fn foretell_try_upgrade_for(&self, _: Self::Duration) -> bool {
        perform(TRY_UPGRADE, self, |_| unsafe { self.try_upgrade() })
    }
    #[inline]
    fn foretell_try_lock_upgradable_until(&self, _: Self::Instant) -> bool {
        perform(TRY_UPGRADABLE, self, |_| self.try_lock_upgradable())
    }
    #[inline]
    unsafe fn foretell_try_upgrade_until(&self, _: Self::Instant) -> bool {
        perform(TRY_UPGRADE, self, |_| unsafe { self.try_upgrade() })
    }
}
impl<R: RawRwLockUpgradeTimed> HookedRwLockUpgradeTimed for R {}
