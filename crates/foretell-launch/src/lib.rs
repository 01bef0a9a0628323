//! Runs programs under the recording runtime.
//!
//! A [`Launch`] says which program to run and how: recorded, recorded in parallel, or along a
//! schedule. Native programs get the runtime's settings through the environment, Java programs
//! get the agent ([`Java`]).

mod error;
mod java;
mod launch;

pub use error::Error;
pub use java::Java;
pub use launch::{Launch, Mode, Run};
