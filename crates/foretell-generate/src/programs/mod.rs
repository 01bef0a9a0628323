//! The benchmark programs of the papers' tables, written anew: small programs with the threads,
//! locks, waits and bugs of each, run by the same machine as the families.
//!
//! The originals are not at hand, and what a table says of a program is not enough to rebuild it.
//! So each function in `java` and `pthreads` has the program's way of synchronizing (a pool, a
//! barrier, accounts with monitors, …) and its bugs, and what a table counts beyond that, accesses
//! and sections of a program's ordinary work, is added as work on objects that a thread has for
//! itself (`build`). Where the program determines a number, it comes out of the program: accounts
//! with N workers have N − 1 races. Elsewhere, the number of racy variables and of blocks that are
//! not atomic is given.

mod build;
mod java;
mod pthreads;

use foretell_trace::{Op, Trace};

use self::build::{Build, Filling};
use crate::machine;
use crate::program::{Detail, Program};
use crate::rng::Rng;

macro_rules! benchmarks {
    ($($benchmark:ident $name:literal $about:literal $code:path, $switch:literal;)*) => {
        /// A program of the papers' tables.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum Benchmark {
            $(#[doc = $about] $benchmark,)*
        }

        impl Benchmark {
            /// Every program.
            pub const ALL: &'static [Benchmark] = &[$(Benchmark::$benchmark),*];

            /// The name in the tables' data.
            pub fn name(self) -> &'static str {
                match self { $(Benchmark::$benchmark => $name,)* }
            }

            /// Description of the program in one line.
            pub fn describe(self) -> &'static str {
                match self { $(Benchmark::$benchmark => $about,)* }
            }

            fn code(self) -> fn(&mut Build) {
                match self { $(Benchmark::$benchmark => $code,)* }
            }

            /// In how many of a hundred events another thread is looked for.
            fn switch(self) -> usize {
                match self { $(Benchmark::$benchmark => $switch,)* }
            }
        }
    };
}

benchmarks! {
    Example "example" "two tasks that add to each other's value" java::example, 0;
    ExampleFixed "example-fixed" "the same with a synchronized getter" java::example_fixed, 0;
    RemoteAgent "remote-agent" "two tasks that wait for each other's events" java::remote_agent, 0;
    Pool "pool" "clients of a connection pool" java::pool, 20;
    Liveness "liveness" "workers with monitors of their own and shared ones" java::liveness, 10;
    Account "account" "accounts with a lock each and transfers that forget the other one's" java::account, 0;
    SyncBench "sync-bench" "a counter under a method's and an object's lock" java::sync_bench, 10;
    BarrierBench "barrier-bench" "a barrier made of a lock and a condition" java::barrier_bench, 0;
    Philosophers "philosophers" "philosophers whose forks are monitors" java::philosophers, 5;
    Crawler "crawler" "a pool of workers and tasks with locks of their own" java::crawler, 10;
    FileSystem "file-system" "inodes and blocks with nested locks" java::file_system, 10;
    Elevator "elevator" "lifts that claim floors" java::elevator, 5;
    Tsp "tsp" "a queue of tours and a shortest one" java::tsp, 5;
    ThreadManager "thread-manager" "workers that wait for tasks on one monitor" pthreads::thread_manager, 5;
    Atom1 "atom001" "a length that is set and used" pthreads::atom1, 0;
    Atom1Fixed "atom001a" "the same under a lock" pthreads::atom1_fixed, 0;
    Atom2 "atom002" "a log that is reopened while others write it" pthreads::atom2, 0;
    Atom2Fixed "atom002a" "the same under a lock" pthreads::atom2_fixed, 0;
    BankAv "bank-av" "transfers that mark both accounts, unprotected" pthreads::bank_av, 0;
    BankSav "bank-sav" "the same, with one of the two marks protected" pthreads::bank_sav, 0;
    BankNav "bank-nav" "the same, with both marks protected" pthreads::bank_nav, 0;
}

impl std::str::FromStr for Benchmark {
    type Err = String;

    fn from_str(name: &str) -> Result<Benchmark, String> {
        let found = Benchmark::ALL.iter().copied().find(|b| b.name() == name);
        found.ok_or_else(|| format!("no benchmark program is called `{name}`"))
    }
}

/// Counts of a program's trace in a table. A count that is not given is that of the program; what
/// is less than the program's own is not reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Threads, the first one included.
    pub threads: usize,
    /// Events in all.
    pub events: Option<usize>,
    /// Acquires and releases.
    pub lock_events: Option<usize>,
    /// Locks.
    pub locks: Option<usize>,
    /// Reads and writes.
    pub accesses: Option<usize>,
    /// Variables.
    pub variables: Option<usize>,
    /// Waits and notifications.
    pub wait_notifies: Option<usize>,
    /// Conditions.
    pub conditions: Option<usize>,
    /// Atomic blocks.
    pub blocks: Option<usize>,
    /// Variables with one race each, for programs that do not determine their races.
    pub races: usize,
    /// Blocks that are not atomic, for programs that do not determine theirs.
    pub violations: usize,
    /// Blocks that are atomic although another thread gets in their way, for all programs but those
    /// about blocks.
    pub guarded: usize,
}

/// A trace in the numbers of the tables.
pub fn measure(trace: &Trace) -> Shape {
    let count = |wanted: &[Op]| trace.ids().filter(|&e| wanted.contains(&trace.op(e))).count();
    let accesses = trace.ids().filter(|&e| trace.op(e).is_access()).count();
    Shape {
        threads: trace.thread_count(),
        events: Some(trace.len()),
        lock_events: Some(count(&[Op::Acquire, Op::Release])),
        locks: Some(trace.lock_count()),
        accesses: Some(accesses),
        variables: Some(trace.variable_count()),
        wait_notifies: Some(count(&[Op::Wait, Op::Notify, Op::NotifyAll])),
        conditions: Some(trace.condition_count()),
        blocks: Some(count(&[Op::Begin])),
        ..Shape::default()
    }
}

/// The trace of a run of the program, filled up with ordinary work to the numbers of a table.
pub fn trace(benchmark: Benchmark, shape: &Shape) -> Trace {
    let bare = run(benchmark, shape, &Filling::default());
    let filling = Filling::new(shape, &measure(&bare));
    run(benchmark, shape, &filling)
}

/// More events than any program of the tables has.
const MOST_EVENTS: usize = 1 << 18;

fn run(benchmark: Benchmark, shape: &Shape, filling: &Filling) -> Trace {
    let mut build = Build::new(shape, filling);
    benchmark.code()(&mut build);
    let mut program = Program::new(Detail::Values);
    program.file = "program.c";
    program.switch = benchmark.switch();
    program.threads = build.finish();
    machine::run(&program, MOST_EVENTS, Rng::new(benchmark as u64))
}
