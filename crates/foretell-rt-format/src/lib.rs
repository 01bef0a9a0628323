//! Byte layout of the files between a recorded program and `foretell`: the log and the schedule to
//! replay; and the environment variables that configure the runtime.
//!
//! The runtime (`foretell-rt`) writes the log through a shared file mapping, so that every complete
//! record is readable however the program ends; the reader is [`Log`]. A schedule is a small text
//! file, written by the front end ([`Schedule`]) and parsed by the runtime. The crate depends on
//! `foretell-varint` alone: the runtime is linked into the recorded program.
//!
//! # Ordinals
//! A record that stands for one step of a thread is *counted* ([`Record::counted`]). The *ordinal*
//! of a counted record is the number of steps of its thread before it: counted records and elided
//! accesses ([`Record::steps`]). It depends on nothing but the thread's own steps, so it names the
//! same step in a replayed run: a schedule is a list of (thread, ordinal) with the kind and the
//! code address of the step.
//!
//! # Environment of the runtime
//! | variable | meaning | default |
//! |---|---|---|
//! | [`env::LOG`] | path of the log to create; later processes are not recorded | none |
//! | [`env::MODE`] | `record`, `parallel`, `replay` | `record` |
//! | [`env::SEED`] | seed of the scheduler, decimal | 0 |
//! | [`env::QUANTUM`] | average number of hooks between two decisions; grows in long runs | 1000 |
//! | [`env::KEEP`] | when `1`, no access is elided | |
//! | [`env::UNEXPLORED`] | beginning of the paths of notes for an exploration | none |
//! | [`env::SCHEDULE`] | path of the schedule, for `replay` | |
//! | [`env::WATCHDOG_SECS`] | seconds without a step after which stuck threads are reported | 10 |
//! | [`env::STALL_SECS`] | replay: seconds without a step of the scheduled thread to give up | 10 |
//! | [`env::READER`] | path of a descriptor of the reader, `/proc/PID/fd/N`; the program ends with it | |
//! | [`env::STOP`] | replay: when `1`, raise SIGTRAP right before the last step, for a debugger | |
//!
//! Linux, x86-64, little endian.

mod access_code;
pub mod channel;
mod reader;
mod record;
mod schedule;
mod wire;

pub use access_code::AccessCode;
pub use reader::{
    Chunk, ChunkReader, Entry, Events, FormatError, Header, Item, Log, Range, Visitor, record_at,
};
pub use record::{
    AccessKind, AtomicKind, Blocked, EndHow, HiddenState, Kind, Record, StopReason, SyncKind,
    TrailKind, WaitingFor,
};
pub use schedule::{ADOPTED, Act, Schedule, ScheduleError, ScheduledStep, Step, ThreadOrigin};
pub use wire::*;

/// Names of the environment variables of the runtime.
pub mod env {
    /// Path of the log to create.
    pub const LOG: &str = "FORETELL_LOG";
    /// Directory for the logs of further processes, each named by the process id; the children of
    /// a recorded process are recorded too then.
    pub const MORE: &str = "FORETELL_MORE";
    /// `record`, `parallel` or `replay`.
    pub const MODE: &str = "FORETELL_MODE";
    /// Seed of the scheduler.
    pub const SEED: &str = "FORETELL_SEED";
    /// Average number of hooks between two scheduling decisions.
    pub const QUANTUM: &str = "FORETELL_QUANTUM";
    /// `1`: every access has a record, however long the run is.
    pub const KEEP: &str = "FORETELL_KEEP";
    /// Beginning of the paths of files that the runtime creates when the program does something
    /// that no exploration follows.
    pub const UNEXPLORED: &str = "FORETELL_UNEXPLORED";
    /// Number of steps that the other threads may run before the program ends; 0: none.
    pub const EXIT_STEPS: &str = "FORETELL_EXIT_STEPS";
    /// Path of the schedule to replay.
    pub const SCHEDULE: &str = "FORETELL_SCHEDULE";
    /// Seconds without progress after which the watchdog reports stuck threads; 0: never.
    pub const WATCHDOG_SECS: &str = "FORETELL_WATCHDOG_SECS";
    /// Replay: seconds without progress of a scheduled thread that count as a departure.
    pub const STALL_SECS: &str = "FORETELL_STALL_SECS";
    /// Path of a descriptor of the process that reads the log, `/proc/PID/fd/N`. The program ends
    /// when that process has.
    pub const READER: &str = "FORETELL_READER";
    /// Replay: the schedule is for the child of `fork` with this path, see
    /// [`crate::Record::ChildOfFork`].
    pub const FORKED: &str = "FORETELL_FORKED";
    /// Replay: `1` raises SIGTRAP right before the last step of the schedule.
    pub const STOP: &str = "FORETELL_STOP";
}

/// Default of [`env::EXIT_STEPS`].
pub const EXIT_STEPS: u64 = 20_000;

/// Exit status of a replayed program that departed from its schedule.
pub const DEPARTURE_STATUS: i32 = 125;
