//! A lock for the runtime's own slow paths, on a futex: pthread's is interposed.

use crate::sys::{futex_wait, futex_wake};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The lock alone: 0 free, 1 held, 2 held and waited for.
struct Lock(AtomicU32);

impl Lock {
    const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    fn lock(&self) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            return;
        }
        while self.0.swap(2, Acquire) != 0 {
            futex_wait(&self.0, 2, None);
        }
    }

    fn try_lock(&self) -> bool {
        self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }

    fn unlock(&self) {
        if self.0.swap(0, Release) == 2 {
            futex_wake(&self.0);
        }
    }
}

/// A value behind a lock.
pub(crate) struct Guarded<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached with the lock held.
unsafe impl<T> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Guarded<T> {
        Guarded { lock: Lock::new(), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.lock.lock();
        Guard(self)
    }

    /// Takes the lock if it is free.
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.lock.try_lock().then_some(Guard(self))
    }

    /// Waits for the lock and keeps it until [`Guarded::let_go`].
    pub(crate) fn hold(&self) {
        self.lock.lock();
    }

    /// Releases the lock that the calling thread, or the parent of this process, keeps.
    pub(crate) fn let_go(&self) {
        self.lock.unlock();
    }

    /// Uses the value with the lock held.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock())
    }
}

/// The value of a [`Guarded`], whose lock is released with this.
pub(crate) struct Guard<'a, T>(&'a Guarded<T>);

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}
