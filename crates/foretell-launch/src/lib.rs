//! Runs programs under the recording runtime.
//!
//! A [`Launch`] has the settings of a run: the program, the [`Mode`] (recorded, recorded in
//! parallel, or along a schedule), the scheduler's seed and quantum. [`Launch::run`] gives a
//! [`Run`]: the exit status, the output and the log of the program. Native programs get the
//! runtime's settings through the environment, Java programs get the agent ([`Java`]).
//!
//! | module | content |
//! |---|---|
//! | `launch` | starts the program, waits for its end |
//! | `mode` | modes of a run |
//! | `signals` | requests to end this process while it runs a program |
//! | `supervisor` | process between the caller and a recording |
//! | `descendants` | processes that a program has started |
//! | `java` | the Java agent and its options |
//!
//! The build script makes the agent's jar from `agents/java`.

mod descendants;
mod error;
mod java;
mod launch;
mod mode;
mod signals;
mod supervisor;

pub use error::Error;
pub use foretell_build::ScratchDirectory;
pub use java::{Java, has_agent};
pub use launch::{Launch, Run};
pub use mode::Mode;
pub use signals::SignalGuard;
pub use supervisor::supervise;
