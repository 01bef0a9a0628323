//! What Java programs attempt in vain: the sections of [`attempts`](crate::attempts).
//!
//! Attempts are exchanges that failed, of atomic objects, fields and elements, and operations on a collection that would
//! have changed it: a `putIfAbsent` that finds something, a `poll` of an empty queue.
//!
//! Taking an item out of a queue, or the room in it, is a `down` of a semaphore besides. An attempt that succeeds takes one too,
//! and the trace has no event for that: who comes later may find nothing, and wait. Here the lock is held
//! around both, so neither runs after an attempt that was broken. (If the change itself is broken, the others do not
//! go near the queue: missed, not false.) A map's semaphore only keeps others out while its owner changes the map: it is given
//! back at once, and nothing comes of who had it.

use super::{Entry, Record, Translation};
use crate::attempts::{self, Action};

impl Translation<'_> {
    /// An access, between a `down` and a `post` of semaphores (0: none) if it is an operation on a collection.
    pub(super) fn operation(&mut self, entry: &Entry<'_>, down: u32, post: u32) {
        let Some(access) = self.access(entry) else {
            self.semaphore_event(entry, down, true);
            self.semaphore_event(entry, post, false);
            return;
        };
        let (event, action) = (self.access_event(&access), access.action);
        let lock = self.variables.get(&access.key).and_then(|v| v.attempts);
        let section = lock.map(attempts::section);
        let takes = down != 0 && down != post;
        let around = section.filter(|_| action == Action::Attempt || takes);
        let after = section.filter(|_| action.passes() && !takes);
        let (thread, site) = (entry.thread, entry.record.site());
        if let Some([acquire, _]) = around {
            self.push_marker(thread, acquire, site);
        }
        self.semaphore_event(entry, down, true);
        self.push(entry, event);
        if let Some([_, release]) = around {
            self.push_marker(thread, release, site);
        }
        for event in after.into_iter().flatten() {
            self.push_marker(thread, event, site);
        }
        self.semaphore_event(entry, post, false);
        if let Record::Operation { object, .. } = entry.record {
            self.in_order(entry, object, action);
        }
    }
}
