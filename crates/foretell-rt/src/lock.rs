//! A lock for the runtime's own slow paths, on a futex: pthread's is interposed.

use crate::sys::{futex_wait, futex_wake};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// 0 free, 1 held, 2 held and somebody waits.
pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    pub(crate) fn lock(&self) {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok() {
            return;
        }
        while self.0.swap(2, Acquire) != 0 {
            futex_wait(&self.0, 2, None);
        }
    }

    pub(crate) fn unlock(&self) {
        if self.0.swap(0, Release) == 2 {
            futex_wake(&self.0);
        }
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        self.lock();
        let r = f();
        self.unlock();
        r
    }
}
