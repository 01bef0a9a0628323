//! Real programs: building them instrumented, recording a run, driving them along a schedule.
//!
//! The runtime that is linked into the program (`foretell-rt`) writes a raw log; [`translate`]
//! makes the trace of it.

mod blocks;
mod error;
mod granules;
mod names;
mod regions;
mod stacks;
mod steps;
mod symbols;
mod translate;

pub use blocks::{Blocks, Glob};
pub use error::Error;
pub use steps::Steps;
pub use translate::{Translated, translate};
