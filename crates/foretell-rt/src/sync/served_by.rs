//! The decision for every synchronisation object whether the scheduler models it.
//!
//! The scheduler serves the objects of this process. An object that several processes share is
//! left to the C library: another process may change it at any time, unseen. The thread then waits
//! in the library's own function, as in a blocking system call, without the baton.
//!
//! The attribute is read from the object itself (glibc, x86-64):
//!
//! | object | field | offset | process-shared |
//! |---|---|---:|---|
//! | `pthread_mutex_t` | `__kind` | 16 | bit 7 |
//! | `pthread_rwlock_t` | `__shared` | 28 | not 0 |
//! | `pthread_cond_t` | `__wrefs` | 36 | bit 0 |
//! | `pthread_barrier_t` | `shared` | 12 | not 0 |
//! | `sem_t` (also of `sem_open`) | `private` | 8 | not 0 |
//! | `pthread_spinlock_t` | none | | lies in a shared mapping |

use super::field;
use crate::sys;
use crate::thread::Baton;

/// Kind of a synchronisation object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Mutex,
    RwLock,
    Condition,
    Barrier,
    Semaphore,
    SpinLock,
}

/// The part that serves the operations of an object that may block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServedBy {
    Scheduler,
    Library,
}

/// Decides which part serves an object: the library, if the object is process-shared or the program
/// is recorded in parallel. `object` is the address that the program gives to an operation on such
/// an object.
pub(super) fn served_by(t: Baton, kind: ObjectKind, object: usize) -> ServedBy {
    if t.parallel() {
        ServedBy::Library
    } else if is_process_shared(kind, object) {
        crate::unexplored::SHARED.take();
        ServedBy::Library
    } else {
        ServedBy::Scheduler
    }
}

/// Whether other processes may use the object.
fn is_process_shared(kind: ObjectKind, object: usize) -> bool {
    match kind {
        ObjectKind::Mutex => field(object, 16) & 128 != 0,
        ObjectKind::RwLock => field(object, 28) != 0,
        ObjectKind::Condition => field(object, 36) & 1 != 0,
        ObjectKind::Barrier => field(object, 12) != 0,
        ObjectKind::Semaphore => field(object, 8) != 0,
        ObjectKind::SpinLock => in_shared_mapping(object),
    }
}

/// Whether an address lies in memory that other processes may have mapped.
fn in_shared_mapping(addr: usize) -> bool {
    let maps = sys::read_file(b"/proc/self/maps");
    // A line begins with `start-end rwxs `; the last letter is `p` where the mapping is private.
    let contains = |line: &[u8]| {
        let line = std::str::from_utf8(line.get(..48.min(line.len()))?).ok()?;
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        (start..end).contains(&addr).then(|| rest.as_bytes().get(3) == Some(&b's'))
    };
    maps.split(|&b| b == b'\n').find_map(contains).unwrap_or(false)
}
