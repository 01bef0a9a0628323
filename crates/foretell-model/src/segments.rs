//! Trace atomicity segments: the part of a trace in which a serializability violation of a block
//! must lie (trace-segmentation paper, section III).
//!
//! A path s → u1 → … → um → t leaves block A at its access s and comes back at a later one, t. What
//! must have run before A's first access is never after s, what runs only after A's last access is
//! never before t: no step of any path is there. The *upper frontier* says for each thread how many
//! of its events lie above the segment, the *lower frontier* where what is below begins. The
//! *static check* asks for two accesses of A that conflict with other threads' accesses in the
//! segment; without two of them there is no path.
//!
//! Departures from the paper:
//! - The vectors are those of [`MustHappenBefore`](crate::MustHappenBefore), closed under locks
//!   (semantics section 5).
//! - The lower frontier of the paper leaves out every read that is coupled below the upper
//!   frontier. Here a read counts with what it needs to run, broken or not, which is exact in that
//!   place and lets what comes after such a read be below.
//! - The refinement that the paper mentions ("shrinking it iteratively, depending on the access
//!   patterns"): only accesses of A that conflict with something in the segment can be s or t, so
//!   the first and the last one of these bound it anew, until nothing changes.
//!
//! A segment bounds the steps of a path, and nothing else: an interleaving that shows the path may
//! have to arrange what is above the segment in another order than the observed one
//! (docs/engines.md).

use foretell_trace::{EventId, ThreadId, conflict, is_visible_access};

use crate::must_happen_before::Frontier;
use crate::{BlockId, TraceModel};

/// The segment of one atomic block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// For each thread, how many of its events lie above the segment.
    pub upper: Frontier,
    /// For each thread, the position of the first event below the segment.
    pub lower: Frontier,
    /// The accesses of the block by which a path may leave it or come back, ascending.
    pub ends: Vec<EventId>,
}

impl Segment {
    /// The segment between the frontiers of a block's first and last access.
    pub fn new(trace_model: &TraceModel<'_>, block: BlockId) -> Self {
        Self::between(trace_model, block, accesses(trace_model, block))
    }

    /// The whole trace: a segment that rules nothing out.
    pub(crate) fn whole(trace_model: &TraceModel<'_>, block: BlockId) -> Self {
        let threads = trace_model.chains.thread_count();
        let ends = accesses(trace_model, block);
        Self { upper: vec![0; threads], lower: lengths(trace_model), ends }
    }

    fn between(trace_model: &TraceModel<'_>, block: BlockId, ends: Vec<EventId>) -> Self {
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let threads = chains.thread_count();
        let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else {
            return Self { upper: vec![0; threads], lower: vec![0; threads], ends };
        };
        let own = trace_model.blocks.get(block).thread;
        // A path comes back after it left, so the thread goes on after the first access, and its
        // view is preserved. What this asks for has run before it.
        let mut upper = must_happen_before.after(chains, trace, first);
        upper[own.index()] = chains.position(first);
        let end = chains.position(last);
        let below = |(t, &above): (usize, &u32)| {
            let thread = ThreadId::from_index(t);
            if thread == own {
                return end + 1;
            }
            // The needs of events only grow along a thread.
            let between = |&e: &EventId| must_happen_before.needs(chains, trace, e, own) <= end;
            (chains.events(thread).partition_point(between) as u32).max(above)
        };
        let lower = upper.iter().enumerate().map(below).collect();
        Self { upper, lower, ends }
    }

    /// The segment without what the block's accesses that conflict with nothing in it add to it.
    #[must_use]
    pub(crate) fn shrunk(mut self, trace_model: &TraceModel<'_>, block: BlockId) -> Self {
        loop {
            foretell_limit::check();
            let ends = self.conflicting(trace_model);
            if ends.len() == self.ends.len() {
                return self;
            }
            let narrowed = ends.first() != self.ends.first() || ends.last() != self.ends.last();
            self.ends = ends;
            if narrowed {
                let ends = std::mem::take(&mut self.ends);
                self = Self::between(trace_model, block, ends);
            }
        }
    }

    /// The static check: whether two accesses of the block conflict with accesses of other threads
    /// in the segment. Without two of them the block is serializable in every feasible
    /// interleaving.
    pub fn may_be_violated(&self, trace_model: &TraceModel<'_>) -> bool {
        self.conflicting(trace_model).len() > 1
    }

    fn conflicting(&self, trace_model: &TraceModel<'_>) -> Vec<EventId> {
        let conflicts = |&e: &EventId| self.conflicts(trace_model, e);
        self.ends.iter().copied().filter(conflicts).collect()
    }

    /// Whether an access of the block conflicts with an access of another thread in the segment.
    fn conflicts(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        let TraceModel { trace, chains, reads_from, .. } = trace_model;
        foretell_limit::check();
        let in_segment = |(thread, list): &(ThreadId, Vec<EventId>)| {
            let t = thread.index();
            let from = list.partition_point(|&f| chains.position(f) < self.upper[t]);
            let inside = list[from..].iter().take_while(|&&f| chains.position(f) < self.lower[t]);
            *thread != trace.thread(e) && inside.into_iter().any(|&f| conflict(trace, e, f))
        };
        trace
            .accessed_variables(e)
            .any(|x| reads_from.conflicting_by_thread(trace, e, x).iter().any(in_segment))
    }

    /// Whether an event lies between the frontiers.
    #[inline]
    pub fn contains(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        let thread = trace_model.trace.thread(e).index();
        let position = trace_model.chains.position(e);
        self.upper[thread] <= position && position < self.lower[thread]
    }

    /// Returns the number of events between the frontiers.
    pub fn size(&self) -> u64 {
        let between = self.upper.iter().zip(&self.lower);
        between.map(|(upper, lower)| u64::from(lower.saturating_sub(*upper))).sum()
    }
}

/// The accesses of a block that can take part in a finding.
fn accesses(trace_model: &TraceModel<'_>, block: BlockId) -> Vec<EventId> {
    let trace = trace_model.trace;
    let visible = |e: &EventId| is_visible_access(trace, *e);
    let events = trace_model.blocks.events(&trace_model.chains, block);
    events.iter().copied().filter(visible).collect()
}

fn lengths(trace_model: &TraceModel<'_>) -> Frontier {
    let threads = 0..trace_model.chains.thread_count();
    threads.map(|t| trace_model.chains.events(ThreadId::from_index(t)).len() as u32).collect()
}

impl TraceModel<'_> {
    /// The segment in which a path that leaves a block and comes back lies: shrunk as far as it
    /// goes, or the whole trace where segments are switched off.
    pub fn segment(&self, block: BlockId) -> Segment {
        if self.segmented {
            Segment::new(self, block).shrunk(self, block)
        } else {
            Segment::whole(self, block)
        }
    }
}

#[cfg(test)]
mod tests;
