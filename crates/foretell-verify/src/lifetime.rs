//! Lifetime violations: a block of memory, or what lies in it, is used after it was freed.

use foretell_trace::{EventId, EventKind, MemBlockId};

use crate::pattern::{Check, PatternCheck};
use crate::refusal::{Rule, describe};

impl PatternCheck<'_> {
    /// The `free` comes before the use, which is the last event, of another thread, and about the
    /// same block.
    pub(crate) fn lifetime(&self, free: EventId, used: EventId) -> Check {
        let (first, last) = (self.position(free)?, self.position(used)?);
        let EventKind::Free { block } = self.trace.event(free).kind else {
            return self.refuse(Rule::NotFree, free, "is no free");
        };
        if self.trace.variables_in(block).iter().any(|&x| self.trace.is_opaque(x)) {
            let message = "its block has a variable that unrecorded code also writes";
            return self.refuse(Rule::Opaque, free, message);
        }
        if last <= first {
            return self.refuse(Rule::Order, used, "is not after the free");
        }
        self.must_be_last(used)?;
        if self.trace.thread(free) == self.trace.thread(used) || !self.is_use(used, block) {
            let message =
                format!("is no use by another thread of what {} ends", describe(self.trace, free));
            return self.refuse(Rule::NotUse, used, message);
        }
        Ok(())
    }

    /// Whether an event is about a block: it frees the block, or is about a variable, a lock or a
    /// condition in it.
    fn is_use(&self, e: EventId, block: MemBlockId) -> bool {
        let lock_in = |lock| self.trace.block_of_lock(lock) == Some(block);
        let condition_in = |cond| self.trace.block_of_condition(cond) == Some(block);
        match self.trace.event(e).kind {
            EventKind::Read { var, .. }
            | EventKind::Write { var, .. }
            | EventKind::Update { var, .. } => self.trace.block_of_variable(var) == Some(block),
            EventKind::Free { block: other } => other == block,
            EventKind::Acquire { lock }
            | EventKind::Release { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock }
            | EventKind::TryFailedShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock } => lock_in(lock),
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => lock_in(lock) || condition_in(cond),
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => condition_in(cond),
            _ => false,
        }
    }
}
