//! The word of a spin lock, each operation through the runtime of foretell.
#![allow(missing_docs, unreachable_pub)]

#[path = "foretell_hooks.rs"]
mod hooks;

use core::sync::atomic::{AtomicBool, Ordering};

use self::hooks::*;

/// In the place of the `AtomicBool` of a `SpinMutex`.
pub struct LockWord(AtomicBool);

impl LockWord {
    pub const fn new(locked: bool) -> LockWord {
        LockWord(AtomicBool::new(locked))
    }

    pub fn load(&self, order: Ordering) -> bool {
        perform(LOOK, self, |_| self.0.load(order))
    }

    /// Releases the lock.
    pub fn store(&self, locked: bool, order: Ordering) {
        perform(RELEASE, self, |_| {
            self.0.store(locked, order);
            true
        });
    }

    /// Tries to take the lock.
    pub fn compare_exchange(
        &self,
        old: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        let exchange = |_| self.0.compare_exchange(old, new, success, failure).is_ok();
        match perform(TRY, self, exchange) {
            true => Ok(old),
            false => Err(new),
        }
    }

    /// Takes the lock: `lock` calls this again and again until it succeeds.
    pub fn compare_exchange_weak(
        &self,
        old: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        let exchange = |_| self.0.compare_exchange(old, new, success, failure).is_ok();
        perform(ACQUIRE, self, exchange);
        Ok(old)
    }
}
