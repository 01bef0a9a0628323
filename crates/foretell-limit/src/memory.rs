//! Memory in use, counted by the allocator.
//!
//! Each thread counts its own allocations and adds them to the count of the process when they are
//! more than a batch, so that threads do not contend for it.
//!
//! | count in use | effect |
//! |---|---|
//! | above 3/4 of the limit | [`check`](crate::check) ends the innermost scope |
//! | above the limit | code without a check got here: work that is done [`apart`](crate::apart) stands still, and its caller goes on without it; elsewhere one line on standard error, and exit status 3 |
//!
//! Work that is [`shielded`](crate::shielded) reports what was found, and may have more than that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::scope::is_shielded;

/// Bytes that a thread counts by itself.
const BATCH: i64 = 1 << 16;

/// Exit status of a command that was cut short.
const CUT_SHORT: i32 = 3;

/// Bytes in use by the process, except for what the threads have not added yet.
static IN_USE: AtomicI64 = AtomicI64::new(0);
/// Most bytes that the process may use.
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Number of callers that wait for work that is done apart, or have left it behind.
static KEEPERS: AtomicUsize = AtomicUsize::new(0);
/// Whether work that is done apart has asked for memory above the limit.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether the thread waits for work that is done apart, or has done so.
    static IS_KEEPER: Cell<bool> = const { Cell::new(false) };
    /// Bytes that the thread has allocated beyond those that it has freed.
    static NET: Cell<i64> = const { Cell::new(0) };
    /// Part of `NET` that is in `IN_USE`.
    static ADDED: Cell<i64> = const { Cell::new(0) };
}

/// Allocator of the system that counts. Without it as the global allocator, memory is not limited.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

// SAFETY: every request goes to the system's allocator as it is.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(cost(layout.size()));
        // SAFETY: the caller's promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(cost(layout.size()));
        // SAFETY: the caller's promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-cost(layout.size()));
        // SAFETY: the caller's promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(cost(size) - cost(layout.size()));
        // SAFETY: the caller's promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Bytes that a block of this size takes, with the allocator's own data.
fn cost(size: usize) -> i64 {
    (size as i64).saturating_add(8 + 15) & !15
}

#[inline]
fn count(bytes: i64) {
    // A thread that is ending has no counters any more.
    let _ = NET.try_with(|net| {
        let sum = net.get().wrapping_add(bytes);
        net.set(sum);
        let _ = ADDED.try_with(|added| {
            let new = sum.wrapping_sub(added.get());
            if !(-BATCH..=BATCH).contains(&new) {
                added.set(sum);
                add(new);
            }
        });
    });
}

#[cold]
fn add(bytes: i64) {
    let in_use = IN_USE.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
    let limit = LIMIT.load(Ordering::Relaxed);
    if bytes > 0 && in_use > limit && !is_shielded() {
        pass(in_use, limit);
    }
}

/// Deals with memory above the limit.
fn pass(in_use: i64, limit: i64) {
    let is_keeper = IS_KEEPER.try_with(Cell::get).unwrap_or(true);
    if !is_keeper && KEEPERS.load(Ordering::Relaxed) > 0 {
        EXHAUSTED.store(true, Ordering::Relaxed);
        loop {
            // An allocator must not unwind. The process ends without this thread.
            thread::sleep(Duration::from_secs(60));
        }
    }
    // The keeper has little to do but to report.
    if KEEPERS.load(Ordering::Relaxed) == 0 || in_use / 2 > limit {
        give_up();
    }
}

/// Mark of a thread that waits for work that is done apart.
pub(crate) struct Keeper(());

impl Keeper {
    /// Marks the current thread for good: it is the one that reports.
    pub(crate) fn new() -> Self {
        IS_KEEPER.set(true);
        KEEPERS.fetch_add(1, Ordering::Relaxed);
        Keeper(())
    }

    /// Ends the waiting for work that has ended. Work that is left behind still stands still.
    pub(crate) fn done(self) {
        KEEPERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether work that was done apart has asked for memory above the limit.
pub(crate) fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

/// Ends the process: the kernel would kill it otherwise, or the machine would come to a halt.
fn give_up() {
    // The message needs memory itself.
    let limit = LIMIT.swap(i64::MAX, Ordering::Relaxed);
    let mib = limit >> 20;
    let _ = writeln!(
        std::io::stderr(),
        "foretell: more than {mib} MiB of memory are needed (see --memory)"
    );
    std::process::exit(CUT_SHORT);
}

/// Returns the bytes that the process has in use, up to a batch for each thread.
pub fn in_use() -> u64 {
    u64::try_from(IN_USE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Limits the memory of the process.
pub fn limit_memory(bytes: u64) {
    LIMIT.store(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
}

/// Returns the bytes at which [`check`](crate::check) ends work, if memory is limited.
pub fn memory_limit() -> Option<u64> {
    match LIMIT.load(Ordering::Relaxed) {
        i64::MAX => None,
        limit => u64::try_from(limit - limit / 4).ok(),
    }
}

/// Whether so much memory is in use that work is to end.
pub(crate) fn is_short() -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    is_exhausted() || IN_USE.load(Ordering::Relaxed) > limit - limit / 4
}

/// Returns the bytes that this thread has allocated beyond those that it has freed.
pub(crate) fn thread_net() -> i64 {
    NET.get()
}
