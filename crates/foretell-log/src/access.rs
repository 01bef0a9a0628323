//! The memory that a record accesses.

use foretell_rt_format::{AccessKind, AtomicKind, Record};

/// Returns address and length of the memory that a record accesses.
pub fn touched(record: &Record<'_>) -> Option<(u64, u64)> {
    match *record {
        Record::Access { addr, size, .. }
        | Record::Wide { addr, size, .. }
        | Record::Atomic { addr, size, .. } => Some((addr, u64::from(size))),
        Record::Range { addr, len, .. } => Some((addr, len)),
        _ => None,
    }
}

/// Whether the access of a record writes.
pub fn writes(record: &Record<'_>) -> bool {
    match record {
        Record::Access { kind, .. } | Record::Wide { kind, .. } | Record::Range { kind, .. } => {
            *kind == AccessKind::Write
        }
        Record::Atomic { kind, .. } => {
            matches!(kind, AtomicKind::Store | AtomicKind::VolatileStore | AtomicKind::Update)
        }
        _ => false,
    }
}
