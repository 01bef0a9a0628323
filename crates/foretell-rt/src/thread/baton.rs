//! The proof that a thread may act, and references to threads.
//!
//! Threads live as long as the process, so a [`ThreadRef`] is valid for ever. A [`Baton`] is a
//! reference to the calling thread together with the proof that it is inside the runtime and
//! nothing else changes what it may change: it holds the baton or, in parallel recording, uses only
//! what is its own or behind a lock. Functions that write to the log or decide which thread runs
//! take a `Baton` and are safe; only [`crate::entry`] and the places that wait for the baton make
//! one.

use super::{
    ASKED, CallFrames, DeferredAccess, HotPath, Lifecycle, SIGNALLED, Signals, Thread, WaitState,
};
use crate::log::{self, Stream};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// A thread that the runtime knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadRef(NonNull<Thread>);

impl ThreadRef {
    /// Returns the reference, or `None` for a null pointer.
    ///
    /// # Safety
    /// The pointer is null or comes from [`Thread::new`].
    #[inline(always)]
    pub(crate) unsafe fn from_ptr(t: *mut Thread) -> Option<ThreadRef> {
        NonNull::new(t).map(ThreadRef)
    }

    /// Allocates the state of a new thread.
    pub(crate) fn new(index: u32, stream: *mut Stream) -> ThreadRef {
        ThreadRef(Thread::new(index, stream))
    }

    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut Thread {
        self.0.as_ptr()
    }

    /// Sets whether the calling thread, which this is, is inside the runtime, for hooks and for
    /// signal handlers.
    #[inline(always)]
    pub(crate) fn set_inside(self, inside: bool) {
        // SAFETY: the thread is the calling one; volatile, because a signal handler reads it.
        unsafe { std::ptr::write_volatile(&raw mut (*self.as_ptr()).hot.busy, u8::from(inside)) };
    }

    pub(crate) fn index(self) -> u32 {
        // SAFETY: threads live as long as the process; the index does not change.
        unsafe { (*self.as_ptr()).index }
    }

    /// Scheduling state; its fields belong to the holder of the scheduler's lock or of the baton.
    #[inline(always)]
    pub(crate) fn wait(self) -> &'static WaitState {
        // SAFETY: threads live as long as the process; all fields are cells or atomics.
        unsafe { &(*self.as_ptr()).wait }
    }

    /// Identity and life of the thread.
    pub(crate) fn lifecycle(self) -> &'static Lifecycle {
        // SAFETY: as above.
        unsafe { &(*self.as_ptr()).lifecycle }
    }

    /// Signals of the thread.
    pub(crate) fn signals(self) -> &'static Signals {
        // SAFETY: as above.
        unsafe { &(*self.as_ptr()).signals }
    }

    /// Reads or changes the fields of the fast path. The thread is the calling one, or does not
    /// run.
    #[inline(always)]
    pub(crate) fn hot<R>(self, f: impl FnOnce(&mut HotPath) -> R) -> R {
        // SAFETY: the hooks of one thread do not overlap, and `f` calls none of them.
        f(unsafe { &mut (*self.as_ptr()).hot })
    }

    /// Reads or changes the deferred access of the calling thread, if it has one.
    pub(crate) fn deferred_access<R>(self, f: impl FnOnce(&mut Option<DeferredAccess>) -> R) -> R {
        // SAFETY: as above.
        f(unsafe { &mut (*self.as_ptr()).deferred_access })
    }

    /// Reads or changes the call stack of the calling thread.
    pub(crate) fn frames<R>(self, f: impl FnOnce(&mut CallFrames) -> R) -> R {
        // SAFETY: as above.
        f(unsafe { &mut (*self.as_ptr()).frames })
    }

    /// Whether the thread records in parallel, without a baton.
    #[inline(always)]
    pub(crate) fn parallel(self) -> bool {
        self.hot(|hot| hot.parallel)
    }

    /// Whether a signal is kept.
    pub(crate) fn signalled(self) -> bool {
        self.hot(|hot| hot.has(SIGNALLED))
    }

    /// Whether the watchdog has asked for the thread, see [`crate::sched::unmodelled`].
    #[inline(always)]
    pub(crate) fn asked(self) -> bool {
        self.hot(|hot| hot.has(ASKED))
    }

    /// Whether the next hook of the thread has more to do than usual.
    #[inline(always)]
    pub(crate) fn needs_attention(self) -> bool {
        self.hot(|hot| hot.has(SIGNALLED | ASKED))
    }

    /// Whether the thread is inside the runtime. The thread may be another one.
    #[inline(always)]
    pub(crate) fn is_inside(self) -> bool {
        // SAFETY: threads live as long as the process; volatile, because the thread may run.
        unsafe { std::ptr::read_volatile(&raw const (*self.as_ptr()).hot.busy) != 0 }
    }

    #[inline(always)]
    pub(crate) fn stream(self) -> *mut Stream {
        self.hot(|hot| hot.stream)
    }
}

/// The calling thread, which holds the baton or records in parallel.
#[derive(Clone, Copy)]
pub(crate) struct Baton {
    thread: ThreadRef,
    /// The proof is the calling thread's own.
    not_send: PhantomData<*mut ()>,
}

impl Baton {
    /// Returns the proof for the calling thread.
    ///
    /// # Safety
    /// `thread` is the calling thread and holds the baton, records in parallel, or is alone.
    #[inline(always)]
    pub(crate) unsafe fn assume(thread: ThreadRef) -> Baton {
        Baton { thread, not_send: PhantomData }
    }

    /// Writes that the records that follow are the calling thread's, if the log does not know.
    pub(crate) fn switch_stream(self) {
        // SAFETY: the caller holds the baton.
        unsafe { log::switch(self.stream(), self.index()) };
    }
}

impl Deref for Baton {
    type Target = ThreadRef;

    #[inline(always)]
    fn deref(&self) -> &ThreadRef {
        &self.thread
    }
}

/// A value that only the holder of the baton uses, in serialized recording.
pub(crate) struct BatonCell<T>(UnsafeCell<T>);

// SAFETY: one thread at a time holds the baton.
unsafe impl<T> Sync for BatonCell<T> {}

impl<T> BatonCell<T> {
    pub(crate) const fn new(value: T) -> BatonCell<T> {
        BatonCell(UnsafeCell::new(value))
    }

    /// Reads or changes the value. `f` does not use the cell again.
    pub(crate) fn with<R>(&self, _: Baton, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller holds the baton, and keeps it while `f` runs.
        f(unsafe { &mut *self.0.get() })
    }
}
