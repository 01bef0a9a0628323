//! Memory of the runtime itself: never the program's malloc, which is interposed and whose
//! addresses must not depend on whether the program is recorded.
//!
//! Power-of-two size classes over mapped blocks, free lists, one spin lock. The runtime
//! allocates little and never in a hook's fast path.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

const CLASSES: usize = 17; // 16 bytes to 1 MiB
const BLOCK: usize = 1 << 20;

/// The allocator.
pub(crate) struct Arena {
    busy: AtomicBool,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    free: [*mut u8; CLASSES],
    at: usize,
    end: usize,
}

// SAFETY: `inner` is only touched while `busy` is held.
unsafe impl Sync for Arena {}

impl Arena {
    pub(crate) const fn new() -> Arena {
        let inner = Inner { free: [null_mut(); CLASSES], at: 0, end: 0 };
        Arena { busy: AtomicBool::new(false), inner: UnsafeCell::new(inner) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        while self.busy.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: the flag makes this the only reference.
        let r = f(unsafe { &mut *self.inner.get() });
        self.busy.store(false, Release);
        r
    }
}

/// Keeps other threads from allocating memory until [`let_go`]: before a fork.
pub(crate) fn hold() {
    while crate::ARENA.busy.compare_exchange(false, true, Acquire, Relaxed).is_err() {
        std::hint::spin_loop();
    }
}

/// Ends [`hold`], in the parent and in the child.
pub(crate) fn let_go() {
    crate::ARENA.busy.store(false, Release);
}

/// A mapping of the runtime: its first address and its end; both 0 where there is none.
struct Mapping {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// Mappings of the runtime, as many as fit.
static MAPPINGS: [Mapping; 256] =
    [const { Mapping { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; 256];
/// Number of entries of [`MAPPINGS`] that were ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Notes that memory belongs to the runtime.
pub(crate) fn claim(start: *const u8, len: usize) {
    for (i, mapping) in MAPPINGS.iter().enumerate() {
        if mapping.start.compare_exchange(0, start as usize, AcqRel, Relaxed).is_ok() {
            mapping.end.store(start as usize + len, Release);
            USED.fetch_max(i + 1, AcqRel);
            return;
        }
    }
}

fn disclaim(start: *const u8) {
    let mapping = MAPPINGS.iter().find(|mapping| mapping.start.load(Acquire) == start as usize);
    if let Some(mapping) = mapping {
        mapping.end.store(0, Release);
        mapping.start.store(0, Release);
    }
}

/// Whether an address is in memory of the runtime. The program has no such address; a register
/// that a hook left behind may hold one.
pub(crate) fn is_own(addr: usize) -> bool {
    let within = |mapping: &Mapping| {
        (mapping.start.load(Acquire)..mapping.end.load(Acquire)).contains(&addr)
    };
    MAPPINGS[..USED.load(Acquire)].iter().any(within)
}

/// Maps fresh zeroed memory for the runtime; null when there is none.
pub(crate) fn map(len: usize) -> *mut u8 {
    let p = map_for_program(len);
    if !p.is_null() {
        claim(p, len);
    }
    p
}

/// Maps fresh zeroed memory that the program uses, too; null when there is none.
pub(crate) fn map_for_program(len: usize) -> *mut u8 {
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new private mapping touches nothing that exists.
    let p = unsafe { crate::sys::call(libc::SYS_mmap, [0, len, prot, flags, usize::MAX, 0]) };
    if p < 0 && p > -4096 { null_mut() } else { p as *mut u8 }
}

/// Unmaps a mapping.
///
/// # Safety
/// Nothing refers to it any more.
pub(crate) unsafe fn unmap(p: *mut u8, len: usize) {
    disclaim(p);
    // SAFETY: promised by the caller.
    unsafe { crate::sys::call(libc::SYS_munmap, [p as usize, len, 0, 0, 0, 0]) };
}

fn class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16);
    size.next_power_of_two().trailing_zeros() as usize - 4
}

// SAFETY: blocks are disjoint, aligned to their size class, and recycled only when freed.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class(layout);
        if class >= CLASSES {
            return map(layout.size());
        }
        self.with(|inner| {
            let head = inner.free[class];
            if !head.is_null() {
                // SAFETY: a free block holds the pointer to the next one.
                inner.free[class] = unsafe { head.cast::<*mut u8>().read() };
                return head;
            }
            let size = 16usize << class;
            let at = inner.at.next_multiple_of(size.min(4096));
            if at + size <= inner.end {
                inner.at = at + size;
                return at as *mut u8;
            }
            let block = map(BLOCK);
            if !block.is_null() {
                inner.at = block as usize + size;
                inner.end = block as usize + BLOCK;
            }
            block
        })
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        let class = class(layout);
        if class >= CLASSES {
            // SAFETY: it was mapped with this size.
            return unsafe { unmap(p, layout.size()) };
        }
        self.with(|inner| {
            // SAFETY: the block is free now and holds a pointer.
            unsafe { p.cast::<*mut u8>().write(inner.free[class]) };
            inner.free[class] = p;
        });
    }
}
