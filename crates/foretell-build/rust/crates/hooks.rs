//! Operations on locks, for the runtime of foretell: it records them, and waits in its scheduler.
#![allow(dead_code, missing_docs, unreachable_pub)]

// The numbers of `foretell-rt/src/sync/rust_lock.rs`.
pub const ACQUIRE: usize = 0;
pub const TRY: usize = 1;
pub const RELEASE: usize = 2;
pub const ACQUIRE_SHARED: usize = 3;
pub const TRY_SHARED: usize = 4;
pub const RELEASE_SHARED: usize = 5;
pub const ACQUIRE_UPGRADABLE: usize = 6;
pub const TRY_UPGRADABLE: usize = 7;
pub const RELEASE_UPGRADABLE: usize = 8;
pub const UPGRADE: usize = 9;
pub const TRY_UPGRADE: usize = 10;
pub const DOWNGRADE: usize = 11;
pub const DOWNGRADE_UPGRADABLE: usize = 12;
pub const DOWNGRADE_TO_UPGRADABLE: usize = 13;
pub const LOOK: usize = 14;
pub const TIMED: usize = 15;
pub const TIMED_SHARED: usize = 16;

type Perform = unsafe extern "C-unwind" fn(*mut (), bool) -> bool;

extern "C-unwind" {
    fn __foretell_lock_operation(
        number: usize,
        lock: usize,
        perform: Perform,
        data: *mut (),
    ) -> bool;
    fn __foretell_condition_wait(
        condition: usize,
        lock: usize,
        perform: Perform,
        data: *mut (),
        nanoseconds: u64,
    ) -> bool;
    fn __foretell_condition_notify(condition: usize, all: bool) -> usize;
}

unsafe extern "C-unwind" fn call<F: FnMut(bool) -> bool>(data: *mut (), waits: bool) -> bool {
    unsafe { (*(data as *mut F))(waits) }
}

/// Performs an operation on a lock. The function does so without waiting, and in its own way if its
/// argument is true.
#[inline]
pub fn perform<L: ?Sized, F: FnMut(bool) -> bool>(
    number: usize,
    lock: &L,
    mut function: F,
) -> bool {
    let (lock, data) = (lock as *const L as *const () as usize, &mut function as *mut F as *mut ());
    unsafe { __foretell_lock_operation(number, lock, call::<F>, data) }
}

/// Waits for a condition without a lock, at most for these nanoseconds. The function takes the lock,
/// and releases it if its argument is true. Returns whether the time was not over.
#[inline]
pub fn wait<C, L, F: FnMut(bool) -> bool>(
    condition: &C,
    lock: &L,
    nanoseconds: u64,
    mut function: F,
) -> bool {
    let (condition, lock) = (condition as *const C as usize, lock as *const L as usize);
    let data = &mut function as *mut F as *mut ();
    unsafe { __foretell_condition_wait(condition, lock, call::<F>, data, nanoseconds) }
}

/// Wakes the waiters of a condition. Returns their number.
#[inline]
pub fn notify<C>(condition: &C, all: bool) -> usize {
    unsafe { __foretell_condition_notify(condition as *const C as usize, all) }
}
