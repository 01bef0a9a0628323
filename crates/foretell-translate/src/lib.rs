//! Translates the log of a recorded run into a trace.
//!
//! [`translate`] and [`translate_from`] make a trace of a native program's log,
//! [`translate_symbolic`] one with expressions, and [`java`] has the log and the translation of
//! Java programs. With the trace come [`Steps`]: for each event the step of the program behind
//! it, from which a schedule for a replay is made.

mod attempts;
mod blocks;
mod cells;
mod error;
pub mod java;
mod kept;
mod legal;
mod names;
mod regions;
mod stacks;
mod steps;
mod survey;
mod symbolic;
mod symbols;
mod translate;

pub use blocks::{Blocks, Glob};
pub use error::Error;
pub use kept::Kept;
pub use steps::{EventSteps, Steps};
pub use symbolic::Symbolic;
pub use symbols::{Code, Symbols};
pub use translate::{Translated, translate, translate_from, translate_symbolic};
