//! The analyses of semantics section 3, one file each. An analysis enumerates candidates and says
//! what to ask about them; it decides nothing.

mod atomicity;
mod deadlock;
mod hang;
mod lifetime;
mod nondeterminism;
mod race;
mod serializability;
mod transactions;
mod unordered;

use foretell_model::{BlockId, TraceModel};
use foretell_trace::{EventId, FindingKind, VarId};

use crate::query::Query;

pub(crate) use deadlock::Circles;
pub(crate) use unordered::recorded_witness;

/// A possible finding: the events or the block that an analysis asks about.
///
/// Three types stand for a bug on its way from a suspicion to a report:
///
/// | type | made by | holds |
/// |---|---|---|
/// | `Candidate` | an analysis | the events, or the block, that may be a finding |
/// | [`Goal`] | [`Candidate::query`] | a condition on an interleaving, of no one kind |
/// | [`Pattern`] | [`Finding::new`] | the claim that the checker verifies, events and roles |
///
/// The candidate of a block does not name the path that its pattern has: the engine finds it.
///
/// [`Goal`]: crate::query::Goal
/// [`Pattern`]: foretell_verify::Pattern
/// [`Finding::new`]: crate::finding::Finding::new
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Candidate {
    /// Two accesses, the earlier in the trace first.
    Race(EventId, EventId),
    /// Two accesses that memory orders may leave unordered, the earlier in the trace first.
    Unordered(EventId, EventId),
    /// c, r, c'.
    Atomicity(EventId, EventId, EventId),
    /// A block.
    Serializability(BlockId),
    /// An outermost block.
    Transactions(BlockId),
    /// A read or update.
    NondeterministicRead(EventId),
    /// The observed last write of a variable.
    FinalValue(EventId, VarId),
    /// Acquires, ascending.
    Deadlock(Vec<EventId>),
    /// An event that waits for a notification, a semaphore or a barrier, and sets of blocked events
    /// with it that are known already.
    Hang(EventId, Vec<Vec<EventId>>),
    /// The `free` of a block, and a use of the block.
    Lifetime(EventId, EventId),
}

impl Candidate {
    /// Returns the kind of finding it may be.
    pub fn kind(&self) -> FindingKind {
        match self {
            Candidate::Race(..) | Candidate::Unordered(..) => FindingKind::Race,
            Candidate::Atomicity(..) => FindingKind::Atomicity,
            Candidate::Serializability(..) => FindingKind::Serializability,
            Candidate::Transactions(..) => FindingKind::Transactions,
            Candidate::NondeterministicRead(..) | Candidate::FinalValue(..) => {
                FindingKind::Nondeterminism
            }
            Candidate::Deadlock(..) => FindingKind::Deadlock,
            Candidate::Hang(..) => FindingKind::Hang,
            Candidate::Lifetime(..) => FindingKind::Lifetime,
        }
    }

    /// Returns the query that decides it.
    pub fn query(&self) -> Query {
        match self {
            Candidate::Race(a, b) => race::query(*a, *b),
            Candidate::Unordered(a, b) => unordered::query(*a, *b),
            Candidate::Atomicity(c, r, c2) => atomicity::query(*c, *r, *c2),
            Candidate::Serializability(b) => serializability::query(*b),
            Candidate::Transactions(b) => transactions::query(*b),
            Candidate::NondeterministicRead(r) => nondeterminism::query_read(*r),
            Candidate::FinalValue(w, x) => nondeterminism::query_final(*w, *x),
            Candidate::Deadlock(acquires) => deadlock::query(acquires),
            Candidate::Hang(root, known) => hang::query(*root, known),
            Candidate::Lifetime(free, used) => lifetime::query(*free, *used),
        }
    }
}

/// Returns every candidate for a kind of finding, in a fixed order.
pub fn candidates(trace_model: &TraceModel<'_>, kind: FindingKind) -> Vec<Candidate> {
    match kind {
        // Nothing to predict: the trace says it.
        FindingKind::Observed => Vec::new(),
        FindingKind::Race => race::candidates(trace_model),
        FindingKind::Atomicity => atomicity::candidates(trace_model),
        FindingKind::Serializability => serializability::candidates(trace_model),
        FindingKind::Transactions => transactions::candidates(trace_model),
        FindingKind::Nondeterminism => nondeterminism::candidates(trace_model),
        FindingKind::Deadlock => deadlock::candidates(trace_model),
        FindingKind::Hang => hang::candidates(trace_model),
        FindingKind::Lifetime => lifetime::candidates(trace_model),
    }
}
