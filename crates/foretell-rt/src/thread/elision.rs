//! The fields that decide which accesses of a thread need no record, and count those.

use foretell_rt_format::claim::{Claim, PHASES};
use foretell_rt_format::{AccessCode, slot_key};
use std::ptr::{null, null_mut};

/// State of elision for one thread, see [`crate::claims`].
#[repr(C)]
pub(crate) struct Elision {
    /// The claims of all words; null: every access has a record.
    pub(crate) claims: *mut Claim,
    /// The phases that are over for this thread, and its own.
    pub(crate) known: *const [u8; PHASES],
    pub(crate) phase: u32,
    /// See [`Claim::own`].
    pub(crate) own: u32,
    /// See [`Claim::own_written`].
    pub(crate) own_written: u32,
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
    /// Sum of `elided_steps` and `records_between` at the thread's last `Behind` record.
    pub(crate) left_behind: u64,
}

impl Elision {
    pub(super) fn new() -> Elision {
        Elision {
            claims: null_mut(),
            known: null(),
            phase: 0,
            own: 0,
            own_written: 0,
            recorded_budget: 0,
            elided_pc: 0,
            elided_code: AccessCode::from_byte(0),
            elided_steps: 0,
            at_last_turn: (0, 0),
            records_between: 0,
            left_behind: 0,
        }
    }

    /// Returns the [`slot_key`] of the last elided access.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        slot_key(self.elided_pc as u64, self.elided_code)
    }
}
