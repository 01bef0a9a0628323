//! Tries to take a semaphore that failed.
//!
//! The model has no event for them. What such a try saw is that the count was zero: it becomes a read of a
//! variable, and everybody who changes the count updates that variable, before a `post` and after a `down`. The
//! variable is opaque, so these keep the order that they were recorded in: where the try runs, no further post and
//! every earlier down has run, and the count is zero again. A try that runs without one of the
//! changes before it may see something else: its read is broken. This is sound, and keeps the operations on that
//! semaphore in their order; semaphores that nobody tries in vain do not pay for it.
//! In a symbolic trace the variable is a number, and the try a condition that it is zero.

use foretell_trace::{EventKind, Value, VarId};

use super::{At, Translation};

impl Translation<'_> {
    /// The count of a semaphore, if somebody tried to take it in vain.
    fn count_of(&mut self, object: u64) -> Option<VarId> {
        let key = self.object(object);
        if !self.survey.tried.contains(&key) {
            return None;
        }
        let sem = self.semaphore(object, None);
        if let Some(&var) = self.counts.get(&sem) {
            return Some(var);
        }
        let name = format!("count of {}", self.builder.trace().semaphore_name(sem));
        let var = self.builder.variable(&name);
        self.builder.set_opaque(var);
        if self.symbolic.is_some() {
            let count = self.builder.trace().initial_count(sem);
            let count = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
            let count = self.builder.values().intern(count);
            self.builder.set_initial_value(var, count);
        }
        self.counts.insert(sem, var);
        Some(var)
    }

    /// The count changes with the `post` that follows, or has changed with the `down` before.
    pub(super) fn count_changes(&mut self, at: &At<'_>, object: u64, by: i64) {
        let Some(var) = self.count_of(object) else { return };
        if self.symbolic_count(at, var, Some(by)) {
            return self.observes(at.thread, true);
        }
        let update = EventKind::Update { var, old: None, new: None, register: None, expr: None };
        self.push_marker(at, update, at.pc);
        self.observes(at.thread, true);
    }

    /// The count was seen to be zero.
    pub(super) fn tried_in_vain(&mut self, at: &At<'_>, object: u64) {
        let Some(var) = self.count_of(object) else { return };
        if self.symbolic_count(at, var, None) {
            return;
        }
        self.push(at, EventKind::Read { var, atomic: true, value: None, register: None });
    }
}
