//! Exploration: every behaviour of a program, not only that of one run.
//!
//! A run predicts what its own events can do. What a thread does after it has observed something
//! else is unknown until the program has been there. So the exploration predicts, for each event of
//! a run that observes state and each other observation that some feasible interleaving gives it,
//! such an interleaving (a [`Lead`]); drives the program along it; records the rest; and starts
//! again with the new run. This is maximal causality reduction (Huang, PLDI 2015) with the value
//! model and the exact engine of `foretell-predict` as its oracle.
//!
//! Two cuts of the program are the same if every thread has the same *history* (`history.rs`). A
//! lead is followed only if no recorded run and no other lead begins with its histories, so no two runs
//! have the same histories. For each other observation, the leads keep as much of what the other
//! threads observed as possible, in every way in which that can be done (`leads`): an execution
//! that no run shows then has a longest beginning that some run shows, and a lead of that run goes
//! one event further. Where nothing is left to follow, every execution has been seen.
//!
//! The crate knows nothing of processes: whatever can run along a sequence of events and returns a
//! trace ([`Program`]) can be explored.

mod execution;
mod explore;
mod frontier;
mod history;
mod leads;
mod search;

use std::fmt;
use std::sync::Arc;

use foretell_trace::{EventId, ThreadId, Trace};

pub use explore::{Exploration, Explorer, Options, Progress, explore};

/// A program that can be driven.
pub trait Program {
    /// Failure to run the program at all, which ends the exploration.
    type Error;

    /// Runs the program along the events of an earlier run, then freely. `None`: freely from the
    /// start.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn run(&mut self, lead: Option<&Lead>) -> Result<Ended, Self::Error>;
}

/// A sequence of events to drive the program along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lead {
    /// Number of the run, from 0, whose events these are.
    pub run: usize,
    /// The events, in the order in which they have to run.
    pub events: Vec<EventId>,
    /// The event that observes something else than in that run; its thread has no event after it.
    pub flipped: Option<EventId>,
    /// The thread that runs first after the events, if that matters.
    pub then: Option<ThreadId>,
    /// Number of times that the sequence goes from one thread to another although the first could
    /// have gone on.
    pub preemptions: u32,
}

/// Outcome of driving the program.
#[derive(Debug)]
pub enum Ended {
    /// The program ran along the lead, to its end.
    Run(Run),
    /// The program did something else than the lead said.
    Departed(String),
    /// The caller wants no more runs.
    Stopped(String),
}

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Events that blocked threads were about to run when the run got stuck, as far as known.
    pub pending: Vec<(ThreadId, Pending)>,
    /// Reason for which the run does not show the end of all its threads, unless it is that they
    /// are stuck in `pending` events.
    pub cut_short: Option<String>,
    /// Whether more than one thread wrote output, the order of which is no observation.
    pub shares_output: bool,
    /// Events of waits that could have ended otherwise: ends of waits for conditions with a time
    /// limit, and semaphores that were taken by a try or with a time limit.
    pub limited: Vec<EventId>,
    /// Things that the program did and whose other outcomes are not explored.
    pub unexplored: Vec<Open>,
    /// Whether the run failed: crashed, got stuck, broke an assertion.
    pub failed: bool,
}

/// An operation that a thread waits in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// Taking a lock.
    Acquire(foretell_trace::LockId),
    /// Taking the reader side of a lock.
    AcquireShared(foretell_trace::LockId),
    /// Waiting for a notification, to go on with the lock.
    Woken(foretell_trace::CondId, foretell_trace::LockId),
    /// Waiting for a notification, or a time limit, to go on with the lock.
    EndOfWait(foretell_trace::CondId, foretell_trace::LockId),
    /// Taking a token of a semaphore.
    Down(foretell_trace::SemId),
    /// Waiting for the end of a thread.
    Join(ThreadId),
}

/// Something that the exploration left open, so that it is not complete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Open {
    /// Leads that were not followed, because a budget was used up.
    Leads(usize),
    /// The program left a lead.
    Departed(String),
    /// A question was not decided.
    Undecided(String),
    /// A run ended before all its threads had.
    CutShort(String),
    /// Uses of hidden state, which keep their recorded order.
    HiddenState(String),
    /// Accesses whose values are not known.
    NoValues(String),
    /// A loop was cut at the bound.
    LoopBound(String),
    /// Several threads write output.
    OutputOrder,
    /// Waits with a time limit, or tries of semaphores, whose other outcome is not explored.
    TimedWaits(String),
    /// Other processes, threads of the system, or signals, whose times are not explored.
    Outside(String),
}

impl Open {
    /// Returns the name of the kind, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Open::Leads(_) => "budget",
            Open::Departed(_) => "departed",
            Open::Undecided(_) => "undecided",
            Open::CutShort(_) => "cut-short",
            Open::HiddenState(_) => "hidden-state",
            Open::NoValues(_) => "no-values",
            Open::LoopBound(_) => "loop-bound",
            Open::OutputOrder => "output-order",
            Open::TimedWaits(_) => "timed-waits",
            Open::Outside(_) => "outside",
        }
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Open::Leads(0) => write!(f, "not every question was asked"),
            Open::Leads(1) => write!(f, "1 prefix was not followed"),
            Open::Leads(count) => write!(f, "{count} prefixes were not followed"),
            Open::Departed(what) => write!(f, "the program left a prefix: {what}"),
            Open::Undecided(what) => write!(f, "undecided: {what}"),
            Open::CutShort(what) => write!(f, "a run ended early: {what}"),
            Open::HiddenState(what) => write!(f, "hidden state keeps its recorded order: {what}"),
            Open::NoValues(what) => write!(f, "values are not recorded: {what}"),
            Open::LoopBound(what) => write!(f, "the loop bound was reached: {what}"),
            Open::OutputOrder => {
                write!(f, "several threads write output, and their order is not explored")
            }
            Open::TimedWaits(what) => write!(f, "the other outcome is not explored: {what}"),
            Open::Outside(what) => write!(f, "other orders are not explored: {what}"),
        }
    }
}
