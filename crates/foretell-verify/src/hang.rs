//! Hangs: a state in which every thread waits for ever or has ended.

use foretell_trace::{EventId, EventKind, ThreadId};

use crate::pattern::{Check, PatternCheck};
use crate::refusal::{Refusal, Rule};
use crate::run::Run;

impl PatternCheck<'_> {
    /// The schedule cuts no thread. `blocked` are the next events of all threads that have one, and
    /// each of them waits for another thread; all other threads have ended in the trace.
    pub(crate) fn hang(&self, blocked: &[EventId]) -> Check {
        for (i, &e) in blocked.iter().enumerate() {
            if e.index() >= self.trace.len() {
                return self.refuse(Rule::NoSuchEvent, e, "is not in the trace");
            }
            if blocked[..i].contains(&e) {
                return self.refuse(Rule::Twice, e, "is there twice");
            }
            if self.run.pending(self.trace.thread(e)) != Some(e) {
                let message = "is not the next event of a thread that is started and not cut";
                return self.refuse(Rule::NotPending, e, message);
            }
        }
        if let Some(broken) = self.run.broken().next() {
            return self.refuse(Rule::Broken, broken, "is broken");
        }
        for t in (0..self.trace.thread_count()).map(ThreadId::from_index) {
            match self.run.pending(t) {
                Some(e) if !blocked.contains(&e) => {
                    let message = "is the next event of its thread, and not part of the hang";
                    return self.refuse(Rule::Incomplete, e, message);
                }
                None if !self.trace.has_ended(t) => {
                    let name = self.trace.thread_name(t);
                    let message = format!("the trace does not say that {name} has ended");
                    return Err(Refusal::whole(Rule::NotEnded, message));
                }
                _ => {}
            }
        }
        if !self.trace.knows_ended() {
            let message = "the trace does not say which threads have ended";
            return Err(Refusal::whole(Rule::NotEnded, message));
        }
        self.must_wait(blocked)
    }

    /// Each of these next events waits for another thread, and one of them neither for a lock nor
    /// for the end of a thread. A `woken` whose lock is free waits only if no notify picks it.
    fn must_wait(&self, blocked: &[EventId]) -> Check {
        let is_free = |e: &EventId| match self.trace.event(*e).kind {
            EventKind::Woken { lock, .. } => self.run.is_free(lock),
            _ => false,
        };
        let staying: Vec<EventId> = blocked.iter().copied().filter(is_free).collect();
        let context = (self.model, self.observed);
        let refusals = Run::blocked(self.trace, context, self.schedule, (blocked, &staying))?;
        for (&e, refusal) in blocked.iter().zip(&refusals) {
            if refusal.is_none() {
                return self.refuse(Rule::NotBlocked, e, "waits for no other thread");
            }
        }
        let is_root = |&e: &EventId| {
            let kind = self.trace.event(e).kind;
            matches!(
                kind,
                EventKind::Woken { .. } | EventKind::Down { .. } | EventKind::Leave { .. }
            )
        };
        if !blocked.iter().any(is_root) {
            let message = "no thread waits for a notification, a semaphore or a barrier";
            return Err(Refusal::whole(Rule::NoRoot, message));
        }
        Ok(())
    }
}
