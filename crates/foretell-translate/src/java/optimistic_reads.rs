//! Optimistic reads of a `StampedLock`.
//!
//! | read | events |
//! |---|---|
//! | confirmed by `validate` | a section of the reader side, taken by a try: no writer came between |
//! | followed by a validation that fails | none of its plain reads: the program discards the values |
//! | never validated | its accesses alone, so that they race with those of a writer |
//!
//! A read lasts until the next one of the same lock by the same thread begins. Its section ends at
//! the last validation that succeeds; the plain reads from there to the last one that fails are
//! discarded. A conversion of the stamp validates it. Where a validation fails, the agent also
//! writes a call of hidden state: the lock keeps the recorded order of its operations.

use foretell_rt_format::SyncKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::log::Entry;
use super::record::Record;

/// Value of [`Record::Sync::other`] of the begin and the validation of an optimistic read.
pub(super) const OPTIMISTIC: u64 = 2;

/// An optimistic read; steps are numbers of steps of its thread.
#[derive(Clone, Copy)]
struct OptimisticRead {
    /// Step that began it.
    begin: u64,
    /// Step of the last validation that succeeded.
    valid: Option<u64>,
    /// Number of steps before the last validation that failed.
    invalid: Option<u64>,
}

/// Optimistic reads of a run.
#[derive(Default)]
pub(super) struct OptimisticReads {
    /// Last read, by thread and lock.
    open: FxHashMap<(u32, u32), OptimisticRead>,
    /// Steps, by thread, that begin or end a validated read.
    events: FxHashSet<(u32, u64)>,
    /// Ranges of steps whose plain reads are discarded, by thread; sorted and disjoint at the end.
    discarded: FxHashMap<u32, Vec<(u64, u64)>>,
}

impl OptimisticReads {
    /// Notes a record.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        let (thread, ordinal) = (entry.thread, entry.ordinal);
        match entry.record {
            Record::Sync { kind: SyncKind::ReadLock, object, other: OPTIMISTIC, .. }
            | Record::FailedOptimistic { begins: true, object } => {
                self.begin((thread, object), ordinal)
            }
            Record::Sync { kind: SyncKind::ReadUnlock, object, other: OPTIMISTIC, .. } => {
                if let Some(read) = self.open.get_mut(&(thread, object)) {
                    read.valid = Some(ordinal);
                }
            }
            Record::FailedOptimistic { begins: false, object } => {
                if let Some(read) = self.open.get_mut(&(thread, object)) {
                    read.invalid = Some(ordinal);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, key: (u32, u32), begin: u64) {
        self.close(key);
        self.open.insert(key, OptimisticRead { begin, valid: None, invalid: None });
    }

    fn close(&mut self, key: (u32, u32)) {
        let Some(read) = self.open.remove(&key) else { return };
        if let Some(end) = read.valid {
            self.events.extend([(key.0, read.begin), (key.0, end)]);
        }
        if let Some(invalid) = read.invalid {
            let from = read.valid.unwrap_or(read.begin);
            self.discarded.entry(key.0).or_default().push((from, invalid));
        }
    }

    /// Completes the survey.
    pub(super) fn finish(&mut self) {
        let open: Vec<(u32, u32)> = self.open.keys().copied().collect();
        open.into_iter().for_each(|key| self.close(key));
        for ranges in self.discarded.values_mut() {
            ranges.sort_unstable();
            ranges.dedup_by(|next, last| {
                let overlaps = next.0 <= last.1;
                if overlaps {
                    last.1 = last.1.max(next.1);
                }
                overlaps
            });
        }
    }

    /// Whether the program discards what a plain read in this step of a thread finds.
    pub(super) fn discards(&self, thread: u32, step: u64) -> bool {
        self.discarded.get(&thread).is_some_and(|ranges| {
            let at = ranges.partition_point(|&(from, _)| from <= step);
            at.checked_sub(1).is_some_and(|last| step < ranges[last].1)
        })
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

    /// Returns the steps below 20 whose plain reads thread 1 discards; a record is a number of
    /// steps, a lock, and `b`egin, `r`efused, `v`alid, `i`nvalid.
    fn discarded(records: &[(u64, u32, char)]) -> Vec<u64> {
        let mut reads = OptimisticReads::default();
        for &(ordinal, object, what) in records {
            let sync = |kind| Record::Sync { kind, site: 0, object, other: OPTIMISTIC };
            let record = match what {
                'b' => sync(SyncKind::ReadLock),
                'v' => sync(SyncKind::ReadUnlock),
                what => Record::FailedOptimistic { begins: what == 'r', object },
            };
            reads.take(&Entry { thread: 1, ordinal, record });
        }
        reads.finish();
        assert!((0..20).all(|step| !reads.discards(0, step)));
        (0..20).filter(|&step| reads.discards(1, step)).collect()
    }

    #[test]
    fn failed_validation_discards_the_reads_since_the_begin() {
        assert_eq!(discarded(&[(3, 7, 'b'), (6, 7, 'i')]), [3, 4, 5]);
        assert_eq!(discarded(&[(3, 7, 'r'), (6, 7, 'i')]), [3, 4, 5]);
        assert_eq!(discarded(&[(3, 7, 'b'), (6, 7, 'i'), (9, 7, 'b'), (11, 7, 'v')]), [3, 4, 5]);
    }

    #[test]
    fn reads_that_are_not_validated_are_kept() {
        assert!(discarded(&[(3, 7, 'b')]).is_empty());
        assert!(discarded(&[(3, 7, 'r'), (9, 7, 'b')]).is_empty());
        assert!(discarded(&[(3, 7, 'i')]).is_empty());
        assert!(discarded(&[(3, 7, 'b'), (9, 8, 'i')]).is_empty());
    }

    #[test]
    fn repeated_validations_discard_the_reads_since_the_last_success() {
        assert_eq!(discarded(&[(3, 7, 'b'), (5, 7, 'v'), (8, 7, 'i')]), [5, 6, 7]);
        assert_eq!(discarded(&[(3, 7, 'b'), (5, 7, 'i'), (8, 7, 'i')]), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn reads_under_two_locks_are_discarded_if_one_validation_fails() {
        let records = [(3, 7, 'b'), (5, 8, 'b'), (8, 7, 'v'), (9, 8, 'i')];
        assert_eq!(discarded(&records), [5, 6, 7, 8]);
        let records = [(3, 7, 'b'), (5, 8, 'b'), (8, 7, 'i'), (9, 8, 'i')];
        assert_eq!(discarded(&records), [3, 4, 5, 6, 7, 8]);
    }
}
