//! The fork/join clock of the filter.

use foretell_ownership::transfer::LAST_EPOCH;
use foretell_ownership::{AtLimit, BitSet, ForkJoinClock};
use foretell_rt_format::{Record, SyncKind};

/// Returns the clock of a run that has not begun.
pub(crate) fn new() -> ForkJoinClock<BitSet> {
    ForkJoinClock::new(LAST_EPOCH, AtLimit::KeepEpoch)
}

/// Applies a record of a thread. Lock scopes and the parts between markers may be atomic blocks.
pub(crate) fn apply(clock: &mut ForkJoinClock<BitSet>, thread: u32, record: &Record<'_>) {
    match *record {
        Record::Create { thread: child, .. } => clock.create(thread, child),
        Record::Join { thread: ended, .. } => clock.join(thread, ended),
        Record::MarkBegin { .. }
        | Record::Sync { kind: SyncKind::Lock | SyncKind::ReadLock, .. } => {
            clock.enter_block(thread);
        }
        Record::MarkEnd { .. }
        | Record::Sync { kind: SyncKind::Unlock | SyncKind::ReadUnlock, .. } => {
            clock.leave_block(thread);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sync(kind: SyncKind) -> Record<'static> {
        Record::Sync { kind, pc: 0, object: 1, other: 0 }
    }

    #[test]
    fn join_in_a_lock_scope_counts_when_the_scope_has_ended() {
        let mut clock = new();
        let create = Record::Create { thread: 1, nth: 0, pc: 0, routine: 0 };
        let join = Record::Join { thread: 1, pc: 0 };
        let mut known = Vec::new();
        for record in [create, sync(SyncKind::Lock), join, sync(SyncKind::Unlock)] {
            apply(&mut clock, 0, &record);
            known.push(clock.knows_all_of(0, 1));
        }
        assert_eq!(known, [false, false, false, true]);
    }
}
