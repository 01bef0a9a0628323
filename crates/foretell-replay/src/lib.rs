//! Drives a program along the witness of a finding and judges the outcome.
//!
//! A [`Replay`] turns a schedule of events into a schedule of steps, runs the program along it and
//! gives a [`Verdict`]: the outcome, compared with the recorded run ([`Reference`]). A run that
//! reaches the finding's [`Target`] confirms the finding.
//!
//! | module | content |
//! |---|---|
//! | `replay` | orders of events to schedules, runs along them |
//! | `confirmation` | whether a run reached the finding |
//! | `verdict` | outcome of a run compared with the recorded one |
//! | `run_end` | reached steps, departure, deadlock, crash, use after free, from a native log |
//! | `use_after_free` | freed blocks, and accesses to them |

mod confirmation;
mod error;
mod replay;
mod run_end;
mod use_after_free;
mod verdict;

pub use error::Error;
pub use foretell_translate::Goal;
pub use replay::{Replay, Target, orders};
pub use verdict::{Reference, Verdict};
