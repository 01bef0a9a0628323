//! Real programs: building them instrumented, recording a run, driving them along a schedule.
//!
//! The runtime that is linked into the program (`foretell-rt`) writes a raw log and follows
//! schedules. Here is everything around it: the compiler driver that links it in ([`compile`]), running
//! the program ([`Launch`]), making a trace of the log ([`record`], [`translate`]), and replaying a
//! witness with a look at what came of it ([`Replay`], [`Verdict`]).

mod attempts;
mod blocks;
mod calls;
mod driver;
mod error;
mod freed;
mod granules;
mod hold;
mod java;
mod kept;
mod launch;
mod legal;
mod lineage;
mod names;
mod owners;
mod record;
mod regions;
mod replay;
mod ring;
mod runtime;
mod seen;
mod sift;
mod stacks;
mod steps;
mod survey;
mod symbolic;
mod symbols;
mod translate;
mod verdict;

pub use blocks::{Blocks, Glob};
pub use driver::{Language, compile, shell_status};
pub use error::Error;
pub use java::agent::Java;
pub use kept::Kept;
pub use launch::{Launch, Mode, Run};
pub use record::{Recorded, record};
pub use replay::{Replay, orders};
pub use steps::{EventSteps, Steps};
pub use symbolic::Symbolic;
pub use translate::{Translated, translate};
pub use verdict::{Reference, Verdict, judge};
