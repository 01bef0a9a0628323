//! Compare-and-exchanges that failed.
//!
//! Such an *attempt* is a read. If it is broken it may in truth have succeeded, and written; the trace has no event for that.
//! Its thread goes no further, but the others would see what was written. So each variable that somebody attempted to
//! exchange in vain gets a lock, held around every attempt together with the guards on what it saw. Every other event that
//! reads the variable, plain or atomic, is followed by an empty section of that lock:
//! - A thread that is stopped by its attempt, by a broken read or a guard that is false, holds the lock for good. Who reads the
//!   variable after that may see something else than in the trace: it runs, and goes no further, as after a broken
//!   read. So the attempt can be in the middle of a finding, and an update of the variable that comes next in its end.
//! - Who only writes depends on nothing that it sees there, and goes on. (Who reads what it wrote is right, and stopped all the
//!   same: missed, not false.)
//! - An attempt that fails again changes nothing: its section can run in one go, and others can pass before or after it. Every
//!   interleaving in which no attempt is broken is still there.
//!
//! An attempt on several variables holds all their locks: it would write them all. They are taken in the order of their
//! addresses, and a thread waits for no other lock while it holds one of them, so they are in no deadlock. No access but
//! attempts is inside a section, and two attempts do not race, so they hide no race. Blocks made of lock scopes
//! come from what the program locks, which these are not. What nobody attempts in vain does not pay for any of this.
//!
//! Tries to take a semaphore (`counts`) and try-locks that fail need no such lock: they are part of no finding, and
//! one that is broken ends its thread, so what is found with it is found without it.

use foretell_rt_format::Record;
use foretell_trace::{EventKind, LockId};

use super::{Action, At, Translation};
use crate::survey::touched;

impl Translation<'_> {
    /// The lock of the attempts on a variable.
    pub(super) fn attempts_lock(&mut self, name: &str) -> LockId {
        self.builder.lock(&format!("attempts at {name}"))
    }

    /// A compare-and-exchange that failed.
    pub(super) fn attempt(&mut self, at: &At<'_>, record: &Record<'_>) {
        let locks = self.attempted(record);
        for &lock in &locks {
            self.push_marker(at, EventKind::Acquire { lock }, at.pc);
        }
        self.access(at, record);
        for &lock in locks.iter().rev() {
            self.push_marker(at, EventKind::Release { lock }, at.pc);
        }
    }

    /// The locks of what an attempt is on, by address.
    fn attempted(&mut self, record: &Record<'_>) -> Vec<LockId> {
        let Some((addr, len)) = touched(record) else { return Vec::new() };
        let mut found = std::mem::take(&mut self.found);
        self.survey.granules.shared(&mut self.regions, addr, len, &mut found);
        let mut locks = Vec::new();
        for &granule in &found {
            let variable = self.variable_of(granule);
            locks.extend(self.variables.get(variable as usize).and_then(|v| v.attempts));
        }
        self.found = found;
        locks
    }

    /// The section after an event that reads a variable, if that has a lock.
    pub(super) fn pass_attempts(&mut self, at: &At<'_>, variable: u32, action: Action) {
        let passes = matches!(action, Action::Read | Action::Update);
        let variable = self.variables.get(variable as usize).filter(|_| passes);
        if let Some(lock) = variable.and_then(|v| v.attempts) {
            self.push_marker(at, EventKind::Acquire { lock }, at.pc);
            self.push_marker(at, EventKind::Release { lock }, at.pc);
        }
    }
}
