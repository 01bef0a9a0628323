//! Filters: cheap proofs that a candidate is impossible, shared by the analyses.
//!
//! A filter may only drop a candidate that no feasible interleaving shows; what it leaves, an
//! engine decides. Each can be switched off, and the findings must not change.
//!
//! - *Locksets*: two accesses under a common lock are never next at the same time; an access under
//!   a lock never comes between two accesses of one section of that lock.
//! - *Acquisition histories* (Kahlon and Gupta; the race-witness paper's first phase): thread one
//!   holds l and has taken m since, thread two holds m and has taken l since. Each one's
//!   inner section had to come before the other's outer one.
//! - *Static check* (trace-segmentation paper): in the segment of a block nothing conflicts with
//!   two of its accesses, so no path leaves it and comes back.
//! - *Must-happen-before*: one of the events has run whenever the other one is next, or the
//!   frontier that all of them need cannot be reached.

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, Model, VarId};

use crate::analyses::Candidate;
use crate::engines::writers::FinalWrites;
use crate::reachability::Reach;

/// Which filters are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filters {
    /// Common locks.
    pub locksets: bool,
    /// Acquisition histories.
    pub histories: bool,
    /// Must-happen-before.
    pub must_happen_before: bool,
    /// The static check of a block's segment.
    pub static_check: bool,
    /// Paths and cycles that must-happen-before and locks rule out.
    pub reachability: bool,
}

impl Default for Filters {
    fn default() -> Self {
        Self {
            locksets: true,
            histories: true,
            must_happen_before: true,
            static_check: true,
            reachability: true,
        }
    }
}

/// The filter that dropped a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// A common lock.
    Lockset,
    /// Acquisition histories.
    History,
    /// Must-happen-before.
    Must,
    /// The static check.
    Static,
    /// No path or cycle.
    Reachability,
}

impl Filters {
    /// No filter at all.
    pub const NONE: Filters = Filters {
        locksets: false,
        histories: false,
        must_happen_before: false,
        static_check: false,
        reachability: false,
    };

    /// The filter that proves a candidate impossible, if one does.
    pub fn drop(&self, trace_model: &TraceModel<'_>, candidate: &Candidate) -> Option<Dropped> {
        match candidate {
            Candidate::Race(a, b) => self.next(trace_model, &[*a, *b]),
            Candidate::Unordered(a, b) => self.unordered(trace_model, *a, *b),
            Candidate::Deadlock(acquires) => self.next(trace_model, acquires),
            // Before there are groups: `stuck` drops the events that never wait for ever.
            Candidate::Hang(..) => None,
            Candidate::Lifetime(free, used) => {
                let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
                let ordered = must_happen_before.ordered_before(chains, trace, *used, *free);
                (self.must_happen_before && ordered).then_some(Dropped::Must)
            }
            Candidate::Atomicity(c, r, c2) => self.between(trace_model, *c, *r, *c2),
            Candidate::Serializability(block) => {
                if self.static_check && !trace_model.segment(*block).may_be_violated(trace_model) {
                    return Some(Dropped::Static);
                }
                let unreachable = self.reachability
                    && (trace_model.is_reducible(*block)
                        || Reach::around(trace_model, *block, false).is_empty());
                unreachable.then_some(Dropped::Reachability)
            }
            Candidate::Transactions(block) => {
                let unreachable = self.reachability
                    && (trace_model.irreducible_transactions().is_empty()
                        || trace_model.has_serial_transactions()
                        || Reach::around(trace_model, *block, true).is_empty());
                unreachable.then_some(Dropped::Reachability)
            }
            Candidate::NondeterministicRead(read) => (self.must_happen_before
                && !has_challenger(trace_model, *read))
            .then_some(Dropped::Must),
            Candidate::FinalValue(write, x) => (self.must_happen_before
                && is_always_final(trace_model, *write, *x))
            .then_some(Dropped::Must),
        }
    }

    /// The filter that proves impossible every pair of two classes of accesses, given one: only
    /// what the members of a class have in common may count.
    pub(crate) fn drop_class(
        &self,
        trace_model: &TraceModel<'_>,
        candidate: &Candidate,
    ) -> Option<Dropped> {
        let locksets = Filters { locksets: self.locksets, ..Filters::NONE };
        locksets.drop(trace_model, candidate)
    }

    /// Events that are all next at the same time.
    fn next(&self, trace_model: &TraceModel<'_>, events: &[EventId]) -> Option<Dropped> {
        for (i, &a) in events.iter().enumerate() {
            for &b in &events[i + 1..] {
                foretell_limit::check();
                if self.locksets && common_lock(trace_model, a, b, true) {
                    return Some(Dropped::Lockset);
                }
                if self.histories && crossed_histories(trace_model, a, b) {
                    return Some(Dropped::History);
                }
            }
        }
        (self.must_happen_before && !trace_model.can_be_next(events)).then_some(Dropped::Must)
    }

    /// Two events that have run, in whatever order. Of two sections of one lock, the end of the
    /// earlier one happens before the start of the later one.
    fn unordered(&self, trace_model: &TraceModel<'_>, a: EventId, b: EventId) -> Option<Dropped> {
        if self.locksets && common_lock(trace_model, a, b, false) {
            return Some(Dropped::Lockset);
        }
        let ordered = |a, b| trace_model.common_order().ordered(trace_model, a, b);
        (self.must_happen_before && (ordered(a, b) || ordered(b, a))).then_some(Dropped::Must)
    }

    /// r between c and c'.
    fn between(
        &self,
        trace_model: &TraceModel<'_>,
        c: EventId,
        r: EventId,
        c2: EventId,
    ) -> Option<Dropped> {
        let TraceModel { trace, chains, must_happen_before, locks, .. } = trace_model;
        let spans = |s: &&SectionId| locks.held_before(c2).contains(s);
        if self.locksets && locks.held_before(c).iter().filter(spans).any(|&s| locks.excludes(s, r))
        {
            return Some(Dropped::Lockset);
        }
        let ordered = must_happen_before.ordered_before(chains, trace, r, c)
            || must_happen_before.ordered_before(chains, trace, c2, r);
        (self.must_happen_before && ordered).then_some(Dropped::Must)
    }
}

/// Whether a lock keeps two events apart; `order_only`: or one that synchronises nothing.
fn common_lock(trace_model: &TraceModel<'_>, a: EventId, b: EventId, order_only: bool) -> bool {
    let TraceModel { trace, locks, .. } = trace_model;
    locks
        .held_before(a)
        .iter()
        .any(|&s| (order_only || !trace.is_order_only(locks.get(s).lock)) && locks.excludes(s, b))
}

/// Whether each thread took, inside a section it still holds, the lock that the other one holds.
fn crossed_histories(trace_model: &TraceModel<'_>, a: EventId, b: EventId) -> bool {
    let locks = &trace_model.locks;
    let held_by_a = locks.held_before(a);
    let held_by_b = locks.held_before(b);
    held_by_a.iter().any(|&s| {
        held_by_b
            .iter()
            .any(|&t| took_since(trace_model, s, a, t) && took_since(trace_model, t, b, s))
    })
}

/// Whether the thread that holds `held` until `now` has taken the lock of `other` meanwhile, in a
/// mode that excludes.
fn took_since(
    trace_model: &TraceModel<'_>,
    held: SectionId,
    now: EventId,
    other: SectionId,
) -> bool {
    let TraceModel { trace, chains, locks, .. } = trace_model;
    let (held, other) = (locks.get(held), locks.get(other));
    let sections = locks.of_lock_by_thread(other.lock).iter();
    let Some((_, list)) = sections.into_iter().find(|(t, _)| *t == trace.thread(now)) else {
        return false;
    };
    let from = list.partition_point(|&s| locks.get(s).enter <= held.enter);
    list[from..]
        .iter()
        .map(|&s| locks.get(s))
        .take_while(|s| chains.position(s.enter) < chains.position(now))
        .any(|s| !(s.shared && other.shared))
}

/// Whether all last writes of other threads that may leave another value come before `write`.
fn is_always_final(trace_model: &TraceModel<'_>, write: EventId, x: VarId) -> bool {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let others = FinalWrites::besides(trace_model, write, x).differing;
    others.iter().all(|&w| must_happen_before.ordered_before(chains, trace, w, write))
}

/// Whether a read can see something else by must-happen-before: a write, or the initial value, that
/// does not preserve it, that can come before it, and that no write which always comes in between
/// hides. In the symbolic model what a write writes is not known in advance, so there the answer is
/// always yes.
fn has_challenger(trace_model: &TraceModel<'_>, read: EventId) -> bool {
    let TraceModel { trace, chains, must_happen_before, reads_from, .. } = trace_model;
    if trace_model.model == Model::Symbolic {
        return true;
    }
    let Some(x) = trace.variable(read) else { return false };
    let before = |a: EventId, b: EventId| must_happen_before.ordered_before(chains, trace, a, b);
    let breaks = |w: Option<EventId>| !reads_from.preserves(trace, read, w);
    let thread = trace.thread(read);
    let own = reads_from.own_write(trace, read);
    let observed = reads_from.observed(read).filter(|&w| before(w, read));
    let hidden = observed.is_some_and(|w| own.is_none_or(|own| own == w || before(own, w)));
    if !hidden && breaks(own) {
        return true;
    }
    reads_from.writes_by_thread(x).iter().filter(|(t, _)| *t != thread).any(|(t, list)| {
        // A write that always comes before the read hides all that come before it.
        let hiding = own.into_iter().chain(observed);
        let from =
            hiding.map(|w| must_happen_before.needs(chains, trace, w, *t)).max().unwrap_or(0);
        let to = must_happen_before.first_after(chains, trace, read, *t).unwrap_or(u32::MAX);
        let first = list.partition_point(|&e| chains.position(e) < from);
        list[first..].iter().take_while(|&&e| chains.position(e) < to).any(|&w| {
            // An update that would preserve the read may be broken itself.
            breaks(Some(w)) || trace.op(w).reads()
        })
    })
}
