//! Translates the log of a recorded run into a trace.
//!
//! [`translate`] and [`translate_from`] make a trace of a native program's log,
//! [`translate_symbolic`] one with expressions, and [`java`] has the log and the translation of
//! Java programs. With the trace come [`Steps`]: for each event the step of the program behind
//! it, from which a schedule for a replay is made.
//!
//! | module | content |
//! |---|---|
//! | `native` | log of a native program to events: memory, synchronisation, channels, locations |
//! | `symbolic` | path of a native program to expressions and guards |
//! | [`java`] | log of a Java program to events |
//! | `trace_writer` | events and steps of a trace under construction, for all of them |
//! | `blocks` | lock scopes, markers and functions that are atomic blocks |
//! | `failed_rmw` | locks around read-modify-writes that failed |
//! | `symbols` | code addresses to functions and source locations, memory to variables |
//! | `debug_info` | variables, types and frames in DWARF |
//! | `allocated_type` | the type of an allocation, from its source line |
//! | `thread_wait` | operations that threads wait in at the end of a run |

mod action;
mod allocated_type;
mod blocks;
mod debug_info;
mod error;
mod failed_rmw;
mod file_cache;
mod function_names;
pub mod java;
mod kept_order;
mod legal;
mod names;
mod native;
mod rust_types;
mod steps;
mod symbolic;
mod symbols;
mod thread_wait;
mod trace_output;
mod trace_writer;
mod translated;

pub use blocks::{Blocks, Glob};
pub use error::Error;
pub use native::{signal_name, translate, translate_from, translate_symbolic};
pub use steps::{EventSteps, FORKED, Goal, ID, Plan, Steps};
pub use symbolic::Symbolic;
pub use symbols::{Code, Symbols};
pub use thread_wait::ThreadWait;
pub use trace_output::TraceOutput;
pub use translated::Translated;
