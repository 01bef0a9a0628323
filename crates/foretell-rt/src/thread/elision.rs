//! The fields that decide which accesses of a thread need no record, and count those.

use foretell_ownership::Epoch;
use foretell_ownership::elision::{EPOCHS, ElisionWord};
use foretell_rt_format::{AccessCode, slot_key};
use std::ptr::{null, null_mut};

/// State of elision for one thread, see [`crate::elision`].
#[repr(C)]
pub(crate) struct Elision {
    /// The elision words of all memory; null if every access has a record.
    pub(crate) words: *mut ElisionWord,
    /// The epochs that are over for this thread, and its own.
    pub(crate) known: *const [u8; EPOCHS],
    pub(crate) epoch: Epoch,
    /// See [`ElisionWord::read_pattern`].
    pub(crate) read_pattern: u32,
    /// See [`ElisionWord::write_pattern`].
    pub(crate) write_pattern: u32,
    /// The budget after the last recorded step. The difference to the current budget is the number
    /// of elided steps that the log does not know of yet.
    pub(crate) recorded_budget: i64,
    /// Code address of the last elided access.
    pub(crate) elided_pc: usize,
    /// Access code of the last elided access.
    pub(crate) elided_code: AccessCode,
    /// Number of elided steps that the log knows of.
    pub(crate) elided_steps: u64,
    /// `elided_steps` and the ordinal when the budget was used up last.
    pub(crate) at_last_turn: (u64, u64),
    /// Number of accesses that have a record and lie between elided ones.
    pub(crate) records_between: u64,
    /// Sum of `elided_steps` and `records_between` at the thread's last elision point.
    pub(crate) at_last_point: u64,
}

impl Elision {
    pub(super) fn new() -> Elision {
        Elision {
            words: null_mut(),
            known: null(),
            epoch: Epoch::NONE,
            read_pattern: 0,
            write_pattern: 0,
            recorded_budget: 0,
            elided_pc: 0,
            elided_code: AccessCode::from_byte(0),
            elided_steps: 0,
            at_last_turn: (0, 0),
            records_between: 0,
            at_last_point: 0,
        }
    }

    /// Returns the [`slot_key`] of the last elided access.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        slot_key(self.elided_pc as u64, self.elided_code)
    }
}
