//! The model of a trace: the facts that every feasible interleaving of its events keeps.
//!
//! [`TraceModel`] is computed once for a trace and a predictive model, in a few linear passes, and
//! then only read:
//!
//! | type | holds |
//! |---|---|
//! | [`Chains`] | threads as chains of events, forks and joins |
//! | [`ReadsFrom`] | the write that each read saw, and the others that it could see |
//! | [`Sections`] | critical sections of locks |
//! | [`Waits`], [`Counters`] | waits and their notifications; semaphores and barriers |
//! | [`Blocks`] | atomic blocks |
//! | [`MustHappenBefore`] | the events that have run before an event in every interleaving |
//! | [`HappensBefore`] | synchronisation: of the recorded run, and of every interleaving |
//! | [`Segment`] | the part of the trace in which a violation of a block must lie |

mod blocks;
mod chains;
mod locks;
mod must_happen_before;
mod reads_from;
mod reduction;
mod segments;
mod transactions;
mod waits;

#[cfg(test)]
mod testing;

use std::sync::OnceLock;

use foretell_trace::{EventId, Model, Trace};
use must_happen_before::Row;

pub use blocks::{Block, BlockId, Blocks};
pub use chains::Chains;
pub use locks::{Section, SectionId, Sections};
pub use must_happen_before::{Frontier, HappensBefore, MustHappenBefore};
pub use reads_from::ReadsFrom;
pub use segments::Segment;
pub use waits::{Counters, Wait, WaitId, Waits};

/// The model of one trace under one predictive model: all that analyses and engines ask about it.
#[derive(Debug)]
pub struct TraceModel<'t> {
    /// The trace.
    pub trace: &'t Trace,
    /// The predictive model.
    pub model: Model,
    /// Threads as chains of events, forks and joins.
    pub chains: Chains,
    /// Reads and the writes they may see.
    pub reads_from: ReadsFrom,
    /// Critical sections.
    pub locks: Sections,
    /// Waits and notifications.
    pub waits: Waits,
    /// Semaphores and barriers.
    pub counters: Counters,
    /// Atomic blocks.
    pub blocks: Blocks,
    /// Must-happen-before.
    pub must_happen_before: MustHappenBefore,
    /// Number of events of the longest feasible prefix of the trace. A try-lock that failed
    /// although no thread kept it from the lock is legal in a trace, but ends its thread where
    /// nothing else makes it fail.
    pub feasible_prefix: u32,
    /// Whether questions about a block look only at its segment.
    pub segmented: bool,
    /// The answer of [`TraceModel::has_serial_transactions`], once it was asked for.
    serial_transactions: OnceLock<bool>,
    /// Happens-before, once it was asked for.
    observed_order: OnceLock<HappensBefore>,
    common_order: OnceLock<HappensBefore>,
    /// The answer of [`TraceModel::may_leave_open`], once it was asked for.
    leaves_open: OnceLock<bool>,
    /// Kinds of accesses, for [`TraceModel::is_reducible`], once they were asked for.
    kinds: OnceLock<reduction::Kinds>,
    /// The answer of [`TraceModel::irreducible_transactions`], once it was asked for.
    irreducible: OnceLock<Vec<BlockId>>,
}

impl<'t> TraceModel<'t> {
    /// Computes the model of a legal trace.
    pub fn new(trace: &'t Trace, model: Model) -> Self {
        let chains = Chains::new(trace);
        let reads_from = ReadsFrom::new(trace, model);
        let locks = Sections::new(trace, &chains);
        let waits = Waits::new(trace);
        let counters = Counters::new(trace);
        let blocks = Blocks::new(trace, &chains);
        let must_happen_before = MustHappenBefore::new(trace, &chains, &reads_from, &locks);
        let infeasible = trace.ids().filter(|&e| trace.op(e).is_failed_try()).find(|&e| {
            let Some((lock, _)) = trace.event(e).kind.failed_try() else { return false };
            !locks.open_at(lock, e.0).iter().any(|&s| locks.makes_fail(trace, s, e))
        });
        let feasible_prefix = infeasible.map_or(trace.len() as u32, |e| e.0);
        Self {
            trace,
            model,
            chains,
            reads_from,
            locks,
            waits,
            counters,
            blocks,
            must_happen_before,
            feasible_prefix,
            segmented: true,
            serial_transactions: OnceLock::new(),
            observed_order: OnceLock::new(),
            common_order: OnceLock::new(),
            leaves_open: OnceLock::new(),
            kinds: OnceLock::new(),
            irreducible: OnceLock::new(),
        }
    }
}

impl TraceModel<'_> {
    /// Returns the model with questions about a block limited to its segment, or not.
    #[must_use]
    pub fn with_segments(self, segmented: bool) -> Self {
        Self { segmented, ..self }
    }

    /// Whether happens-before can leave two accesses unordered although they are never both next
    /// (semantics section 3b).
    pub fn may_leave_open(&self) -> bool {
        *self.leaves_open.get_or_init(|| must_happen_before::may_leave_open(self))
    }

    /// Happens-before of the recorded run.
    pub fn observed_order(&self) -> &HappensBefore {
        self.observed_order.get_or_init(|| HappensBefore::observed(self))
    }

    /// The part of happens-before that every feasible interleaving has, as far as it is known.
    pub fn common_order(&self) -> &HappensBefore {
        self.common_order.get_or_init(|| HappensBefore::always(self))
    }

    /// Whether an event is a use of hidden state: an update of an opaque variable.
    #[inline]
    pub fn uses_hidden_state(&self, e: EventId) -> bool {
        reads_from::uses_hidden_state(self.trace, e)
    }

    /// Whether an interleaving that has run the first `counts` events of each thread needs `e`, one
    /// of them, to be intact: its thread goes on, or is joined, or the event is a use of hidden
    /// state. An interleaving with a use of hidden state that is broken shows nothing that it would
    /// not show without that use, so there is no need to look at one.
    pub fn is_relied_on(&self, e: EventId, counts: &[u32]) -> bool {
        let (trace, chains) = (self.trace, &self.chains);
        let (thread, count) = (trace.thread(e), chains.position(e) + 1);
        let has_run = |j: &EventId| chains.position(*j) < counts[trace.thread(*j).index()];
        count < counts[thread.index()]
            || self.uses_hidden_state(e)
            || count as usize == chains.events(thread).len()
                && chains.joins(thread).iter().any(has_run)
    }

    /// The frontier that every feasible interleaving has reached in which all of `next` are
    /// next events of their threads, closed under the locks that those threads then hold; `None`
    /// if there is no such interleaving.
    pub fn frontier_of_next(&self, next: &[EventId]) -> Option<must_happen_before::Frontier> {
        let row = self.row_of_next(next)?;
        Some(self.must_happen_before.by_thread(&row))
    }

    /// Whether some frontier is one that [`TraceModel::frontier_of_next`] returns.
    pub fn can_be_next(&self, next: &[EventId]) -> bool {
        let (trace, order) = (self.trace, &self.must_happen_before);
        let has_run = |&a: &EventId| {
            next.iter().any(|&b| a != b && order.run_before_next(&self.chains, trace, a, b))
        };
        if next.iter().any(has_run) {
            return false;
        }
        // Where no lock is held, there is nothing else to know.
        next.iter().all(|&e| self.locks.held_before(e).is_empty())
            || self.row_of_next(next).is_some()
    }

    /// [`TraceModel::frontier_of_next`] by column.
    fn row_of_next(&self, next: &[EventId]) -> Option<Row> {
        let (trace, chains) = (self.trace, &self.chains);
        let mut row = vec![0; chains.columns().count()];
        for &e in next {
            self.must_happen_before.include_row(&mut row, trace.thread(e), chains.position(e));
        }
        let mut grew = true;
        while grew {
            grew = false;
            for &e in next {
                foretell_limit::check();
                for &section in self.locks.held_before(e) {
                    foretell_limit::check();
                    grew |= must_happen_before::leave_others(
                        chains,
                        &self.locks,
                        &self.must_happen_before,
                        section,
                        &mut row,
                    );
                }
                if row[chains.column(trace.thread(e))] > chains.column_position(trace, e) {
                    return None;
                }
            }
        }
        let exclusive = next
            .iter()
            .all(|&e| self.locks.held_before(e).iter().all(|&s| !self.held_by_another(s, &row)));
        exclusive.then_some(row)
    }

    /// Whether a frontier is inside another section that excludes `section`.
    fn held_by_another(&self, section: SectionId, row: &[u32]) -> bool {
        let own = self.locks.get(section);
        let place = |s: &Section, e: EventId| {
            self.chains.columns().position(s.thread, self.chains.position(e))
        };
        self.locks.of_lock_by_column(own.lock).iter().any(|(column, list)| {
            let count = row[*column];
            let entered = list.partition_point(|&s| {
                let section = self.locks.get(s);
                place(section, section.enter) < count
            });
            let last = list[..entered].iter().rev().map(|&s| self.locks.get(s));
            // Sections of a column follow each other: the last one that excludes tells.
            let open = last
                .into_iter()
                .find(|s| !(s.shared && own.shared))
                .is_some_and(|s| s.exit.is_none_or(|exit| place(s, exit) >= count));
            open && *column != self.chains.column(own.thread)
        })
    }
}
