//! The fields that every hook reads.

use crate::log::Stream;
use foretell_rt_format::AccessCode;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, Ordering::*};

/// An access whose hook has run and whose value is not known yet, kept outside the stream.
///
/// Used for volatile accesses, accesses of 16 bytes, writes to ranges, copies of aggregates, the
/// last bytes of a page, and parallel recording. No other thread runs between the hook and the
/// thread's next hook, where the value is read.
#[derive(Clone, Copy)]
pub(crate) struct DeferredAccess {
    pub(crate) addr: usize,
    /// Number of bytes.
    pub(crate) len: usize,
    pub(crate) pc: usize,
    pub(crate) code: AccessCode,
    /// Code address of the hook of the source, if this is the write of a copy (see
    /// `aggregate_copy`).
    pub(crate) source_hook: Option<usize>,
    /// Where the value is at the next hook: the accessed memory, or the source of a copy.
    pub(crate) content: usize,
    /// Whether the access is to a volatile object: it is recorded as an atomic one.
    pub(crate) volatile: bool,
    /// Sequence number, in parallel recording.
    pub(crate) seq: u64,
}

impl DeferredAccess {
    /// Returns a plain access that is about to take place.
    pub(crate) fn plain(addr: usize, len: usize, pc: usize, code: AccessCode) -> DeferredAccess {
        DeferredAccess {
            addr,
            len,
            pc,
            code,
            source_hook: None,
            content: addr,
            volatile: false,
            seq: 0,
        }
    }
}

/// A signal is kept.
pub(crate) const SIGNALLED: u8 = 1;
/// The watchdog asks whether the thread still runs hooks, and may have taken the baton from it.
pub(crate) const ASKED: u8 = 2;

/// Budget, log stream and flags.
///
/// The eight flags from `busy` on form one word. The hooks in assembly elide an access only where
/// the whole word is zero; the hooks that write a record read its first half, which is zero where
/// nothing unusual is under way.
#[repr(C)]
pub(crate) struct HotPath {
    /// Steps until the scheduler is asked. The ordinal of the next step is `limit - budget`.
    pub(crate) budget: i64,
    pub(crate) limit: u64,
    pub(crate) stream: *mut Stream,
    /// Whether the thread is inside the runtime: hooks are ignored, signals are kept for later.
    pub(crate) busy: u8,
    /// Reasons why the next hook takes the slow path: [`SIGNALLED`], [`ASKED`].
    attention: AtomicU8,
    pub(crate) parallel: bool,
    /// Whether the thread has a deferred access.
    pub(crate) deferred: bool,
    /// Whether the stream may end with an access whose value is to be filled in.
    pub(crate) value_pending: bool,
    /// Whether every access has a record.
    pub(crate) record_all: bool,
    /// Number of accesses still to be recorded, although they could be elided, after the thread
    /// has released something that other threads wait for.
    pub(crate) post_release_budget: u8,
    unused: u8,
}

const _: () = {
    let flags = offset_of!(HotPath, busy);
    assert!(flags.is_multiple_of(8));
    assert!(offset_of!(HotPath, deferred) == flags + 3);
    assert!(offset_of!(HotPath, unused) == flags + 7);
};

impl HotPath {
    /// Returns the fields of a thread that is inside the runtime and has no budget.
    pub(super) fn new(stream: *mut Stream) -> HotPath {
        HotPath {
            budget: 0,
            limit: 0,
            stream,
            busy: 1,
            attention: AtomicU8::new(0),
            parallel: false,
            deferred: false,
            value_pending: false,
            record_all: true,
            post_release_budget: 0,
            unused: 0,
        }
    }

    /// Whether a reason for attention is set.
    #[inline(always)]
    pub(crate) fn has(&self, reason: u8) -> bool {
        self.attention.load(Relaxed) & reason != 0
    }

    /// Sets or clears a reason for attention. The watchdog does so, too, while the thread runs.
    pub(crate) fn set_attention(&self, reason: u8, on: bool) {
        if on {
            self.attention.fetch_or(reason, SeqCst);
        } else {
            self.attention.fetch_and(!reason, SeqCst);
        }
    }

    /// Whether the thread is inside the runtime, has a reason for attention, records in parallel or
    /// has a deferred access: one read of the first four flags.
    #[inline(always)]
    pub(crate) fn unusual(&self) -> bool {
        // SAFETY: the four flags are adjacent and aligned, see the assertions above.
        unsafe { (&raw const self.busy).cast::<u32>().read() != 0 }
    }
}
