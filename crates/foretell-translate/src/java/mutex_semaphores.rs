//! Semaphores that are used as mutexes: one permit, which each thread takes and gives back itself.
//!
//! Such a semaphore is a lock in the trace. Its feasible interleavings are the same, and the
//! analyses of locks apply to it: two of them that two threads take in opposite orders are a
//! deadlock.

use foretell_rt_format::SyncKind;
use rustc_hash::FxHashMap;

use super::log::Entry;
use super::record::Record;
use super::sync::LOCK_OBJECT;

/// Bit of the number of permits that an operation takes: it was a try.
pub(super) const TRIED: u64 = 1 << 40;

/// Use of a semaphore in a run.
struct Use {
    object: u32,
    holder: Option<u32>,
    is_mutex: bool,
}

/// Semaphores of a run, by their numbers.
#[derive(Default)]
pub(super) struct MutexSemaphores(FxHashMap<u32, Use>);

impl MutexSemaphores {
    /// Notes a record.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        match entry.record {
            Record::Semaphore { number, count, name } => {
                let object = name.strip_prefix('@').and_then(|id| id.parse().ok());
                if let Some(object) = object {
                    self.0.insert(number, Use { object, holder: None, is_mutex: count == 1 });
                }
            }
            Record::Sync {
                kind: kind @ (SyncKind::Down | SyncKind::Post), object, other, ..
            } => {
                let Some(used) = self.0.get_mut(&object) else { return };
                let (before, after) = match kind {
                    SyncKind::Down => (None, Some(entry.thread)),
                    _ => (Some(entry.thread), None),
                };
                used.is_mutex &= other & !TRIED == 1 && used.holder == before;
                used.holder = after;
            }
            _ => {}
        }
    }

    /// Returns the lock that a semaphore is.
    pub(super) fn lock(&self, semaphore: u32) -> Option<u32> {
        self.0.get(&semaphore).filter(|used| used.is_mutex).map(|used| used.object | LOCK_OBJECT)
    }

    /// Returns the lock that an operation takes or gives back, and whether it takes it.
    pub(super) fn lock_of(&self, kind: SyncKind, semaphore: u32) -> Option<(u32, bool)> {
        let takes = match kind {
            SyncKind::Down => true,
            SyncKind::Post => false,
            _ => return None,
        };
        Some((self.lock(semaphore)?, takes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(operations: &[(u32, SyncKind, u64)], count: u64) -> MutexSemaphores {
        let mut semaphores = MutexSemaphores::default();
        let record = Record::Semaphore { number: 3, count, name: "@7" };
        semaphores.take(&Entry { thread: 0, ordinal: 0, record });
        for &(thread, kind, other) in operations {
            let record = Record::Sync { kind, site: 0, object: 3, other };
            semaphores.take(&Entry { thread, ordinal: 0, record });
        }
        semaphores
    }

    #[test]
    fn permit_that_its_holder_gives_back_is_a_lock() {
        let (down, post) = (SyncKind::Down, SyncKind::Post);
        let pairs = [(1, down, 1), (1, post, 1), (2, down, 1 | TRIED), (2, post, 1)];
        assert_eq!(entries(&pairs, 1).lock(3), Some(7 | LOCK_OBJECT));
        assert_eq!(entries(&pairs, 2).lock(3), None);
        assert_eq!(entries(&[(1, down, 1), (2, post, 1)], 1).lock(3), None);
        assert_eq!(entries(&[(1, post, 1)], 1).lock(3), None);
        assert_eq!(entries(&[(1, down, 2), (1, post, 2)], 1).lock(3), None);
    }
}
