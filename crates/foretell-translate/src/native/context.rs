//! Position of a record in a run, and the bytes of its access.

use foretell_log::{CallId, Calls, LoggedRecord};
use foretell_rt_format::{Entry, Kind, Slot};

/// Position of a record: its thread, its step and its call stack.
pub(super) struct Context<'s> {
    pub(super) thread: u32,
    pub(super) ordinal: u64,
    pub(super) pc: Option<u64>,
    /// Kind of the step, if the record is one.
    pub(super) kind: Option<Kind>,
    pub(super) stack: CallId,
    pub(super) calls: &'s Calls,
}

impl<'s> Context<'s> {
    pub(super) fn of(logged: &LoggedRecord<'_>, calls: &'s Calls) -> Context<'s> {
        let Entry { thread, ordinal, ref record } = logged.entry;
        Context {
            thread,
            ordinal,
            pc: record.pc(),
            kind: record.kind(),
            stack: logged.stack,
            calls,
        }
    }

    /// Returns this position with another step.
    pub(super) fn with_step(&self, ordinal: u64, kind: Option<Kind>, pc: Option<u64>) -> Self {
        Context { thread: self.thread, ordinal, pc, kind, stack: self.stack, calls: self.calls }
    }
}

/// Returns the step kind of a plain access.
pub(super) fn kind_of(slot: Slot) -> Kind {
    if slot.writes() { Kind::Write } else { Kind::Read }
}

/// Some bytes of an access.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) at: usize,
    pub(super) len: usize,
}

impl Part {
    /// Returns the value of these bytes as a signed number, unless some are missing from `bytes`
    /// or they are more than eight.
    pub(super) fn of(self, bytes: &[u8]) -> Option<i64> {
        if self.len > 8 {
            return None;
        }
        let bytes = bytes.get(self.at..self.at + self.len)?;
        let mut value = [0u8; 8];
        value[..self.len].copy_from_slice(bytes);
        Some(signed(u64::from_le_bytes(value), self.len))
    }
}

/// Returns the lowest `len` bytes, at most eight, as a signed number.
#[inline]
pub(super) fn signed(bytes: u64, len: usize) -> i64 {
    let unused = 64 - 8 * len as u32;
    (bytes as i64) << unused >> unused
}

/// Returns the bytes of a value of two words.
pub(super) fn wide(halves: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
    bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
    bytes
}
