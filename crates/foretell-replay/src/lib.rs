//! Drives a program along the witness of a finding and judges the outcome.
//!
//! A [`Replay`] turns a schedule of events into a schedule of steps, runs the program along it and
//! gives a [`Verdict`]: what happened, compared with the recorded run ([`Reference`]).

mod error;
mod freed;
mod replay;
mod verdict;

pub use error::Error;
pub use replay::{Replay, orders};
pub use verdict::{Reference, Verdict, judge};
