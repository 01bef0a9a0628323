//! Failed read-modify-writes of Java programs: the sections of [`crate::failed_rmw`].
//!
//! They are failed exchanges of atomic objects, fields and elements, and operations that would
//! have changed a collection: a `putIfAbsent` that finds a value, a `poll` of an empty queue.
//!
//! Taking an item out of a queue, or the room in it, is a `down` of a semaphore besides. An
//! operation that succeeds instead of failing takes one too, and the trace has no event for that:
//! a later thread may find nothing, and wait. Here the lock is held around both, so neither runs
//! after a failed update that was broken. (If the change itself is broken, other threads do not
//! use the queue: missed, not false.) The semaphore of a map only excludes other threads while its
//! owner changes the map: it is posted at once, and no thread depends on its owner.

use foretell_trace::{EventKind, LockId};

use crate::action::Action;
use crate::failed_rmw;

/// Events of a variable's failed-update lock around and after an operation.
#[derive(Default)]
pub(super) struct Sections {
    /// Acquire and release around the operation.
    pub(super) around: Option<[EventKind; 2]>,
    /// Empty section after the operation.
    pub(super) after: Option<[EventKind; 2]>,
}

impl Sections {
    /// Returns the sections of an operation on a variable with this lock, between a `down` and a
    /// `post` of semaphores (0: none).
    pub(super) fn of(lock: Option<LockId>, action: Action, down: u32, post: u32) -> Sections {
        let section = lock.map(failed_rmw::section);
        let takes = down != 0 && down != post;
        Sections {
            around: section.filter(|_| action == Action::FailedUpdate || takes),
            after: section.filter(|_| action.checks_failed_updates() && !takes),
        }
    }
}
