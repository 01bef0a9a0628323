//! Failed compare-and-exchanges of native programs: the sections of [`crate::failed_rmw`].
//!
//! A compare-and-exchange on several variables holds the locks of all of them, since it would
//! write them all. They are acquired in the order of their addresses.
//!
//! A failed try to take a semaphore (`semaphore_counts`) and a failed try-lock need no such lock:
//! they are part of no finding, and a broken one ends its thread, so every finding with it exists
//! without it.

use foretell_log::touched;
use foretell_rt_format::Record;
use foretell_trace::LockId;

use super::{Context, EventWriter, Memory};
use crate::action::Action;
use crate::failed_rmw;

impl Memory {
    /// Adds the events of a compare-and-exchange that failed.
    pub(in crate::native) fn failed_update(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        record: &Record<'_>,
    ) {
        let locks = self.failed_update_locks(out, record);
        for &lock in &locks {
            out.push_marker(at, failed_rmw::section(lock)[0], at.pc);
        }
        self.access(out, at, record);
        for &lock in locks.iter().rev() {
            out.push_marker(at, failed_rmw::section(lock)[1], at.pc);
        }
    }

    /// Returns the locks of the variables that an access is on, by address.
    fn failed_update_locks(&mut self, out: &mut EventWriter, record: &Record<'_>) -> Vec<LockId> {
        let Some((addr, len)) = touched(record) else { return Vec::new() };
        let mut found = std::mem::take(&mut self.found);
        self.cells.shared(&mut self.regions, addr, len, &mut found);
        let mut locks = Vec::new();
        for &cell in &found {
            let variable = self.variable_of(out, cell);
            locks.extend(self.variables.get(variable).and_then(|v| v.failed_update_lock));
        }
        self.found = found;
        locks
    }

    /// Adds the section after an event that reads a variable, if the variable has a lock.
    pub(super) fn check_failed_updates(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        variable: u32,
        action: Action,
    ) {
        let variable = self.variables.get(variable).filter(|_| action.checks_failed_updates());
        if let Some(lock) = variable.and_then(|v| v.failed_update_lock) {
            for event in failed_rmw::section(lock) {
                out.push_marker(at, event, at.pc);
            }
        }
    }
}
