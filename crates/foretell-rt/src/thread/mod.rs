//! State of one thread, by concern.
//!
//! | file | what it holds |
//! |---|---|
//! | [`baton`] | references to threads, and the proof that a thread holds the baton |
//! | [`hot_path`] | what every hook reads: the budget of steps, the flags, the log stream |
//! | [`elision`] | which accesses need no record, and which had none |
//! | [`frames`] | the functions that the thread has entered |
//! | [`wait_state`] | whether the thread can run, and what it waits for |
//! | [`lifecycle`] | creation, join, end |
//! | [`signals`] | signals that arrived while they could not be handled |

mod baton;
mod elision;
mod frames;
mod hot_path;
mod lifecycle;
mod signals;
mod wait_state;

pub(crate) use baton::{Baton, BatonCell, ThreadRef};
pub(crate) use elision::{Elision, flush_elided, flush_elided_of};
pub(crate) use frames::{CallFrames, Frame, MAX_DEPTH};
pub(crate) use hot_path::{ASKED, DeferredAccess, HotPath, SIGNALLED};
pub(crate) use lifecycle::Lifecycle;
pub(crate) use signals::{SIGNALS, SignalInfo, Signals};
pub(crate) use wait_state::{State, WaitState, Wake};

use crate::log::Stream;
use std::mem::offset_of;
use std::ptr::NonNull;

/// State of one thread. Lives as long as the process: another thread may look at it at any time.
///
/// The fields that the hooks in assembly use come first, in two cache lines.
#[repr(C, align(64))]
pub(crate) struct Thread {
    pub(crate) hot: HotPath,
    pub(crate) elision: Elision,
    pub(crate) deferred_access: Option<DeferredAccess>,
    pub(crate) frames: CallFrames,
    pub(crate) index: u32,
    pub(crate) wait: WaitState,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) signals: Signals,
}

const _: () = assert!(offset_of!(Thread, elision.elided_code) < 128);

impl Thread {
    /// Returns the state of a thread that can run and is inside the runtime.
    pub(crate) fn new(index: u32, stream: *mut Stream) -> NonNull<Thread> {
        NonNull::from(Box::leak(Box::new(Thread {
            hot: HotPath::new(stream),
            elision: Elision::new(),
            deferred_access: None,
            frames: CallFrames::new(),
            index,
            wait: WaitState::new(),
            lifecycle: Lifecycle::default(),
            signals: Signals::new(),
        })))
    }
}
