//! The fields that decide which accesses of a thread need no record, and count those.

use super::{Baton, ThreadRef};
use crate::log;
use foretell_ownership::Epoch;
use foretell_ownership::elision::{EPOCHS, ElisionWord};
use foretell_rt_format::{AccessCode, put_elided, slot_key};
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

    /// Whether nearly all steps of the thread since this was last asked were elided. `ordinal` is
    /// that of the thread's next step.
    fn mostly_elided(&mut self, ordinal: u64) -> bool {
        let (elided_then, ordinal_then) = self.at_last_turn;
        let elided = self.elided_steps - elided_then;
        let steps = ordinal.saturating_sub(ordinal_then);
        self.at_last_turn = (self.elided_steps, ordinal);
        steps > 0 && elided > steps / 8 * 7
    }

    /// Returns the [`slot_key`] of the last elided access.
    #[inline(always)]
    pub(crate) fn key(&self) -> u64 {
        slot_key(self.elided_pc as u64, self.elided_code)
    }
}

impl Baton {
    /// Reads or changes the elision state of the calling thread. `f` does not use it otherwise.
    pub(crate) fn elision<R>(self, f: impl FnOnce(&mut Elision) -> R) -> R {
        // SAFETY: the thread is the calling one.
        f(unsafe { &mut (*self.as_ptr()).elision })
    }

    /// Whether nearly all steps of the calling thread since this was last asked were elided.
    pub(crate) fn mostly_elided(self, ordinal: u64) -> bool {
        self.elision(|elision| elision.mostly_elided(ordinal))
    }
}

impl ThreadRef {
    /// Notes that the log knows all steps of a thread, which is the calling one or does not run.
    #[inline(always)]
    pub(crate) fn mark_recorded(self) {
        let t = self.as_ptr();
        // SAFETY: the thread is the calling one, or does not run.
        unsafe { (*t).elision.recorded_budget = (*t).hot.budget };
    }
}

/// Writes how many steps of the calling thread were elided since its last record.
#[inline(always)]
pub(crate) fn flush_elided(t: Baton) {
    flush_elided_of(t, *t);
}

/// Writes how many steps of a thread were elided since its last record. The stream's last record is
/// one of `of`, or says that its records follow.
#[inline]
pub(crate) fn flush_elided_of(_: Baton, of: ThreadRef) {
    let t = of.as_ptr();
    // SAFETY: the caller holds the baton: the thread is the calling one, or does not run.
    unsafe {
        let count = (*t).elision.recorded_budget - (*t).hot.budget;
        if count > 0 {
            (*t).elision.recorded_budget = (*t).hot.budget;
            (*t).elision.elided_steps += count as u64;
            let stream = (*t).hot.stream;
            (*stream).cur = put_elided((*stream).cur, count as u64, (*t).elision.key());
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
        }
    }
}
