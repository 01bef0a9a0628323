//! Records as steps of their threads.

use super::{AccessKind, Kind, Record};

impl Record<'_> {
    /// Whether the record is a step of its thread, see the crate's page.
    pub fn counted(&self) -> bool {
        match self {
            Record::Create { .. }
            | Record::Join { .. }
            | Record::Access { .. }
            | Record::Wide { .. }
            | Record::Atomic { .. }
            | Record::Range { .. }
            | Record::MarkBegin { .. }
            | Record::MarkEnd { .. }
            | Record::HiddenCall { .. } => true,
            Record::Free { counted, .. } => *counted,
            Record::Sync { kind, .. } => kind.counted(),
            _ => false,
        }
    }

    /// Returns the number of steps of its thread that the record stands for.
    pub fn steps(&self) -> u64 {
        match self {
            Record::Elided { count, .. } => *count,
            _ => u64::from(self.counted()),
        }
    }

    /// Returns the kind of the step in a schedule; `None` if it is not counted.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Record::Create { .. } => Kind::Create,
            Record::Join { .. } => Kind::Join,
            Record::Access { kind, .. } | Record::Wide { kind, .. } => match kind {
                AccessKind::Read => Kind::Read,
                AccessKind::Write => Kind::Write,
            },
            Record::Atomic { .. } => Kind::Atomic,
            Record::Range { kind, .. } => match kind {
                AccessKind::Read => Kind::ReadRange,
                AccessKind::Write => Kind::WriteRange,
            },
            Record::MarkBegin { .. } => Kind::MarkBegin,
            Record::MarkEnd { .. } => Kind::MarkEnd,
            Record::Free { counted: true, .. } => Kind::Free,
            Record::HiddenCall { .. } => Kind::HiddenCall,
            Record::Sync { kind, .. } => return kind.step(),
            _ => return None,
        })
    }

    /// Returns the code address of a counted record, and of some others.
    pub fn pc(&self) -> Option<u64> {
        match *self {
            Record::Create { pc, .. }
            | Record::Join { pc, .. }
            | Record::Access { pc, .. }
            | Record::Wide { pc, .. }
            | Record::Atomic { pc, .. }
            | Record::Range { pc, .. }
            | Record::Sync { pc, .. }
            | Record::Alloc { pc, .. }
            | Record::Free { pc, .. }
            | Record::MarkBegin { pc, .. }
            | Record::MarkEnd { pc }
            | Record::HiddenCall { pc, .. }
            | Record::Trail { pc, .. } => Some(pc),
            _ => None,
        }
    }
}
