//! Optimistic reads of a `StampedLock`.
//!
//! A read that `validate` confirms has had no writer between: it is a section of the reader side,
//! taken by a try. A read that is never validated has no events, so that its accesses race with
//! those of a writer. Where a validation fails, the agent writes a call of hidden state: the lock
//! keeps the recorded order of its operations.

use foretell_rt_format::SyncKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::log::{Entry, Record};

/// Value of [`Record::Sync::other`] of the begin and the validation of an optimistic read.
pub(super) const OPTIMISTIC: u64 = 2;

/// Optimistic reads of a run.
#[derive(Default)]
pub(super) struct OptimisticReads {
    /// Step that began the last read, by thread and lock, and the last that validated it.
    open: FxHashMap<(u32, u32), (u64, Option<u64>)>,
    /// Steps, by thread, that begin or end a validated read.
    events: FxHashSet<(u32, u64)>,
}

impl OptimisticReads {
    /// Notes a record.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        let Record::Sync { kind, object, other: OPTIMISTIC, .. } = entry.record else { return };
        let key = (entry.thread, object);
        match kind {
            SyncKind::ReadLock => {
                self.close(key);
                self.open.insert(key, (entry.ordinal, None));
            }
            SyncKind::ReadUnlock => {
                if let Some((_, end)) = self.open.get_mut(&key) {
                    *end = Some(entry.ordinal);
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, key: (u32, u32)) {
        if let Some((begin, Some(end))) = self.open.remove(&key) {
            self.events.extend([(key.0, begin), (key.0, end)]);
        }
    }

    /// Completes the survey.
    pub(super) fn finish(&mut self) {
        let open: Vec<(u32, u32)> = self.open.keys().copied().collect();
        open.into_iter().for_each(|key| self.close(key));
    }

    /// Whether an operation is no event: the begin or the validation of a read that has none.
    pub(super) fn skips(&self, kind: SyncKind, other: u64, step: (u32, u64)) -> bool {
        let reads = matches!(kind, SyncKind::ReadLock | SyncKind::ReadUnlock);
        reads && other == OPTIMISTIC && !self.events.contains(&step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_is_up_to_the_last_validation() {
        let (begin, valid) = (SyncKind::ReadLock, SyncKind::ReadUnlock);
        let mut reads = OptimisticReads::default();
        let steps = [(0, begin), (3, valid), (5, valid), (6, begin), (9, begin), (11, valid)];
        for (ordinal, kind) in steps {
            let record = Record::Sync { kind, site: 0, object: 7, other: OPTIMISTIC };
            reads.take(&Entry { thread: 1, ordinal, record });
        }
        reads.finish();
        let skipped = steps.map(|(ordinal, kind)| reads.skips(kind, OPTIMISTIC, (1, ordinal)));
        assert_eq!(skipped, [false, true, false, true, false, false]);
        assert!(!reads.skips(begin, 0, (1, 6)));
    }
}
