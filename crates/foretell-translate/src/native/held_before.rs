//! Locks that the thread of a forked child holds when its log begins.
//!
//! Only the release of such a lock is in the log. No other thread of the child can take the lock
//! before, so a lock that the first thread releases, and that no thread has taken so far, was held
//! from the beginning.

use foretell_rt_format::{Entry, Record, SyncKind};
use rustc_hash::FxHashSet;

/// Finds the locks that are held when the log of a forked child begins.
#[derive(Default)]
pub(super) struct HeldBefore {
    /// Whether the log is that of a forked child.
    child: bool,
    /// Locks that a thread has taken, or that are in the list.
    known: FxHashSet<u64>,
    /// The locks, and whether the thread holds the reader side.
    held: Vec<(u64, bool)>,
}

impl HeldBefore {
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        match entry.record {
            Record::ChildOfFork { .. } => self.child = true,
            Record::Sync { kind, object, other, .. } if self.child => {
                let (lock, reads) = match kind {
                    SyncKind::Lock | SyncKind::ReadLock => {
                        self.known.insert(object);
                        return;
                    }
                    SyncKind::Unlock => (object, false),
                    SyncKind::ReadUnlock => (object, true),
                    SyncKind::Wait => (other, false),
                    _ => return,
                };
                if entry.thread == 0 && self.known.insert(lock) {
                    self.held.push((lock, reads));
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Vec<(u64, bool)> {
        self.held
    }
}
