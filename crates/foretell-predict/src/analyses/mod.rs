//! The analyses of semantics section 3, one file each. An analysis enumerates candidates and says
//! what to ask about them; it decides nothing.

pub mod atomicity;
pub mod deadlock;
pub mod nondeterminism;
pub mod race;
pub mod serializability;
pub mod transactions;

use std::fmt;
use std::str::FromStr;

use foretell_model::{BlockId, Structure};
use foretell_trace::EventId;

use crate::query::Query;

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Analysis {
    /// Two conflicting accesses can be next at the same time.
    Race,
    /// An access of another thread can come between two accesses of an atomic block.
    Atomicity,
    /// A path of conflicts can leave an atomic block and come back.
    Serializability,
    /// Blocks can depend on each other in a circle.
    Transactions,
    /// A read, or a final value, can be another one.
    Nondeterminism,
    /// Threads can wait for each other's locks.
    Deadlock,
}

impl Analysis {
    /// Every analysis, in the order of reports.
    pub const ALL: [Analysis; 6] = [
        Analysis::Race,
        Analysis::Atomicity,
        Analysis::Serializability,
        Analysis::Transactions,
        Analysis::Nondeterminism,
        Analysis::Deadlock,
    ];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Analysis::Race => "race",
            Analysis::Atomicity => "atomicity",
            Analysis::Serializability => "serializability",
            Analysis::Transactions => "transactions",
            Analysis::Nondeterminism => "nondeterminism",
            Analysis::Deadlock => "deadlock",
        }
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Analysis {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Analysis::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| {
            let names = Analysis::ALL.map(Analysis::name).join(", ");
            format!("no analysis is called `{name}` ({names})")
        })
    }
}

/// Something that may be a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Candidate {
    /// Two accesses, the earlier in the trace first.
    Race(EventId, EventId),
    /// c, r, c'.
    Atomicity(EventId, EventId, EventId),
    /// A block.
    Serializability(BlockId),
    /// An outermost block.
    Transactions(BlockId),
    /// A read or update.
    NondeterministicRead(EventId),
    /// The observed last write of a variable.
    FinalValue(EventId),
    /// Acquires, ascending.
    Deadlock(Vec<EventId>),
}

impl Candidate {
    /// The analysis it belongs to.
    pub fn analysis(&self) -> Analysis {
        match self {
            Candidate::Race(..) => Analysis::Race,
            Candidate::Atomicity(..) => Analysis::Atomicity,
            Candidate::Serializability(..) => Analysis::Serializability,
            Candidate::Transactions(..) => Analysis::Transactions,
            Candidate::NondeterministicRead(..) | Candidate::FinalValue(..) => {
                Analysis::Nondeterminism
            }
            Candidate::Deadlock(..) => Analysis::Deadlock,
        }
    }

    /// What to ask an engine.
    pub fn query(&self) -> Query {
        match self {
            Candidate::Race(a, b) => race::query(*a, *b),
            Candidate::Atomicity(c, r, c2) => atomicity::query(*c, *r, *c2),
            Candidate::Serializability(b) => serializability::query(*b),
            Candidate::Transactions(b) => transactions::query(*b),
            Candidate::NondeterministicRead(r) => nondeterminism::query_read(*r),
            Candidate::FinalValue(w) => nondeterminism::query_final(*w),
            Candidate::Deadlock(acquires) => deadlock::query(acquires),
        }
    }
}

/// Every candidate of an analysis, in a fixed order.
pub fn candidates(structure: &Structure<'_>, analysis: Analysis) -> Vec<Candidate> {
    match analysis {
        Analysis::Race => race::candidates(structure),
        Analysis::Atomicity => atomicity::candidates(structure),
        Analysis::Serializability => serializability::candidates(structure),
        Analysis::Transactions => transactions::candidates(structure),
        Analysis::Nondeterminism => nondeterminism::candidates(structure),
        Analysis::Deadlock => deadlock::candidates(structure),
    }
}
