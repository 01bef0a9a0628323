//! What passes between a recorded program and `foretell`: the raw log, the schedule to replay,
//! and the environment variables that configure the runtime.
//!
//! The runtime (`foretell-rt`) writes the log through a shared file mapping, so that whatever
//! ends the program leaves every complete record readable; the reader is [`Log`]. A schedule is
//! a small text file, written by the front end ([`Schedule`]) and parsed by the runtime.
//! It depends on `foretell-varint` alone: the runtime is linked into other people's programs.
//!
//! # Ordinals
//! A record that stands for one step of a thread is *counted* ([`Record::counted`]). The
//! *ordinal* of a counted record is the number of steps of the same thread before it: of counted records, and of accesses
//! that have none ([`Record::steps`]).
//! It depends on what the thread itself did and on nothing else, so it names the same step in
//! a replayed run: a schedule is a list of (thread, ordinal) with the kind and the code location
//! to be found there.
//!
//! # Environment of the runtime
//! | variable | meaning | default |
//! |---|---|---|
//! | [`env::LOG`] | path of the log; must not exist yet (a second process finds it taken and is not recorded) | none: no recording |
//! | [`env::MODE`] | `record`, `parallel`, `replay` | `record` |
//! | [`env::SEED`] | seed of the scheduler, decimal | 0 |
//! | [`env::QUANTUM`] | average number of hooks between two decisions; it grows slowly in long runs | 1000 |
//! | [`env::KEEP`] | when `1`, no access is elided | |
//! | [`env::SCHEDULE`] | path of the schedule, for `replay` | |
//! | [`env::WATCHDOG_SECS`] | say who is stuck when nothing moved for so long; 0: never | 10 |
//! | [`env::STALL_SECS`] | replay: give up when a scheduled thread made no step for so long | 10 |
//! | [`env::STOP`] | replay: when `1`, raise SIGTRAP right before the last step runs (for a debugger) | |
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
    AccessKind, AtomicKind, Blocked, EndHow, Kind, Record, StopReason, SyncKind, TrailKind,
    WaitingFor,
};
pub use schedule::{Schedule, ScheduleError, Step, ThreadOrigin};
pub use wire::*;

/// Names of the environment variables of the runtime.
pub mod env {
    /// Path of the log to create.
    pub const LOG: &str = "FORETELL_LOG";
    /// `record`, `parallel` or `replay`.
    pub const MODE: &str = "FORETELL_MODE";
    /// Seed of the scheduler.
    pub const SEED: &str = "FORETELL_SEED";
    /// Average number of hooks between two scheduling decisions.
    pub const QUANTUM: &str = "FORETELL_QUANTUM";
    /// `1`: every access has a record, however long the run is.
    pub const KEEP: &str = "FORETELL_KEEP";
    /// Path of the schedule to replay.
    pub const SCHEDULE: &str = "FORETELL_SCHEDULE";
    /// Seconds without progress after which the watchdog speaks; 0 for never.
    pub const WATCHDOG_SECS: &str = "FORETELL_WATCHDOG_SECS";
    /// Replay: seconds without progress of a scheduled thread that count as a departure.
    pub const STALL_SECS: &str = "FORETELL_STALL_SECS";
    /// Replay: `1` raises SIGTRAP right before the last step of the schedule.
    pub const STOP: &str = "FORETELL_STOP";
}

/// Exit status of a replayed program that departed from its schedule.
pub const DEPARTURE_STATUS: i32 = 125;
