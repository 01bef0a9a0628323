//! The library behind the command line.

mod error;
mod record;

pub use error::Error;
pub use record::{Recorded, record};

pub use foretell_build::{Language, compile, shell_status};
pub use foretell_launch::{Java, Launch, Mode, Run};
pub use foretell_replay::{Reference, Replay, Verdict, judge, orders};
pub use foretell_translate::{
    Blocks, Error as LogError, EventSteps, Glob, Kept, Steps, Symbolic, Translated,
};
