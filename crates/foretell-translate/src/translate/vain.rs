//! Compare-and-exchanges of native programs that failed: the sections of [`attempts`].
//!
//! An attempt on several variables holds all their locks: it would write them all. They are taken in the order of their
//! addresses.
//!
//! Tries to take a semaphore (`counts`) and try-locks that fail need no such lock: they are part of no finding, and
//! one that is broken ends its thread, so what is found with it is found without it.

use foretell_rt_format::Record;
use foretell_trace::LockId;

use super::{At, Translation};
use crate::attempts::{self, Action};
use foretell_log::touched;

impl Translation<'_> {
    /// A compare-and-exchange that failed.
    pub(super) fn attempt(&mut self, at: &At<'_>, record: &Record<'_>) {
        let locks = self.attempted(record);
        for &lock in &locks {
            self.push_marker(at, attempts::section(lock)[0], at.pc);
        }
        self.access(at, record);
        for &lock in locks.iter().rev() {
            self.push_marker(at, attempts::section(lock)[1], at.pc);
        }
    }

    /// The locks of what an attempt is on, by address.
    fn attempted(&mut self, record: &Record<'_>) -> Vec<LockId> {
        let Some((addr, len)) = touched(record) else { return Vec::new() };
        let mut found = std::mem::take(&mut self.found);
        self.survey.cells.shared(&mut self.regions, addr, len, &mut found);
        let mut locks = Vec::new();
        for &cell in &found {
            let variable = self.variable_of(cell);
            locks.extend(self.variables.get(variable as usize).and_then(|v| v.attempts));
        }
        self.found = found;
        locks
    }

    /// The section after an event that reads a variable, if that has a lock.
    pub(super) fn pass_attempts(&mut self, at: &At<'_>, variable: u32, action: Action) {
        let variable = self.variables.get(variable as usize).filter(|_| action.passes());
        if let Some(lock) = variable.and_then(|v| v.attempts) {
            for event in attempts::section(lock) {
                self.push_marker(at, event, at.pc);
            }
        }
    }
}
