//! The functions that a thread has entered.

use crate::arena;
use foretell_rt_format::MAX_FRAMES;
use std::ptr::null_mut;

/// Deepest call stack that is known frame by frame.
pub(crate) const MAX_DEPTH: usize = 1 << 14;

/// A function that was entered.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// The stack pointer there, to tell frames left by `longjmp`.
    pub(crate) sp: usize,
    pub(crate) call: usize,
    pub(crate) pc: usize,
    /// The register `rbp` there.
    pub(crate) fp: usize,
}

/// Call stack of a thread, and how much of it the log knows.
///
/// The records of entries and exits are written when another record needs them: first an exit for
/// each frame from `low` up to `logged`, then an entry for each frame from there up to `depth`.
#[repr(C)]
pub(crate) struct CallFrames {
    pub(crate) depth: usize,
    /// The lowest depth since the log was last up to date.
    pub(crate) low: usize,
    /// The depth that the log knows.
    pub(crate) logged: usize,
    pub(crate) stack: *mut Frame,
    /// Frames that the last [`foretell_rt_format::Record::Frames`] left the reader with.
    given: [Frame; MAX_FRAMES],
    given_depth: usize,
}

impl CallFrames {
    pub(super) fn new() -> CallFrames {
        let stack = arena::map(MAX_DEPTH * size_of::<Frame>()).cast();
        let none = Frame { sp: 0, call: 0, pc: 0, fp: 0 };
        let (given, given_depth) = ([none; MAX_FRAMES], 0);
        CallFrames { depth: 0, low: 0, logged: 0, stack, given, given_depth }
    }

    /// Sets the depth, which the log knows already.
    pub(crate) fn set_logged_depth(&mut self, depth: usize) {
        (self.depth, self.low, self.logged) = (depth, depth, depth);
    }

    /// Whether the log knows which functions are entered.
    #[inline(always)]
    pub(crate) fn logged_up_to_date(&self) -> bool {
        (self.logged ^ self.low) | (self.logged ^ self.depth) == 0
    }

    /// Returns the next frame whose entry the log does not know, and counts it as logged.
    pub(crate) fn next_unlogged(&mut self) -> Option<Frame> {
        if self.logged >= self.depth {
            return None;
        }
        // SAFETY: frames below the depth are in the stack; above [`MAX_DEPTH`] all are logged.
        let frame = unsafe { *self.stack.add(self.logged) };
        self.logged += 1;
        Some(frame)
    }

    /// Pushes a frame that the log knows nothing of, if there is room for it.
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.depth < MAX_DEPTH {
            // SAFETY: the stack has room for so many frames.
            unsafe { *self.stack.add(self.depth) = frame };
        }
        self.depth += 1;
    }

    /// Leaves the frames that `longjmp` abandoned before a function with the stack pointer `sp` was
    /// entered: those that are not above `sp`. A frame at `sp` itself with the same return address
    /// stays: the function was inlined into that one after hooks had been put into both.
    pub(crate) fn unwind(&mut self, sp: usize, call: usize) {
        while (1..=MAX_DEPTH).contains(&self.depth) {
            // SAFETY: frames below the depth are in the stack.
            let top = unsafe { *self.stack.add(self.depth - 1) };
            if top.sp > sp || (top.sp, top.call) == (sp, call) {
                return;
            }
            self.depth -= 1;
            self.low = self.low.min(self.depth);
        }
    }

    /// Returns the frames that the reader does not know yet, and how many it keeps; none if it
    /// knows all.
    pub(crate) fn not_given(&mut self) -> Option<(usize, &[Frame])> {
        if self.stack.is_null() {
            return None;
        }
        let depth = self.depth.min(MAX_FRAMES);
        // SAFETY: frames below the depth are in the stack.
        let live = unsafe { std::slice::from_raw_parts(self.stack, depth) };
        let given = &self.given[..self.given_depth];
        let is_same = |(a, b): &(&Frame, &Frame)| (a.sp, a.pc, a.fp) == (b.sp, b.pc, b.fp);
        let keep = live.iter().zip(given).take_while(is_same).count();
        if keep == depth && keep == self.given_depth {
            return None;
        }
        self.given[keep..depth].copy_from_slice(&live[keep..]);
        self.given_depth = depth;
        Some((keep, &live[keep..]))
    }

    /// Gives the memory of the stack back: the thread has ended.
    pub(crate) fn release(&mut self) {
        if !self.stack.is_null() {
            // SAFETY: the stack is mapped by `new` and not used after this.
            unsafe { arena::unmap(self.stack.cast(), MAX_DEPTH * size_of::<Frame>()) };
            self.stack = null_mut();
            self.set_logged_depth(0);
        }
    }
}
