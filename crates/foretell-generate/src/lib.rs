//! Generator of legal traces, for tests and benchmarks.
//!
//! A family writes a little concurrent program from a seed; a machine runs it under a random
//! schedule from the same seed, applying the rules of semantics section 1, and writes down what
//! happens. So every trace is a legal execution, and its values are those that the program read and
//! wrote. Every event has a location (`gen.c:12`), one for each statement: loops and threads that
//! run the same function repeat locations as real programs do.
//!
//! ```
//! use foretell_generate::{Family, Params, generate};
//!
//! let small = generate(Family::Inversion, &Params::small(Family::Inversion, 1));
//! assert!(small.len() <= 20);
//! let params = Params { seed: 1, events: 5000, ..Params::of(Family::Scalable) };
//! let large = generate(Family::Scalable, &params);
//! assert_eq!(large.len(), 5000);
//! assert!(foretell_trace::legality::check(&large).is_ok());
//! ```
//!
//! A family with its parameters gives an identical trace on every machine.

mod families;
mod grammar;
mod machine;
mod program;
pub mod programs;
mod rng;

use std::fmt;
use std::str::FromStr;

use foretell_trace::Trace;

pub use rng::Rng;

/// The size of a trace and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Different seeds, different programs and schedules.
    pub seed: u64,
    /// Threads, at least 1. Families that need more take more.
    pub threads: usize,
    /// Where to cut the run off. A short program may end before.
    pub events: usize,
    /// Shared variables, at least 1. Families that need more take more.
    pub variables: usize,
    /// Locks, at least 1. Families that need more take more.
    pub locks: usize,
    /// Whether accesses have values. The traces of [`Family::Symbolic`] always do.
    pub values: bool,
    /// In how many of a hundred events the schedule looks for another thread to run: 0 runs each
    /// thread as far as it can go. [`Family::Lucky`] always does that.
    pub switch: usize,
}

impl Params {
    /// Sensible defaults for a family.
    pub fn of(family: Family) -> Params {
        let (threads, events, variables, locks) = match family {
            Family::Scalable => (8, 100_000, 1000, 32),
            _ => (4, 200, 4, 3),
        };
        Params { seed: 0, threads, events, variables, locks, values: true, switch: 30 }
    }

    /// Parameters for a trace of at most 20 events with few threads, variables and locks, so that
    /// most of what happens is in conflict; how few varies with the seed.
    pub fn small(family: Family, seed: u64) -> Params {
        let mut rng = Rng::new(seed ^ 0x5eed_0f5a_11ab_1e00);
        Params {
            seed,
            threads: [2, 2, 2, 3, 3, 4][rng.below(6)],
            events: rng.between(10, 20),
            variables: [1, 1, 2, 2, 3][rng.below(5)],
            locks: [1, 2, 2, 3][rng.below(4)],
            values: family == Family::Values || rng.chance(50),
            switch: [8, 20, 40, 70][rng.below(4)],
        }
    }
}

macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal $about:literal;)*) => {
        /// A kind of program to run.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum Family {
            $(#[doc = $about] $family,)*
        }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Family] = &[$(Family::$family),*];

            /// The name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Family::$family => $name,)* }
            }

            /// Description of the family's traces in one line.
            pub fn describe(self) -> &'static str {
                match self { $(Family::$family => $about,)* }
            }
        }
    };
}

families! {
    Uniform "uniform" "any operation anywhere";
    Locks "locks" "critical sections, nested and re-entrant, some accesses outside";
    Inversion "inversion" "locks taken in unlucky orders, with and without a gate lock";
    Queue "queue" "producers and consumers with wait, notify and time-outs";
    ForkJoin "fork-join" "trees of threads that fork, work and join";
    Blocks "blocks" "atomic blocks, nested, some open at the end";
    Lucky "lucky" "one thread runs as far as it can before the next one moves";
    Mixed "mixed" "parts of all other families over the same objects";
    ReadersWriters "readers-writers" "reader-writer locks and failed try-locks";
    Sync "sync" "semaphores and barriers";
    Values "values" "few distinct values, so that many writes explain a read";
    Symbolic "symbolic" "reads into registers, computed writes and guards";
    Scalable "scalable" "workers in loops over locked objects, a few statements racy; any size";
    Waiters "waiters" "several threads that wait on one condition, one that notifies";
    Hidden "hidden" "uses of hidden state, lock downgrading, tries for the reader side, joins";
    Permits "permits" "semaphores around accesses, with one permit or several";
    Orders "orders" "atomic flags of every memory order, fences, and plain data between them";
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Family, String> {
        Family::ALL.iter().copied().find(|f| f.name() == name).ok_or_else(|| {
            let names: Vec<_> = Family::ALL.iter().map(|f| f.name()).collect();
            format!("no family of traces is called `{name}` ({})", names.join(", "))
        })
    }
}

/// Traces up to this size are run several times: the longest run is kept, so that few are lost
/// to an early deadlock.
const SHORT: usize = 64;
const ATTEMPTS: usize = 4;

/// The trace of a family with these parameters.
pub fn generate(family: Family, params: &Params) -> Trace {
    let mut rng = Rng::new(params.seed ^ ((family as u64 + 1) << 56));
    let program = families::program(family, params, &mut rng);
    let mut best = machine::run(&program, params.events, Rng::new(rng.next()));
    if params.events <= SHORT {
        for _ in 1..ATTEMPTS {
            if best.len() + 2 >= params.events {
                break;
            }
            let other = machine::run(&program, params.events, Rng::new(rng.next()));
            if other.len() > best.len() {
                best = other;
            }
        }
    }
    best
}
